"""Reasons found by rules, and the result of a pass on the module of a graph as TVM gives it, which may differ from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.graph.diff import diff
from workbench.graph.identity import ValueNumbers, labels
from workbench.graph.model import Graph

MERGED, LEFT, FAILED, UNTRIED = "merged", "not merged", "failed", "not tried"
NEEDS_MODULE = "not tried: needs TVM and the module; give the workload, not its graph"
STATUSES = (MERGED, LEFT, FAILED, UNTRIED)


@dataclass(frozen=True)
class Reason:
    """A reason why nodes merge, stop merging, or are hazardous to merge."""

    code: str
    "short and stable: `below-min`, `attr:strides`, ..."
    sentence: str
    nodes: tuple[int, ...] = ()
    "the nodes that the sentence is about"


@dataclass(frozen=True)
class Outcome:
    """The result of a pass for some nodes of a graph."""

    status: str
    "one of STATUSES; `not merged` also where the pass merges some of the nodes only"
    sentence: str
    contradicts: bool = False
    "whether the rules predict something else; the outcome is right then"

    def __str__(self) -> str:
        return self.sentence


def failed(graph: Graph, passes: str) -> Outcome | None:
    """Return the outcome of passes that fail on the graph's module, or that cannot run; None where they succeed."""
    if graph.ask_after is None:
        return Outcome(UNTRIED, NEEDS_MODULE)
    after = graph.ask_after(passes)
    if not after.tried:
        return Outcome(UNTRIED, f"not tried: {after.failure}")
    return Outcome(FAILED, f"TVM's pass fails: {after.failure}") if after.failure else None


def remains(graph: Graph, passes: str) -> Remains:
    """Return the parts of a graph that passes leave; `failed` is asked first."""
    assert graph.ask_after is not None, "a graph without a module has no outcome"
    after = graph.ask_after(passes)
    assert after.graph is not None, "passes that fail leave no graph"
    # one diff for all groups and chains of a pass
    key = Remains, id(after.before)
    return after.graph.memory.setdefault(key, Remains(after.before, after.graph))


@dataclass(frozen=True)
class Remains:
    """The nodes of a graph that are left after passes."""

    before: Graph
    graph: Graph
    "the graph after the passes"

    @cached_property
    def mapping(self) -> Mapping[int, tuple[int, ...]]:
        """Id before -> ids after, for every node that is left."""
        return diff(self.before, self.graph).mapping

    @cached_property
    def _values(self) -> tuple[list[int], Counter[int], Counter[int]]:
        """The value of each node before, as a number, and the nodes of each value before and after."""
        graphs, numbers = (self.before, self.graph), ValueNumbers()
        before, after = (numbers.of(graph, each) for graph, each in zip(graphs, labels(*graphs), strict=True))
        return before, Counter(before), Counter(after)

    def merges(self, nodes: Sequence[int]) -> bool:
        """Return whether the passes remove all of these equal nodes but one."""
        values, before, after = self._values
        value = values[nodes[0]]
        return all(values[node] == value for node in nodes) and before[value] - after[value] >= len(nodes) - 1

    def leaves_one(self, node: int) -> bool:
        """Return whether one node is left of those that compute the value of a node."""
        values, _, after = self._values
        return after[values[node]] == 1

    def replaces(self, nodes: Sequence[int]) -> bool:
        """Return whether none of these nodes is left; a node whose inputs change is still the same node."""
        values, before, after = self._values
        removed = all(
            before[value] - after[value] >= many for value, many in Counter(values[node] for node in nodes).items()
        )
        return removed and not any(self._keeps(node) for node in nodes if not after[values[node]])

    def leaves_fewer(self, nodes: Sequence[int]) -> bool:
        """Return whether the passes leave fewer operators of the kinds of these nodes, by at least their number."""
        before, after = (Counter((node.op, node.type) for node in graph.nodes) for graph in (self.before, self.graph))
        kinds = Counter((self.before.nodes[node].op, self.before.nodes[node].type) for node in nodes)
        return all(before[kind] - after[kind] >= many for kind, many in kinds.items())

    def left_of(self, nodes: Sequence[int]) -> int:
        """Return the number of operators that the passes leave of these nodes."""
        images = {image for node in nodes for image in self.mapping.get(node, ())}
        return sum(self.graph.nodes[image].kind == "op" for image in images)

    def _keeps(self, node: int) -> bool:
        given, images = self.before.nodes[node], (self.graph.nodes[image] for image in self.mapping.get(node, ()))
        return any(
            (each.op, each.type) == (given.op, given.type) and self._same_inputs(node, each.id) for each in images
        )

    def _same_inputs(self, node: int, image: int) -> bool:
        """Return whether each input of a node that is left is also an input of its image."""
        pairs = zip(self.before.inputs[node], self.graph.inputs[image], strict=False)
        return all(source not in self.mapping or other in self.mapping[source] for source, other in pairs)
