"""A graph after passes that run on its module, compared with the graph before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.graph.diff import diff
from workbench.graph.identity import ValueNumbers, labels
from workbench.graph.model import Graph


@dataclass(frozen=True)
class After:
    """The result of running passes on a graph's module."""

    before: Graph
    graph: Graph | None = None
    "the graph after the passes; None where one of them fails"
    failure: str = ""
    "one sentence: the error of the pass, how its process ended, or why it was not run"
    tried: bool = True
    "False where TVM did not run the passes, or not to an end: another try may succeed"

    @cached_property
    def mapping(self) -> Mapping[int, tuple[int, ...]]:
        """Id before -> ids after, for every node that is left; empty where a pass fails."""
        return {} if self.graph is None else diff(self.before, self.graph).mapping

    @cached_property
    def _values(self) -> tuple[list[int], Counter[int], Counter[int]]:
        """The value of each node before, as a number, and the nodes of each value before and after."""
        assert self.graph is not None, "passes that fail leave no graph"
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
        assert self.graph is not None, "passes that fail leave no graph"
        before, after = (Counter((node.op, node.type) for node in graph.nodes) for graph in (self.before, self.graph))
        kinds = Counter((self.before.nodes[node].op, self.before.nodes[node].type) for node in nodes)
        return all(before[kind] - after[kind] >= many for kind, many in kinds.items())

    def left_of(self, nodes: Sequence[int]) -> int:
        """Return the number of operators that the passes leave of these nodes."""
        assert self.graph is not None, "passes that fail leave no graph"
        images = {image for node in nodes for image in self.mapping.get(node, ())}
        return sum(self.graph.nodes[image].kind == "op" for image in images)

    def _keeps(self, node: int) -> bool:
        assert self.graph is not None, "passes that fail leave no graph"
        given, images = self.before.nodes[node], (self.graph.nodes[image] for image in self.mapping.get(node, ()))
        return any(
            (each.op, each.type) == (given.op, given.type) and self._same_inputs(node, each.id) for each in images
        )

    def _same_inputs(self, node: int, image: int) -> bool:
        """Return whether each input of a node that is left is also an input of its image."""
        assert self.graph is not None, "passes that fail leave no graph"
        pairs = zip(self.before.inputs[node], self.graph.inputs[image], strict=False)
        return all(source not in self.mapping or other in self.mapping[source] for source, other in pairs)
