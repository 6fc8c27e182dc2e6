"""The tensors of a graph, the values that the calls of a build make of them, and their counterparts in another graph of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from workbench.analysis.tensors import tensor, tensors
from workbench.analysis.units import Unit, linked
from workbench.debugging.kernel_errors.forms import layouts
from workbench.graph.diff import diff, nearest
from workbench.graph.model import Graph
from workbench.pipeline.step import Images

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
                found.setdefault(fields[0], []).extend(
                    use for use in uses if self.graph.nodes[use[0]].kind != "get_item"
                )
        return found

    @cached_property
    def layouts(self) -> dict[int, str]:
        return layouts(self.graph)

    @cached_property
    def results(self) -> list[Field]:
        return [field for output in self.graph.outputs for field in self.fields(output)]


@dataclass(frozen=True)
class Calls:
    """The calls of a build, and the graph of the module that was compiled."""

    tensors: Tensors
    rows: Sequence[Mapping[str, Any]]
    "as `jobs.build.counted` returns them"

    @property
    def graph(self) -> Graph:
        return self.tensors.graph

    @cached_property
    def units(self) -> list[Unit | None]:
        return linked(self.graph, self.rows)

    @cached_property
    def _views(self) -> frozenset[int]:
        """The nodes of the calls that run no code: their value is their first input's."""
        rows = zip(self.rows, self.units, strict=True)
        return frozenset(node for row, unit in rows if unit is not None and row["noop"] for node in unit.nodes)

    @cached_property
    def made(self) -> dict[Field, Made]:
        computing = [(call, unit) for call, unit in enumerate(self.units) if unit and not self.rows[call]["noop"]]
        return {
            field: (call, place)
            for call, unit in computing
            for place, field in enumerate(self.outputs(call))
            if field.node in unit.nodes
        }

    def outputs(self, call: int) -> list[Field]:
        unit = self.units[call]
        return [] if unit is None else self.tensors.fields(unit.output)

    def value(self, field: Field) -> Made | None:
        """Return the value of a tensor, that of the viewed tensor for a view; None if no call makes it."""
        node = field.node
        while node in self._views and self.graph.inputs[node]:
            node = self.graph.inputs[node][0]
        found = [field] if node == field.node else self.tensors.fields(node)
        return self.made.get(found[0]) if len(found) == 1 else None


MOST = 8
"candidates for one tensor"


@dataclass(frozen=True)
class Hop:
    """Two neighbouring graphs."""

    ours: Tensors
    theirs: Tensors

    @cached_property
    def _images(self) -> Images:
        ours, theirs = self.ours.graph, self.theirs.graph
        return Images(ours, theirs, diff(ours, theirs))

    def of(self, field: Field) -> list[Field]:
        """Return the candidates for a tensor, the surest first.

        A result is the result in the same place. A pass may keep an operator and move a factor past it, so the tensor that
        the readers take in the other graph is a candidate too, unless the diff finds that nothing changed.
        """
        if returned := list(self._returned(field)):
            return returned[:1]
        if field.node in self._images.kept:
            return list(self._same(field))
        found = dict.fromkeys((*self._same(field), *self._read(field)))
        return list(found or dict.fromkeys(self._in_place(field)))

    def _same(self, field: Field) -> Iterator[Field]:
        for node in self._images.mapping.get(field.node, ()):
            yield from self._at(node, field)

    def _read(self, field: Field) -> Iterator[Field]:
        """Yield the arguments of the operators that read the tensor, as they are in the other graph."""
        for reader, place in self.ours.readers.get(field, ()):
            for node in self._images.mapping.get(reader, ()):
                inputs = self.theirs.graph.inputs[node]
                fields = self.theirs.fields(inputs[place]) if place < len(inputs) else []
                yield from fields if len(fields) == 1 else ()

    def _returned(self, field: Field) -> Iterator[Field]:
        ours, theirs = self.ours.results, self.theirs.results
        if len(ours) == len(theirs):
            yield from (there for here, there in zip(ours, theirs, strict=True) if here == field)

    def _in_place(self, field: Field) -> Iterator[Field]:
        """Yield the tensors of the operators that are in the place of one without a partner."""
        for node, _ in self._images.of(field.node):
            yield from self._at(node, field)

    def _at(self, node: int, field: Field) -> Iterator[Field]:
        fields = self.theirs.fields(node)
        if len(fields) == len(self.ours.fields(field.node)):
            yield fields[field.place]


class Path:
    """Graphs of one program, in the order in which a tensor is followed."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        # a step may change nothing that a graph shows
        distinct = [graph for place, graph in enumerate(graphs) if place == 0 or graph != graphs[place - 1]]
        tensors = [Tensors(graph) for graph in distinct]
        self.hops = [Hop(ours, theirs) for ours, theirs in pairwise(tensors)]

    def of(self, field: Field) -> list[Field]:
        """Return the candidates for a tensor of the first graph in the last one, the surest first."""
        found = [field]
        for hop in self.hops:
            found = list(dict.fromkeys(there for each in found for there in hop.of(each)))[:MOST]
        return found


def path_to_reference(build: Sequence[Graph], reference: Graph) -> Path:
    """Return the path from the last graph of a build, back to the one that is nearest to the reference's, and to that."""
    return Path([*reversed(build[nearest(build, reference) :]), reference])
