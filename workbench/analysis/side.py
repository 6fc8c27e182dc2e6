"""The kernels of one build of a model: the nodes of the model that each computes, and its operations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.analysis import cost
from workbench.analysis.units import Unit, units
from workbench.graph.model import Graph


@dataclass(frozen=True)
class Side:
    """The kernels of one build."""

    graph: Graph = field(repr=False)

    @cached_property
    def kernels(self) -> Sequence[Unit]:
        """The kernels, in the order in which they are called."""
        return units(self.graph)

    @cached_property
    def sources(self) -> Sequence[frozenset[str]]:
        """For each kernel the nodes of the model that it has operators of."""
        return [self._names(unit.nodes) for unit in self.kernels]

    @cached_property
    def computed(self) -> Sequence[frozenset[str]]:
        """For each kernel the nodes of the model that it has operators of that do not only move data."""
        return [self._names(filter(self._computes, unit.nodes)) for unit in self.kernels]

    @cached_property
    def movers(self) -> Sequence[bool]:
        """For each kernel whether it only moves data."""
        return [not any(map(self._computes, unit.nodes)) for unit in self.kernels]

    @cached_property
    def flops(self) -> Sequence[int | None]:
        """For each kernel its floating-point operations; None if unknown."""
        return [cost.flops(self.graph, unit.nodes) for unit in self.kernels]

    def form(self, place: int) -> Hashable:
        """Return a key that is equal for kernels that compute the same nodes by the same operators."""
        unit, nodes = self.kernels[place], self.graph.nodes
        ops = sorted(cost.canonical(nodes[id].op) for id in unit.nodes if nodes[id].kind in ("op", "call"))
        shapes = tuple(cost.shapes(nodes[unit.output].type))
        return self.sources[place], tuple(ops), shapes

    def _names(self, nodes: Iterable[int]) -> frozenset[str]:
        return frozenset(name for id in nodes for name in self.graph.nodes[id].source)

    def _computes(self, id: int) -> bool:
        node = self.graph.nodes[id]
        return node.kind == "call" or (node.kind == "op" and cost.of_node(self.graph, node) != 0)
