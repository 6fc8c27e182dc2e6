"""Chains of constants in a Relax graph, which only two passes shorten: most of the passes that fold them were Relay's.

Every pass that TVM 0.27 lists was run on every kind of chain. RemoveRedundantReshape shortens reshapes, and
OptimizeLayoutTransform drops layouts that lead back to the shape before: TVM runs these two on the module, and the difference shows
the operators that are left. Nothing shortens arithmetic, casts, transposes or clips, and nothing moves a factor or a pad into a
convolution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.analysis.branches.finder import Reason
from workbench.graph.model import Graph, Node

RELAY_NAMES: Mapping[str, str] = {
    **{
        f"relax.{op}": op
        for op in ("add", "multiply", "subtract", "divide", "clip", "reshape", "squeeze", "expand_dims")
    },
    **{f"relax.{op}": op for op in ("layout_transform", "nn.relu", "nn.pad", "nn.conv2d")},
    "relax.astype": "cast",
    "relax.flatten": "nn.batch_flatten",
    "relax.permute_dims": "transpose",
    "relax.matmul": "nn.dense",
}
"operators of the same meaning, so that runs are found by one search"
PASSES = {"reshape": "RemoveRedundantReshape", "layout": "OptimizeLayoutTransform"}


def as_relay(graph: Graph) -> Graph:
    """Return the graph with Relay's names for what chains are made of; a shape among the arguments counts as a constant."""
    nodes = (
        replace(
            node,
            op=RELAY_NAMES.get(node.op, node.op) if node.kind == "op" else node.op,
            kind="constant" if node.kind == "shape" else node.kind,
            attrs=_plain(node.attrs),
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def _plain(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return attributes without the layout of a result that is the data's own, which Relax writes out."""
    same = attrs.get("out_layout") == attrs.get("data_layout", "NCHW")
    return {name: value for name, value in attrs.items() if name != "out_layout"} if same else attrs


def unfolded(run: Sequence[Node], family: str) -> Reason:
    """Return why a run stays as it is, or is not folded any further."""
    ids = tuple(node.id for node in run)
    names = " and ".join(dict.fromkeys(node.op for node in run))
    if family == "reshape":
        said = f"no pass of this TVM merges {names}; RemoveRedundantReshape looks at relax.reshape only"
    elif family == "layout":
        said = f"{names} leads to another shape than before, and OptimizeLayoutTransform drops only what leads back"
    elif family == "arithmetic":
        said = f"no pass of this TVM merges {names} with constants, FoldConstant neither, as the value before is none; FuseOps makes one kernel of them"
    else:
        said = f"no pass of this TVM makes one of {names} in a row"
    return Reason("no-pass", said, ids)


def layouts_differ(run: Sequence[Node]) -> Reason:
    """Return the hazard of two layouts that are not each other's inverse."""
    return Reason(
        "unsafe-layout-fold",
        "OptimizeLayoutTransform compares shapes only; where two layouts lead back to the shape but not to the order of the "
        "elements, its result differs",
        tuple(node.id for node in run),
    )
