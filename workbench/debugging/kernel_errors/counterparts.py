"""The tensors of one graph of a program in another graph of it, followed through the graphs between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from workbench.debugging.kernel_errors.build_values import Field, Tensors
from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.graph.model import Graph
from workbench.pipeline.step import Images

MOST = 8
"candidates for one tensor"


@dataclass(frozen=True)
class Hop:
    """Two neighbouring graphs."""

    ours: Tensors
    theirs: Tensors

    @cached_property
    def _diff(self) -> GraphDiff:
        return diff(self.ours.graph, self.theirs.graph)

    @cached_property
    def _images(self) -> Images:
        return Images(self.ours.graph, self.theirs.graph, self._diff)

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
        """Yield the tensor of the same operator."""
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
    nearest, fewest = 0, None
    for place, graph in enumerate(build):
        edits = diff(graph, reference).edits
        if fewest is None or edits < fewest:
            nearest, fewest = place, edits
        if not fewest:
            break
    return Path([*reversed(build[nearest:]), reference])
