"""Dominators and post-dominators of a Graph.

A node dominates another if every path from where values enter to the other leads through it. One pass over the topological
order finds each node's immediate dominator (workbench.graph.ancestors).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import SupportsIndex

from workbench.errors import UnknownNode
from workbench.graph.ancestors import Ancestors
from workbench.graph.model import Graph, HasGraph, graph_of


def dominators(source: Graph | HasGraph, sources: Iterable[int] | None = None) -> DominatorTree:
    """Return the dominator tree, below a virtual root in front of all sources.

    Parameters
    ----------
    source
        A Graph or a Workload.
    sources
        The nodes where values enter; by default every node without inputs that is not a constant. Give only the ids of the
        data inputs to ignore the weights. Nodes that no source reaches are not in the tree.

    Raises
    ------
    UnknownNode
        A source is not a node of this graph.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> builder = GraphBuilder("diamond", "relay")
    >>> x = builder.node("param", "x")
    >>> fork = builder.node("op", "exp", [x])
    >>> arms = [builder.node("op", op, [fork]) for op in ("tanh", "sqrt")]
    >>> join = builder.node("op", "add", arms)
    >>> tree = dominators(builder.build())
    >>> tree.parent[join] == fork, tree.dominates(x, join), tree.dominates(arms[0], join)
    (True, True, False)
    """
    graph = graph_of(source, "dominators")
    if sources is None:
        entering = {
            n.id for n, inputs in zip(graph.nodes, graph.inputs, strict=True) if not inputs and n.kind != "constant"
        }
    else:
        entering = {known_node(graph, node) for node in sources}
    return _tree(range(len(graph.nodes)), graph.inputs, entering)


def post_dominators(source: Graph | HasGraph) -> DominatorTree:
    """Return the post-dominator tree, below a virtual exit after all outputs and all unused values.

    A node post-dominates another if every path from the other to the exit leads through it.

    Parameters
    ----------
    source
        A Graph or a Workload.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { add(exp(%x), tanh(%x)) }")
    >>> [node.op for node in w.graph.nodes]
    ['x', 'exp', 'tanh', 'add']
    >>> wb.post_dominators(w).dominates(3, 0)
    True
    """
    graph = graph_of(source, "post_dominators")
    users = tuple(tuple(user for user, _ in uses) for uses in graph.consumers)
    leaving = {*graph.outputs, *(node for node, used_by in enumerate(users) if not used_by)}
    return _tree(range(len(graph.nodes) - 1, -1, -1), users, leaving)


def known_node(graph: Graph, node: int) -> int:
    """Return the id itself if the graph has such a node.

    Raises
    ------
    UnknownNode
        It does not.
    """
    # the id is the user's, so it may be an object of any type
    if not isinstance(node, SupportsIndex) or not 0 <= node < len(graph.nodes):
        raise UnknownNode(node, len(graph.nodes))
    return node


VIRTUAL = -1
"The virtual root or exit, as a parent."


@dataclass(frozen=True)
class DominatorTree:
    """The tree of immediate dominators (or post-dominators) of a graph."""

    parent: tuple[int | None, ...]
    "immediate dominator of each node; VIRTUAL below the virtual root, None if no source reaches the node"
    depth: tuple[int, ...]
    "steps from the virtual root; 0 for nodes that are not in the tree"
    order: range = field(repr=False)
    "the nodes, dominators before the nodes that they dominate"

    def dominates(self, node: int, other: int) -> bool:
        """Return whether every path to `other` leads through `node`; a node dominates itself."""
        first, last = self._intervals
        return first[node] <= first[other] < last[node] if self.depth[node] and self.depth[other] else False

    def above(self, node: int) -> Iterator[int]:
        """Iterate over the dominators of the node, the nearest first, without the node itself."""
        up = self.parent[node]
        while up is not None and up != VIRTUAL:
            yield up
            up = self.parent[up]

    def common(self, nodes: Iterable[int]) -> int | None:
        """Return the nearest node that dominates all of `nodes`; None if only the virtual root does."""
        paths = [[node, *self.above(node)][::-1] for node in nodes]
        found = None
        for steps in zip(*paths, strict=False):
            if any(step != steps[0] for step in steps):
                break
            found = steps[0]
        return found

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that each node dominates immediately."""
        found: list[list[int]] = [[] for _ in self.parent]
        for node in self.order:
            up = self.parent[node]
            if up is not None and up != VIRTUAL:
                found[up].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def _intervals(self) -> tuple[list[int], list[int]]:
        """Each node's index in a pre-order of the tree, and the index after the last node that it dominates."""
        sizes = [1] * len(self.parent)
        for node in reversed(self.order):
            up = self.parent[node]
            if up is not None and up != VIRTUAL:
                sizes[up] += sizes[node]
        first, free, end = [0] * len(sizes), [0] * len(sizes), 0
        for node in self.order:
            up = self.parent[node]
            if up is None or up == VIRTUAL:
                first[node], end = end, end + sizes[node]
            else:
                first[node], free[up] = free[up], free[up] + sizes[node]
            free[node] = first[node] + 1
        return first, [a + size for a, size in zip(first, sizes, strict=True)]


def _tree(order: range, before: Sequence[Sequence[int]], entering: set[int]) -> DominatorTree:
    """Return the tree of an acyclic graph; `before` gives each node's neighbours that are earlier in `order`."""
    tree = Ancestors(len(order))
    depth = tree.depth
    for node in order:
        if node in entering:
            tree.add(node, tree.root)
        elif reached := [other for other in before[node] if depth[other]]:
            tree.add(node, tree.common(reached))
    parent = tuple(
        None if not depth[node] else VIRTUAL if above == tree.root else above
        for node, above in enumerate(tree.parent[:-1])
    )
    return DominatorTree(parent, tuple(depth[:-1]), order)
