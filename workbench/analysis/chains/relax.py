"""Chains of constants in a Relax graph, which only two passes shorten.

Every pass that TVM 0.27 lists was run on every kind of chain. RemoveRedundantReshape shortens reshapes, and
OptimizeLayoutTransform drops layouts that restore the shape before: TVM runs these two on the module, and the difference
shows the operators that are left. Nothing shortens arithmetic, casts, transposes or clips, and nothing moves a factor or a
pad into a convolution.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.analysis.chains import rules
from workbench.analysis.chains.relay import ConstantChain, RelayChains
from workbench.analysis.outcome import FAILED, Reason, failed, remains
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
"Relax operator -> Relay's equivalent, so that one search finds runs in both dialects"


PASSES = {"reshape": "RemoveRedundantReshape", "layout": "OptimizeLayoutTransform"}


_PERMUTATION = re.compile(r"([^:()]*): \(([^()]*)\)")


class RelaxChains(RelayChains):
    """The chains of a Relax graph, searched by Relay's names."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(as_relay(graph))
        self.given = graph

    def chain(self, run: list[Node]) -> ConstantChain | None:
        family, ids = self.family(run[-1]), tuple(node.id for node in run)
        passes = PASSES.get(family, "")
        left = self._operators_left(run, passes) if passes else len(run)
        if left is None:
            said = f"it was not tried whether {passes} shortens them: needs TVM and the module"
            return self._chain_of(run, len(run), "", [Reason("not-tried", said, ids)], passes)
        if left == len(run):
            # one clip and one cast cannot be folded further
            is_shortest = len(run) == 1 or [node.op for node in run] == ["clip", "cast"]
            return None if is_shortest else self._chain_of(run, left, "", [self._unfolded(run, family)], passes)
        reasons = [self._unfolded(run, family)] if left > 1 else []
        if family == "layout" and not _lead_back([self.given.nodes[node] for node in ids]):
            said = (
                "OptimizeLayoutTransform compares shapes only; where two layouts lead back to the shape but not to the order of "
                "the elements, its result differs"
            )
            reasons.append(Reason("unsafe-layout-fold", said, ids))
        return self._chain_of(run, left, passes, reasons)

    def _operators_left(self, run: Sequence[Node], passes: str) -> int | None:
        """Return the operators of a run that the pass leaves; None where there is no module to run it on."""
        if len(run) == 1 and run[0].type != self.graph.nodes[self.graph.inputs[run[0].id][0]].type:
            return 1
        found = failed(self.given, passes)
        if found is not None:
            return len(run) if found.status == FAILED else None
        return remains(self.given, passes).left_of([node.id for node in run])

    def _unfolded(self, run: Sequence[Node], family: str) -> Reason:
        """Return why a run is not folded, or not folded further."""
        ids = tuple(node.id for node in run)
        if family == "arithmetic" and rules.canonical(run):
            return Reason("canonical", "one multiply and one add is as short as such a chain gets", ids)
        names = " and ".join(dict.fromkeys(self.given.nodes[node].op for node in ids))
        said = {
            "reshape": f"no pass of this TVM merges {names}; RemoveRedundantReshape looks at relax.reshape only",
            "layout": f"{names} leads to another shape than before, and OptimizeLayoutTransform drops only what leads back",
            "arithmetic": f"no pass of this TVM merges {names} with constants, FoldConstant neither, as the value before is none; FuseOps makes one kernel of them",
        }.get(family, f"no pass of this TVM makes one of {names} in a row")
        return Reason("no-pass", said, ids)

    def _chain_of(
        self, run: Sequence[Node], left: int, passes: str, reasons: Sequence[Reason], tried: str = ""
    ) -> ConstantChain:
        return replace(super()._chain_of(run, left, passes, reasons, tried), graph=self.given)

    def padded(self, node: Node) -> ConstantChain | None:
        """Return the chain of a pad that the padding of the next convolution could replace."""
        if node.op != "nn.conv2d":
            return None
        earlier = self.graph.nodes[self.graph.inputs[node.id][0]]
        if earlier.op != "nn.pad" or len(self.graph.consumers[earlier.id]) != 1:
            return None
        said = "no pass of this TVM puts a pad into the convolution's own padding; give conv2d the padding"
        return self._chain_of([earlier, node], 2, "", [Reason("no-pass", said, (earlier.id, node.id))])

    def scaled(self, node: Node) -> ConstantChain | None:
        """Return the chain of a multiply by a constant that the weights of the product before it could absorb."""
        found = super().scaled(node)
        if found is None:
            return None
        said = "no pass of this TVM moves a factor into weights; FoldBatchnormToConv2D does so for a batch_norm only"
        return replace(found, left=2, passes="", reasons=(Reason("no-pass", said, found.nodes),), tried="")


def _lead_back(run: Sequence[Node]) -> bool:
    """Return whether two layouts undo each other, as far as the text shows permutations."""
    maps = [str(node.attrs.get("index_map", "")).partition("lambda ")[2] for node in run]
    found = [_PERMUTATION.match(text) for text in maps]
    if len(run) != 2 or any(each is None for each in found):
        return False
    orders = []
    for each in found:
        before, after = ([name.strip() for name in part.split(",")] for part in each.groups())  # type: ignore[union-attr]  none is None
        if sorted(before) != sorted(after):
            return False
        orders.append([before.index(name) for name in after])
    return [orders[0][place] for place in orders[1]] == list(range(len(orders[0])))


def as_relay(graph: Graph) -> Graph:
    """Return the graph with Relay's names for operators of chains; a shape argument counts as a constant."""
    nodes = list(graph.nodes)
    for node in graph.nodes:
        op = RELAY_NAMES.get(node.op, node.op) if node.kind == "op" else node.op
        kind, attrs = "constant" if node.kind == "shape" else node.kind, _plain(node.attrs)
        if op != node.op or kind != node.kind or attrs is not node.attrs:
            nodes[node.id] = replace(node, op=op, kind=kind, attrs=attrs)
    return replace(graph, nodes=tuple(nodes))


def _plain(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return attributes without a result layout that equals the data's, which Relax writes out."""
    same = attrs.get("out_layout") == attrs.get("data_layout", "NCHW")
    return {name: value for name, value in attrs.items() if name != "out_layout"} if same else attrs
