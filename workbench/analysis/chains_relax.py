"""What Relax's passes do to chains of constants, which is little: most of the passes that fold them were Relay's.

Every pass that TVM 0.27 lists was run on every kind of chain. RemoveRedundantReshape shortens reshapes, and
OptimizeLayoutTransform drops layouts that lead back to the shape before; nothing shortens arithmetic, casts, transposes or
clips, and nothing moves a factor or a pad into a convolution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.analysis.branches.finder import Reason
from workbench.graph.identity import frozen
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
    """The graph with Relay's names for what chains are made of; a shape among the arguments counts as a constant."""
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
    """Attributes without the layout of a result that is the data's own, which Relax writes out."""
    same = attrs.get("out_layout") == attrs.get("data_layout", "NCHW")
    return {name: value for name, value in attrs.items() if name != "out_layout"} if same else attrs


@dataclass(frozen=True)
class Reshaped:
    """One operator of a run."""

    op: str
    shape: str
    "the type of its result"
    kind: object = None
    "its attributes, for a layout"
    used: bool = False
    "whether something beside the next operator uses its value"


def left(start: str, steps: Sequence[Reshaped]) -> int:
    """Operators left of reshapes or layouts.

    The two passes look at an operator and the one before it; when one changed, they tidy up and begin again.

    Parameters
    ----------
    start
        The type before the run.

    >>> left("a", [Reshaped("reshape", "b"), Reshaped("reshape", "c")])
    1
    >>> left("a", [Reshaped("layout_transform", "b"), Reshaped("layout_transform", "a")])
    0
    """
    shapes = [start, *(step.shape for step in steps)]
    sources = list(range(-1, len(steps)))
    stands_for = list(range(len(shapes)))
    while _round(shapes, sources, stands_for, steps):
        pass
    wanted = {stands_for[place + 1] for place, step in enumerate(steps) if step.used or place == len(steps) - 1}
    for place in range(len(steps), 0, -1):
        if place in wanted:
            wanted.add(sources[place])
    return len(wanted - {0})


def _round(shapes: Sequence[str], sources: list[int], stands_for: list[int], steps: Sequence[Reshaped]) -> bool:
    """One pass over the run; whether it changed anything."""
    changed: set[int] = set()
    for place in range(1, len(shapes)):
        step, source = steps[place - 1], sources[place]
        if stands_for[place] != place or step.op not in ("reshape", "layout_transform"):
            continue
        # what was changed in this round is not looked through
        known = source > 0 and source not in changed and steps[source - 1].op == step.op
        if step.op == "reshape" and known:
            sources[place] = sources[source]
            changed.add(place)
        elif step.op == "reshape" and shapes[place] == shapes[source]:
            stands_for[place] = source
            changed.add(place)
        elif step.op == "layout_transform" and known and shapes[place] == shapes[sources[source]]:
            stands_for[place] = sources[source]
            changed.add(place)
    first: dict[object, int] = {}
    for place in range(1, len(shapes)):
        stands_for[place] = stands_for[stands_for[place]]
        sources[place] = stands_for[sources[place]]
        if changed and stands_for[place] == place:
            step = steps[place - 1]
            stands_for[place] = first.setdefault((step.op, step.shape, step.kind, sources[place]), place)
    return bool(changed)


def reshaped(graph: Graph, run: Sequence[Node]) -> list[Reshaped]:
    """A run as `left` takes it."""
    found = []
    for node, after in zip(run, [*run[1:], None], strict=True):
        others = [user for user, _ in graph.consumers[node.id] if after is None or user != after.id]
        used = bool(others) or node.id in graph.outputs
        found.append(Reshaped(node.op, node.type, frozen(node.attrs) if node.op == "layout_transform" else None, used))
    return found


def unfolded(run: Sequence[Node], family: str) -> Reason:
    """Why a run stays as it is, or is not folded any further."""
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
    """What OptimizeLayoutTransform does not look at."""
    return Reason(
        "unsafe-layout-fold",
        "OptimizeLayoutTransform compares shapes only; where two layouts lead back to the shape but not to the order of the "
        "elements, its result differs",
        tuple(node.id for node in run),
    )
