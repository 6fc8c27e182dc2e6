"""Walks over a Graph that several analyses share."""

from __future__ import annotations

from workbench.graph.model import Graph


def depth(graph: Graph) -> int:
    """The number of nodes on the longest path, which is how deep a recursive visitor of the program goes."""
    deepest = [1] * len(graph.nodes)
    # nodes stand in topological order, so each node's depth is final before it is used
    for id, inputs in enumerate(graph.inputs):
        if inputs:
            deepest[id] = 1 + max(deepest[source] for source in inputs)
    return max(deepest, default=0)
