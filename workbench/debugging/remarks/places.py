"""The function, layer and source line of each node of a graph of a trace.

Passes drop spans and layers, so both are taken from the trace's first graph where a node comes from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.debugging.remarks.remark import Remark, Source
from workbench.graph.diff import diff
from workbench.graph.layers import layers, unnumbered
from workbench.graph.model import Graph, Node
from workbench.graph.scopes import Scopes, function_of, path_of
from workbench.pipeline.step import State
from workbench.pipeline.trace import Trace

_SPAN = re.compile(r"(.+):([1-9]\d{0,8}):(\d{1,9})", re.DOTALL)
"a file with a line; importers write other names, with the line 0"


@dataclass(frozen=True)
class Places:
    """The places of the nodes of one graph."""

    graph: Graph
    scopes: Scopes
    functions: Sequence[int | None]
    origins: Mapping[int, Node]
    "the node of the trace's first graph that a node comes from, for those that have one"

    def function(self, node: int) -> str:
        """Return the name of the top-level function that holds a node."""
        group = self.functions[node]
        return "main" if group is None else self.graph.groups[group].name or "main"

    def layer(self, node: int) -> str:
        """Return the path of the layers around a node, outermost first; empty if there are none."""
        for known in self._known(node):
            if path := path_of(known):
                return "/".join(path)
        names = [self.scopes.scopes[at].name for at in self.scopes.around(self.scopes.home[node])]
        return "/".join(reversed(names))

    def source(self, node: int) -> Source | None:
        """Return the line of source that a node comes from; None where no span names one."""
        return next((found for known in self._known(node) if (found := source_of(known.span))), None)

    def _known(self, node: int) -> Iterator[Node]:
        yield self.graph.nodes[node]
        if node in self.origins:
            yield self.origins[node]

    def located(self, remark: Remark, nodes: Sequence[int], operators: Sequence[int] = ()) -> Remark:
        """Return a remark with its nodes, at the place of the first one.

        Parameters
        ----------
        operators
            The nodes whose operators identify the remark; by default all.
        """
        first = nodes[0]
        return replace(
            remark,
            function=self.function(first),
            operators=tuple(unnumbered(self.graph.nodes[node].op) for node in operators or nodes),
            nodes=tuple(nodes),
            layer=self.layer(first),
            source=self.source(first),
        )


def places(trace: Trace, state: State) -> Places:
    """Return the places of the nodes of a state of a trace."""
    start, graph = trace.start.graph, state.graph
    if graph is start:
        return Places(graph, layers(graph), function_of(graph), {})
    mapping = diff(start, graph).mapping
    origins = {image: start.nodes[first] for first, images in reversed(mapping.items()) for image in images}
    return Places(graph, layers(graph), function_of(graph), origins)


def source_of(span: str) -> Source | None:
    """Return the line of a file that a span names; None for another span.

    >>> source_of("model.py:3:1"), source_of("/layer1/conv1/Conv:0:0")
    (Source(file='model.py', line=3, column=1), None)
    """
    found = _SPAN.fullmatch(span)
    return None if found is None else Source(found[1], int(found[2]), int(found[3]))
