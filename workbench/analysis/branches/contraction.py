"""Graphs with branches combined: the groups that allow it, and the remaining work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from workbench.graph.model import Graph, GraphBuilder, Group

Branches = tuple[tuple[int, ...], ...]
Value = TypeVar("Value")


class Circular(ValueError):
    """A branch needs the combined value of its siblings: TVM's substitution never ends on it."""


def remaining(graph: Graph, groups: Sequence[Branches]) -> list[tuple[int, int]]:
    """Return the remaining work, producers first: (-1, node) for a node, (group, 0) for combined branches.

    Raises Circular: a value would need itself.
    """
    ends = {branch[-1]: place for place, branches in enumerate(groups) for branch in branches}

    def value(node: int) -> tuple[int, int]:
        return (ends[node], 0) if node in ends else (-1, node)

    def inputs(of: tuple[int, int]) -> Iterator[tuple[int, int]]:
        group, node = of
        if group < 0:
            yield from map(value, graph.inputs[node])
            return
        for branch in groups[group]:
            for before, inside in zip((None, *branch), branch, strict=False):
                yield from (value(source) for source in graph.inputs[inside] if source != before)

    return _producers_first(map(value, _nodes_in_order(graph)), inputs)


def circular(graph: Graph, groups: Sequence[Branches]) -> set[int]:
    """Return the indexes of groups that cannot be combined together with those before them."""
    try:
        remaining(graph, groups)
    except Circular:
        pass
    else:
        return set()
    used: list[Branches] = []
    bad: set[int] = set()
    for place, branches in enumerate(groups):
        try:
            remaining(graph, [*used, branches])
            used.append(branches)
        except Circular:
            bad.add(place)
    return bad


def _nodes_in_order(graph: Graph) -> list[int]:
    """Return the nodes that no combiner drops: parameters first, then results and unused nodes."""
    kept = {*graph.outputs, *(g.output for g in graph.groups if g.output is not None)}
    # a node that was unused before is an effect, or dead code, which most passes leave
    kept |= {node.id for node in graph.nodes if node.kind == "param" or not graph.consumers[node.id]}
    return sorted(kept, key=lambda node: (graph.nodes[node].kind != "param", node))


def _producers_first(starts: Iterable[Value], inputs: Callable[[Value], Iterable[Value]]) -> list[Value]:
    order: dict[Value, None] = {}
    open: set[Value] = set()
    stack = [(start, False) for start in reversed(list(starts))]
    while stack:
        key, finished = stack.pop()
        if finished:
            open.discard(key)
            order[key] = None
        elif key in open:
            raise Circular
        elif key not in order:
            open.add(key)
            stack.append((key, True))
            # an open producer is an ancestor in this walk, so the value depends on itself
            stack.extend((producer, False) for producer in reversed(list(inputs(key))))
    return list(order)


def folded(graph: Graph, weights: Iterable[int] = ()) -> Graph:
    """Return the graph as FoldConstant leaves it: every value of constants alone is a constant.

    Parameters
    ----------
    weights
        Parameters that are constants once they are bound.
    """
    constant = graph.constants(weights)
    returned = {*graph.outputs, *(g.output for g in graph.groups)}
    used = [id in returned or any(u not in constant for u, _ in graph.consumers[id]) for id in range(len(graph.nodes))]
    builder = GraphBuilder(graph.name, graph.dialect)
    builder.groups = list(graph.groups)
    place: dict[int, int] = {}
    for node in graph.nodes:
        if node.id in constant and node.kind != "param":
            if used[node.id]:
                place[node.id] = builder.node("constant", node.op, type=node.type, attrs=node.attrs, group=node.group)
            continue
        sources = [place[s] for s in graph.inputs[node.id]]
        place[node.id] = builder.copy(node, sources)
    builder.outputs = [place[id] for id in graph.outputs]
    builder.groups = _moved(graph, place)
    return builder.build()


def _moved(graph: Graph, place: Mapping[int, int]) -> list[Group]:
    """Return the groups with the new ids of their arguments and results."""
    return [
        replace(
            group,
            output=None if group.output is None else place.get(group.output),
            inputs=tuple(place[source] for source in group.inputs if source in place),
        )
        for group in graph.groups
    ]
