"""The fewest edits between two small graphs: every one-to-one mapping that may still be better is looked at.

Branch and bound (Land, Doig 1960) in topological order, so that a node's producers are placed when it is. What a node may
at best be is counted, merges and splits among it; what a whole mapping is worth, the caller says.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.graph.refine import Side, comparable

SMALL = 12
"Nodes of a graph that is searched; larger ones are only refined."
VISITS = 4000
"Placings tried at most; then the best mapping so far is good enough."

Mapping = list[int | None]


def fewest(before: Side, after: Side, edits: Callable[[Mapping], int], known: int) -> Mapping | None:
    """A mapping (after ids by before id) with fewer than `known` edits, the fewest there are; None without one."""
    if max(len(before.partner), len(after.partner)) > SMALL:
        return None
    search = _Search(before, after, edits, known)
    search.place(0, 0)
    return search.found


class _Search:
    def __init__(self, before: Side, after: Side, edits: Callable[[Mapping], int], known: int) -> None:
        self.before = before
        self.after = after
        self.edits = edits
        self.best = known
        self.found: Mapping | None = None
        self.image: Mapping = [None] * len(before.partner)
        self.taken = [False] * len(after.partner)
        self.visits = 0

    def place(self, b: int, cost: int) -> None:
        """Place the nodes from b on; `cost` is the least that the ones before it can cost."""
        self.visits += 1
        left, free = len(self.image) - b, self.taken.count(False)
        if cost + max(0, free - left) >= self.best or self.visits > VISITS:
            return
        if not left:
            found = self.edits(list(self.image))
            if found < self.best:
                self.best, self.found = found, list(self.image)
            return
        choices = [a for a, taken in enumerate(self.taken) if not taken and comparable(self.before, self.after, b, a)]
        costs = {a: int(not self.may_keep(b, a)) for a in choices}
        for a in sorted(choices, key=lambda a: (costs[a], a)):
            self.image[b], self.taken[a] = a, True
            self.place(b + 1, cost + costs[a])
            self.image[b], self.taken[a] = None, False
        self.place(b + 1, cost + 1)

    def may_keep(self, b: int, a: int) -> bool:
        """Whether the pair is kept, or would be with merges and splits that are not known yet."""
        ours, theirs = self.before.graph.inputs[b], self.after.graph.inputs[a]
        return (
            self.before.labels[b] == self.after.labels[a]
            and len(ours) == len(theirs)
            and all(self.may_match(i, j) for i, j in zip(ours, theirs, strict=True))
        )

    def may_match(self, i: int, j: int) -> bool:
        if self.image[i] == j or self.before.numbers[i] == self.after.numbers[j]:
            return True
        return self.before.labels[i] == self.after.labels[j] and (self.image[i] is None or not self.taken[j])
