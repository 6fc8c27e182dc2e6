"""Dominators and post-dominators of a Graph.

A node dominates another if every path from where values enter to the other leads through it. Where nodes are visited in
topological order, a node's immediate dominator is the lowest common ancestor, in the tree made so far, of its producers: one
pass, no iteration (Aho, Hopcroft, Ullman, "On finding lowest common ancestors in trees", SIAM J. Comput. 5(1), 1976,
doi:10.1137/0205011). Each node keeps one jump pointer besides its parent, and an ancestor is found in O(log n) steps (Myers,
"An applicative random-access stack", Inf. Process. Lett. 17(5), 1983, doi:10.1016/0020-0190(83)90106-0). Climbing parent by
parent, as is usual, takes n steps per node on a long chain that many nodes close.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

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


class Ancestors:
    """A tree of the nodes 0 to `size` - 1 below the virtual root `size`, which grows by leaves.

    >>> tree = Ancestors(4)
    >>> for node, above in [(0, tree.root), (1, 0), (2, 0)]:
    ...     tree.add(node, above)
    >>> tree.common([1, 2]), tree.depth[2], tree.depth[3]
    (0, 2, 0)
    """

    def __init__(self, size: int) -> None:
        self.root = size
        # the virtual root is its own parent and its own jump
        self.parent = [size] * (size + 1)
        self._jump = [size] * (size + 1)
        self.depth = [0] * (size + 1)
        "steps below the virtual root; 0 for nodes that are not in the tree"

    def add(self, node: int, above: int) -> None:
        """Put a node below one that is in the tree."""
        depth, jump = self.depth, self._jump
        far = jump[above]
        self.parent[node], depth[node] = above, depth[above] + 1
        jump[node] = jump[far] if depth[above] - depth[far] == depth[far] - depth[jump[far]] else above

    def common(self, nodes: Iterable[int]) -> int:
        """Return the lowest node above all of `nodes` (at least one); a node counts as above itself."""
        found, *others = nodes
        for other in others:
            found = self._common(found, other)
        return found

    def _common(self, a: int, b: int) -> int:
        parent, depth, jump = self.parent, self.depth, self._jump
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            a = jump[a] if depth[jump[a]] >= depth[b] else parent[a]
        # nodes of equal depth have jumps of equal length
        while a != b:
            a, b = (parent[a], parent[b]) if jump[a] == jump[b] else (jump[a], jump[b])
        return a


def tree_of(order: range, before: Sequence[Sequence[int]], entering: set[int]) -> DominatorTree:
    """Return the tree of an acyclic graph, below a virtual root in front of the `entering` nodes; `before`: neighbours earlier in `order`."""
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


OUTSIDE = -1
LATEST = 4
"A data input meets the longest chain at least one part in LATEST of its length before its end."
SOURCES = 64
"Most inputs and weights of the first layers whose reach in the graph is computed."


@dataclass(frozen=True)
class Spine:
    """A chain of post-dominators and, for every node, its link of the chain."""

    path: tuple[int, ...]
    "node ids, producers first"
    home: Sequence[int] | Mapping[int, int]
    "for each node, the index in `path` of the only link that it leads to, or OUTSIDE"


def spine(
    inputs: Sequence[Sequence[int]], consumers: Sequence[Sequence[int]], root: int, free: Sequence[bool]
) -> Spine:
    """Return the longest chain of post-dominators that ends at `root`, through `free` nodes only, in near-linear time.

    A skip connection (0 to 2) around 1, and a weight, 3:

    >>> spine([[], [0], [0, 1], [], [2, 3]], [[1, 2], [2], [4], [4], []], 4, [True] * 5)
    Spine(path=(0, 2, 4), home=(0, 1, 1, 2, 2))
    """
    uses = _uses(inputs, consumers, root, free)
    path = _path(inputs, uses, root)
    place = {node: index for index, node in enumerate(path)}
    home = [OUTSIDE] * len(inputs)
    for node in range(root, -1, -1):
        if node in place:
            home[node] = place[node]
        elif uses[node]:
            homes = {home[user] for user in uses[node]}
            home[node] = homes.pop() if len(homes) == 1 else OUTSIDE
    _hang_side_results(inputs, consumers, uses, free, home)
    return Spine(path, tuple(home))


def _uses(
    inputs: Sequence[Sequence[int]], consumers: Sequence[Sequence[int]], root: int, free: Sequence[bool]
) -> list[list[int]]:
    """Return, for each node that leads to the root, its consumers that lead there."""
    reaches = bytearray(len(inputs))
    reaches[root] = 1
    uses: list[list[int]] = [[] for _ in inputs]
    for node in range(root - 1, -1, -1):
        if free[node]:
            uses[node] = [user for user in consumers[node] if reaches[user]]
            reaches[node] = bool(uses[node])
    return uses


def _path(inputs: Sequence[Sequence[int]], uses: list[list[int]], root: int) -> tuple[int, ...]:
    """Return the path in the post-dominator tree to the root from the source that reaches most of the graph."""
    tree = tree_of(range(root, -1, -1), uses, {root})
    depth = {node: tree.depth[node] - 1 for node in tree.order if tree.depth[node]}

    def way(node: int) -> tuple[int, ...]:
        return node, *tree.above(node)

    longest = way(max(depth, key=lambda id: (depth[id], -id)))
    # a weight of the first layer may be deeper in the tree than the data, but the data reaches every node that the weight does
    sources = [node for node in depth if not any(i in depth for i in inputs[node])]
    meets = _meeting(longest, tree, sources)
    near = sorted(
        (node for node in sources if LATEST * depth[meets[node]] >= len(longest)), key=lambda id: (-depth[id], id)
    )
    tried = near[:SOURCES]
    reach = _reach(uses, depth, tried)
    return way(max(tried, key=lambda id: (reach[id], depth[id], -id))) if tried else longest


def _meeting(path: tuple[int, ...], tree: DominatorTree, nodes: Iterable[int]) -> dict[int, int]:
    """Return, for each node, the node of `path` where its own path to the root meets it."""
    meets = {node: node for node in path}
    for node in nodes:
        way: list[int] = []
        for at in chain((node,), tree.above(node)):
            way.append(at)
            if at in meets:
                break
        meets.update(dict.fromkeys(way, meets[way[-1]]))
    return meets


def _reach(uses: list[list[int]], nodes: Iterable[int], sources: list[int]) -> dict[int, int]:
    """Return the number of nodes that each source reaches."""
    reached_by = dict.fromkeys(nodes, 0)
    reached_by.update((node, 1 << bit) for bit, node in enumerate(sources))
    counts: Counter[int] = Counter()
    for node in sorted(reached_by):
        counts[reached_by[node]] += 1
        for user in uses[node]:
            reached_by[user] |= reached_by[node]
    return {node: sum(count for mask, count in counts.items() if mask >> bit & 1) for bit, node in enumerate(sources)}


def _hang_side_results(
    inputs: Sequence[Sequence[int]],
    consumers: Sequence[Sequence[int]],
    uses: list[list[int]],
    free: Sequence[bool],
    home: list[int],
) -> None:
    """Assign nodes that do not lead to the root (a layer's own results) to the last link they are computed from."""
    aside = [node for node, users in enumerate(uses) if free[node] and not users and home[node] == OUTSIDE]
    for node in aside:
        home[node] = max((home[i] for i in inputs[node]), default=OUTSIDE)
    for node in reversed(aside):
        homes = {home[user] for user in consumers[node]}
        if home[node] == OUTSIDE and len(homes) == 1:
            home[node] = homes.pop()
