"""Walks over a Graph that several analyses share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


def drive(start: Iterator[Any]) -> Any:
    """Run a generator that yields the generators it waits for, and is sent what they return; gives what it returns.

    >>> def depth(n):
    ...     return 0 if n == 0 else 1 + (yield depth(n - 1))
    >>> drive(depth(100_000))
    100000
    """
    stack, sent = [start], None
    while stack:
        try:
            step = stack[-1].send(sent)  # type: ignore[attr-defined]
        except StopIteration as done:
            stack.pop()
            sent = done.value
        else:
            stack.append(step)
            sent = None
    return sent
