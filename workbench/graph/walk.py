"""Walks over a Graph that several analyses share."""

from __future__ import annotations

from workbench.graph.model import Graph


def depth(graph: Graph) -> int:
    """Return how deep a recursive visitor of the program goes: the longest path, and the functions around it."""
    deepest = [1] * len(graph.nodes)
    # nodes stand in topological order, so each node's depth is final before it is used
    for id, inputs in enumerate(graph.inputs):
        if inputs:
            deepest[id] = 1 + max(deepest[source] for source in inputs)
    return max(deepest, default=0) + _nesting(graph)


def _nesting(graph: Graph) -> int:
    """Return how many functions are inside each other."""
    levels: dict[int | None, int] = {None: 0}
    for group in graph.groups:
        above: list[int] = []
        at: int | None = group.id
        while at not in levels:
            assert at is not None, "None has a level"
            above.append(at)
            at = graph.groups[at].parent
        for inner in reversed(above):
            levels[inner] = levels[graph.groups[inner].parent] + 1
    return max(levels.values())
