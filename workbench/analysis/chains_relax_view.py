"""Chains of constants in a Relax graph: found by the search for Relay's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from workbench.analysis import chains_relax
from workbench.analysis import chains_rules as rules
from workbench.analysis.branches.finder import Reason
from workbench.analysis.chains_view import ConstantChain, View
from workbench.graph.diff import diff
from workbench.graph.model import Graph, Node

_PERMUTATION = re.compile(r"lambda ([^:()]*): \(([^()]*)\)")


class RelaxView(View):
    """A Relax graph, searched by Relay's names."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(chains_relax.as_relay(graph))
        self.given = graph
        self._mappings: dict[str, dict[int, tuple[int, ...]] | None] = {}
        "for each pass that was run, the nodes after it of each node that is still there; None where it raises"

    def chain(self, run: list[Node]) -> ConstantChain | None:
        family, start = self.family(run[-1]), self.data(run[0])
        own = [self.given.nodes[node.id] for node in run]
        if family not in chains_relax.PASSES or start is None:
            return self._stays(run, family) if len(run) > 1 and not self._is_clip_and_cast(run) else None
        left = self._left(run, chains_relax.PASSES[family])
        if left is None:
            said = f"it was not tried whether {chains_relax.PASSES[family]} shortens them: needs TVM"
            return self._made(run, len(run), "", [Reason("not-tried", said, tuple(node.id for node in run))])
        if left == len(run):
            return self._stays(run, family) if len(run) > 1 else None
        reasons = []
        if left > 1:
            reasons.append(chains_relax.unfolded(own, family))
        if family == "layout" and not _lead_back(own):
            reasons.append(chains_relax.layouts_differ(own))
        return self._made(run, left, chains_relax.PASSES[family], reasons)

    def _left(self, run: Sequence[Node], passes: str) -> int | None:
        """Return the operators of a run that the pass leaves; None where there is no module to run it on."""
        if len(run) == 1 and run[0].type != self.graph.nodes[self.graph.inputs[run[0].id][0]].type:
            return 1
        if self.given.ask_after is None:
            return None
        if passes not in self._mappings:
            after = self.given.ask_after(passes, ())
            self._mappings[passes] = None if after is None else diff(self.given, after).mapping
        mapping = self._mappings[passes]
        return len(run) if mapping is None else len({mapping[node.id] for node in run if node.id in mapping})

    def _stays(self, run: Sequence[Node], family: str) -> ConstantChain:
        own = [self.given.nodes[node.id] for node in run]
        if family == "arithmetic" and rules.canonical(run):
            said = "one multiply and one add is as short as such a chain gets"
            return self._made(run, len(run), "", [Reason("canonical", said, tuple(node.id for node in run))])
        return self._made(run, len(run), "", [chains_relax.unfolded(own, family)])

    def _is_clip_and_cast(self, run: Sequence[Node]) -> bool:
        return [node.op for node in run] == ["clip", "cast"]

    def _made(self, run: Sequence[Node], left: int, passes: str, reasons: Sequence[Reason]) -> ConstantChain:
        return replace(super()._made(run, left, passes, reasons), graph=self.given)

    def padded(self, node: Node) -> ConstantChain | None:
        """A pad before a convolution, which its own padding could do."""
        if node.op != "nn.conv2d":
            return None
        earlier = self.graph.nodes[self.graph.inputs[node.id][0]]
        if earlier.op != "nn.pad" or len(self.graph.consumers[earlier.id]) != 1:
            return None
        said = "no pass of this TVM puts a pad into the convolution's own padding; give conv2d the padding"
        return self._made([earlier, node], 2, "", [Reason("no-pass", said, (earlier.id, node.id))])

    def scaled(self, node: Node) -> ConstantChain | None:
        """A multiply by a constant right behind a convolution or a product, which the weights could take."""
        found = super().scaled(node)
        if found is None:
            return None
        said = "no pass of this TVM moves a factor into weights; FoldBatchnormToConv2D does so for a batch_norm only"
        return replace(found, left=2, passes="", reasons=(Reason("no-pass", said, found.nodes),))


def _lead_back(run: Sequence[Node]) -> bool:
    """Whether two layouts undo each other, as far as they are permutations that the text tells."""
    found = [_PERMUTATION.search(str(node.attrs.get("index_map", ""))) for node in run]
    if len(run) != 2 or any(each is None for each in found):
        return False
    orders = []
    for each in found:
        before, after = ([name.strip() for name in part.split(",")] for part in each.groups())  # type: ignore[union-attr]  none is None
        if sorted(before) != sorted(after):
            return False
        orders.append([before.index(name) for name in after])
    return [orders[0][place] for place in orders[1]] == list(range(len(orders[0])))
