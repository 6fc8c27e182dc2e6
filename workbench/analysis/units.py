"""The kernels of one build of a graph: the nodes that each computes, the model's nodes behind them, and their operations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.analysis import cost
from workbench.analysis.tensors import Tensor, tensor
from workbench.graph.model import Graph


@dataclass(frozen=True)
class Unit:
    """One kernel of a graph."""

    group: int | None
    "the group drawn around it; None for an operator by itself"
    nodes: tuple[int, ...]
    "ids, in topological order"
    output: int
    "the node whose value it returns"

    def name(self, graph: Graph) -> str:
        """Return its name in the graph."""
        return graph.nodes[self.output].op if self.group is None else graph.groups[self.group].name

    def op(self, graph: Graph) -> str:
        """Return its dominant operator: by operations, then by how much of its input an element of the result needs."""
        ops = [node for node in (graph.nodes[id] for id in self.nodes) if node.kind == "op"]
        if not ops:
            return self.name(graph)
        heaviest = max(ops, key=lambda node: (cost.of_node(graph, node) or 0, node.pattern or 0, node.id))
        return cost.canonical(heaviest.op)


def units(graph: Graph) -> list[Unit]:
    """Return the kernels of a graph, in the order in which they are called."""
    held: dict[int, list[int]] = {}
    found: list[Unit] = []
    for node in graph.nodes:
        group = graph.kernel_of(node.id)
        if group is not None:
            held.setdefault(group, []).append(node.id)
        elif node.kind == "op" or node.kind == "call":
            found.append(Unit(None, (node.id,), node.id))
    for group, nodes in held.items():
        output = graph.groups[group].output
        found.append(Unit(group, tuple(nodes), nodes[-1] if output is None else output))
    return sorted(found, key=lambda unit: (unit.nodes[-1], unit.output))


def linked(graph: Graph, rows: Sequence[Mapping[str, Any]]) -> list[Unit | None]:
    """Return the unit of each row of a build, which calls the same kernels in the same order; None where no unit fits.

    `rows`: with `outputs`, shapes and types as `(1, 64) float32`. Units between them without a row are those that the
    compiler dropped because nothing uses their results.
    """
    waiting = units(graph)
    place, found = 0, []
    for row in rows:
        wanted = [_shape(text) for text in row["outputs"]]
        fits = next((i for i in range(place, len(waiting)) if _gives(graph, waiting[i]) == wanted), None)
        found.append(None if fits is None else waiting[fits])
        place = place if fits is None else fits + 1
    return found


def _gives(graph: Graph, unit: Unit) -> list[tuple[int, ...] | None]:
    type = graph.nodes[unit.output].type
    # the type of a scalar is only its data type
    return [()] if tensor(type) == Tensor((), type) else cost.shapes(type)


def _shape(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.rpartition(" ")[0].strip("()").split(",") if part.strip()]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else None


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
