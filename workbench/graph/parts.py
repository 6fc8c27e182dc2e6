"""Parts of a graph in which nothing repeats and that is too long to be read at once: stretches of its topological order.

Consecutive stretches of a topological order never make a cycle, whatever the graph; and Relay and Relax bind an operator
soon after what it reads, so neighbours mostly stay together.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from workbench.graph.scopes import unit_of

if TYPE_CHECKING:
    from workbench.graph.model import Graph

READABLE = 300
"Operators and kernels beside each other that still are one picture."
PARTS = 60
"Parts at most; more would again be too much to read."


def parts(graph: Graph, nodes: Collection[int]) -> dict[int, int]:
    """The part, from 0 on, of each of the `nodes`; empty where they are few enough to be read without.

    What nothing computes is in the first part that reads it.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> builder = GraphBuilder("chain", "relay")
    >>> node = builder.node("param", "x")
    >>> for _ in range(600):
    ...     node = builder.node("op", "exp", [node])
    >>> graph = builder.build()
    >>> found = parts(graph, range(601))
    >>> found[1], found[10], found[11], found[600]
    (0, 0, 1, 59)
    """
    unit = unit_of(graph)
    items: dict[tuple[str, int], list[int]] = {}
    for id in nodes:
        kernel = unit[id]
        if graph.nodes[id].kind not in ("param", "constant"):
            items.setdefault(("node", id) if kernel is None else ("kernel", kernel), []).append(id)
    if len(items) <= READABLE:
        return {}
    # a kernel is left by its result only, so it stands where that stands
    order = sorted(items.values(), key=max)
    size = -(-len(order) // PARTS)
    found = {id: place // size for place, ids in enumerate(order) for id in ids}
    for id in nodes:
        if id not in found:
            readers = [found[user] for user, _ in graph.consumers[id] if user in found]
            found.update({id: min(readers)} if readers else {})
    return found
