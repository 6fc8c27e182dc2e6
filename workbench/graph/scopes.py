"""Scopes of a graph: boxes derived from it (layers, stages, paths of names), and the graph with them as groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.graph.nodes import Group

if TYPE_CHECKING:
    from workbench.graph.diff import GraphDiff
    from workbench.graph.model import Graph


@dataclass(frozen=True)
class Scope:
    """A box to be."""

    name: str
    parent: int | None = None
    "place of the scope around it, which comes before it"


@dataclass(frozen=True)
class Scopes:
    """Boxes, and which of them each node is in."""

    scopes: tuple[Scope, ...]
    home: tuple[int | None, ...]
    "for each node of the graph the innermost scope that holds it"

    def common(self, homes: Iterable[int | None]) -> int | None:
        """The innermost scope around all of these; None if there is none."""
        shared: list[int] | None = None
        for home in dict.fromkeys(homes):
            chain = dict.fromkeys(self.around(home))
            shared = list(chain) if shared is None else [at for at in shared if at in chain]
        return shared[0] if shared else None

    def around(self, home: int | None) -> Iterator[int]:
        """The scope and those around it, innermost first."""
        while home is not None:
            yield home
            home = self.scopes[home].parent


def settled(graph: Graph, found: Scopes) -> Scopes:
    """The same with every kernel where its result is, and the weights of what moved with it.

    A kernel is left by its result only, so its other nodes can go there from any earlier scope without making a cycle.
    """
    home, unit = list(found.home), unit_of(graph)
    result: dict[int, int] = {}
    for id in range(len(home) - 1, -1, -1):
        kernel = unit[id]
        if kernel is not None:
            home[id] = home[result.setdefault(kernel, id)]
    for node in reversed(graph.nodes):
        # what is in no scope yet stays outside: the data, though the first layer alone reads it
        if home[node.id] is not None and not graph.inputs[node.id] and unit[node.id] is None:
            home[node.id] = found.common(home[user] for user, _ in graph.consumers[node.id])
    return Scopes(found.scopes, tuple(home))


def unit_of(graph: Graph) -> list[int | None]:
    """For each node the outermost group inside its function that holds it; such a group is never taken apart."""
    unit: list[int | None] = [None] * len(graph.groups)
    for group in graph.outside_in:
        if group.parent is not None:
            around = unit[group.parent]
            unit[group.id] = group.id if around is None else around
    return [None if node.group is None else unit[node.group] for node in graph.nodes]


def function_of(graph: Graph) -> list[int | None]:
    """For each node the top-level function that it is in."""
    function = [group.id for group in graph.groups]
    for group in graph.outside_in:
        if group.parent is not None:
            function[group.id] = function[group.parent]
    return [None if node.group is None else function[node.group] for node in graph.nodes]


def carried(before: Graph, after: Graph, changes: GraphDiff, found: Scopes) -> tuple[Scopes, Scopes]:
    """The scopes of the graph before on both graphs: what is still there is in the same box on both sides.

    What was added is in the last scope that it was computed from; without such, where all that use it are.
    """
    home: list[int | None] = [None] * len(after.nodes)
    fixed = bytearray(len(after.nodes))
    for b, images in changes.mapping.items():
        for a in images:
            if not fixed[a]:
                home[a], fixed[a] = found.home[b], 1
    for a, inputs in enumerate(after.inputs):
        if not fixed[a]:
            home[a] = max((at for i in inputs if (at := home[i]) is not None), default=None)
    for a in range(len(after.nodes) - 1, -1, -1):
        if not fixed[a] and home[a] is None:
            home[a] = found.common(home[user] for user, _ in after.consumers[a])
    now = settled(after, Scopes(found.scopes, tuple(home)))
    # a kernel of the graph after may have moved a border
    was = list(found.home)
    for b, images in changes.mapping.items():
        was[b] = now.home[images[0]]
    return settled(before, Scopes(found.scopes, tuple(was))), now


def with_scopes(graph: Graph, found: Scopes) -> Graph:
    """The graph with its scopes as groups: a function around scopes around kernels. Groups keep their ids; scopes follow."""
    used = _used(found)
    if not used:
        return graph
    functions, unit = function_of(graph), unit_of(graph)
    order = list(graph.groups)
    scope_place: dict[int, int] = {}
    for at in used:
        scope = found.scopes[at]
        around = scope_place[scope.parent] if scope.parent is not None else functions[used[at]]
        scope_place[at] = len(order)
        order.append(Group(len(order), "scope", scope.name, around))
    inner = {unit[id]: at for id, at in enumerate(found.home) if unit[id] is not None and at is not None}
    for group in graph.groups:
        if group.parent is None:
            continue
        at = inner.get(group.id)
        if at is not None:
            order[group.id] = replace(group, parent=scope_place[at])
    nodes = []
    for node, at in zip(graph.nodes, found.home, strict=True):
        within = node.group
        if at is not None and unit[node.id] is None:
            within = scope_place[at]
        nodes.append(node if within == node.group else replace(node, group=within))
    return replace(graph, nodes=tuple(nodes), groups=tuple(order))


def _used(found: Scopes) -> dict[int, int]:
    """A node in each scope that holds any, parents first."""
    used: dict[int, int] = {}
    for id, home in enumerate(found.home):
        at = home
        while at is not None and at not in used:
            used[at] = id
            at = found.scopes[at].parent
    return dict(sorted(used.items()))
