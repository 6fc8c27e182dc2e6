"""The tensors of a graph, and the values that the calls of a build make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.analysis.tensors import tensor, tensors
from workbench.analysis.units import Unit, linked
from workbench.debugging.kernel_errors.layouts import layouts
from workbench.graph.model import Graph

Made = tuple[int, int]
"a value of a run: the call that makes it, and its place among the outputs of the call"


@dataclass(frozen=True)
class Field:
    """A tensor of a graph."""

    node: int
    place: int = 0
    "its place in the tuple that the node returns"


@dataclass(frozen=True)
class Tensors:
    """The tensors of a graph: which nodes read each, and which are returned."""

    graph: Graph

    def fields(self, node: int) -> list[Field]:
        """Return the tensors of a node's value, those of a tuple one by one."""
        kind, inputs = self.graph.nodes[node].kind, self.graph.inputs[node]
        if kind == "tuple":
            return [field for each in inputs for field in self.fields(each)]
        if kind == "get_item":
            fields, place = self.fields(inputs[0]), int(self.graph.nodes[node].op[1:])
            return fields[place : place + 1]
        if kind == "match" and inputs:
            return self.fields(inputs[0])
        type = self.graph.nodes[node].type
        return [Field(node, place) for place in range(1 if tensor(type) else len(tensors(type)))]

    def shape(self, field: Field) -> tuple[int | str, ...]:
        """Return the shape of a tensor, as its type gives it."""
        type = self.graph.nodes[field.node].type
        whole = tensor(type)
        return (whole or tensors(type)[field.place]).shape

    @cached_property
    def readers(self) -> dict[Field, list[tuple[int, int]]]:
        """For each tensor the nodes that read it, with the place of the argument."""
        found: dict[Field, list[tuple[int, int]]] = {}
        for node, uses in enumerate(self.graph.consumers):
            fields = self.fields(node) if uses else []
            if len(fields) == 1:
                found.setdefault(fields[0], []).extend(use for use in uses if not self._passes_on(use[0]))
        return found

    def _passes_on(self, node: int) -> bool:
        return self.graph.nodes[node].kind == "get_item"

    @cached_property
    def layouts(self) -> dict[int, str]:
        """The layouts of the nodes for which the graph gives one."""
        return layouts(self.graph)

    @cached_property
    def results(self) -> list[Field]:
        """The tensors that the program returns."""
        return [field for output in self.graph.outputs for field in self.fields(output)]


@dataclass(frozen=True)
class Calls:
    """The calls of a build, and the graph of the module that was compiled."""

    tensors: Tensors
    rows: Sequence[Mapping[str, Any]]
    "as `jobs.build.counted` returns them"

    @property
    def graph(self) -> Graph:
        """The graph of the module that was compiled."""
        return self.tensors.graph

    @cached_property
    def units(self) -> list[Unit | None]:
        """The nodes that each call computes."""
        return linked(self.graph, self.rows)

    @cached_property
    def _views(self) -> frozenset[int]:
        """The nodes of the calls that run no code: their value is their first input's."""
        rows = zip(self.rows, self.units, strict=True)
        return frozenset(node for row, unit in rows if unit is not None and row["noop"] for node in unit.nodes)

    @cached_property
    def made(self) -> dict[Field, Made]:
        """The value of each tensor that a call makes."""
        computing = [(call, unit) for call, unit in enumerate(self.units) if unit and not self.rows[call]["noop"]]
        return {
            field: (call, place)
            for call, unit in computing
            for place, field in enumerate(self.outputs(call))
            if field.node in unit.nodes
        }

    def outputs(self, call: int) -> list[Field]:
        """Return the tensors that a call makes."""
        unit = self.units[call]
        return [] if unit is None else self.tensors.fields(unit.output)

    def value(self, field: Field) -> Made | None:
        """Return the value of a tensor, that of the viewed tensor for a view; None if no call makes it."""
        node = field.node
        while node in self._views and self.graph.inputs[node]:
            node = self.graph.inputs[node][0]
        found = [field] if node == field.node else self.tensors.fields(node)
        return self.made.get(found[0]) if len(found) == 1 else None
