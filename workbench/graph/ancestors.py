"""Lowest common ancestors in a tree that grows by leaves.

In an acyclic graph whose nodes are visited in topological order, a node's immediate dominator is the lowest common ancestor, in
the tree made so far, of its producers: one pass, no iteration (Aho, Hopcroft, Ullman, "On finding lowest common ancestors in
trees", SIAM J. Comput. 5(1), 1976, doi:10.1137/0205011). Each node keeps one jump pointer besides its parent, and an ancestor
is found in O(log n) steps (Myers, "An applicative random-access stack", Inf. Process. Lett. 17(5), 1983,
doi:10.1016/0020-0190(83)90106-0). Climbing parent by parent, as is usual, takes n steps per node on a long chain that many
nodes close.
"""

from __future__ import annotations

from collections.abc import Iterable


class Ancestors:
    """A tree of the nodes 0 to `size` - 1 below the virtual root `size`.

    Examples
    --------
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
