"""Composition of consecutive diffs into one, so that nodes are followed through a pipeline pass by pass.

The first and the last graph of a long pipeline have few equal nodes; the diffs between show the result of each node. `diff`
composes those of a trace, so the whole pipeline and its steps are one story.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from workbench.graph.changes import GraphDiff
from workbench.graph.identity import ValueNumbers, labels
from workbench.graph.model import Graph

Pairs = set[tuple[int, int]]


def compose(diffs: Sequence[GraphDiff], before: Graph, after: Graph) -> GraphDiff:
    """Return the diff from `before` to `after`, made of the diffs of the steps between, in order.

    Two nodes are a pair if every step has a pair on the way from one to the other. Of such pairs the diff is made by these rules:

    1. A node that some step removed is removed, and one that a step added is added. A value that is removed and added again is a
       pair: the same operator, attributes and type from the inputs on.
    2. Nodes that became one are merged, whichever step merged them and whatever changed before or after. So for a split.
    3. A node that would be both in a merge and in a split keeps one partner: a merge that is undone pairs its nodes in order.
    4. Any other pair is kept if operator, attributes, type and inputs are the same at both ends, even if it changed between;
       otherwise it is changed.

    An empty diff has no effect, and the composition of one diff is that diff.

    Examples
    --------
    A step merges two equal operators, and the next gives the one that is left another input; it stays a merge:

    >>> first = wb.load("def @main(%x: Tensor[(1, 8), float32]) { add(exp(%x), exp(%x)) }").graph
    >>> last = wb.load("def @main(%x: Tensor[(1, 8), float32]) { %0 = exp(abs(%x)); add(%0, %0) }").graph
    >>> merge = GraphDiff(((0, 0), (3, 2)), (), (), (), (((1, 2), 1),), ())
    >>> insert = GraphDiff(((0, 0), (2, 3)), ((1, 2),), (), (1,), (), ())
    >>> compose([merge, insert], first, last)
    GraphDiff(kept 2, added 1, merged 1)
    """
    pairs = {(id, id) for id in range(len(before.nodes))}
    for step in diffs:
        onwards = step.mapping
        pairs = {(b, a) for b, middle in pairs for a in onwards.get(middle, ())}
    return _Composition(before, after, pairs).result()


class _Composition:
    def __init__(self, before: Graph, after: Graph, pairs: Pairs) -> None:
        numbering = ValueNumbers()
        self.before, self.after = before, after
        self.labels = labels(before, after)
        self.numbers = numbering.of(before, self.labels[0]), numbering.of(after, self.labels[1])
        self.pairs = pairs
        self.meet_again()
        self.untwist()

    def meet_again(self) -> None:
        """Pair a value with itself if it was removed and added again."""
        found, lost = {a for _, a in self.pairs}, {b for b, _ in self.pairs}
        free: dict[Hashable, list[int]] = defaultdict(list)
        for a in range(len(self.after.nodes) - 1, -1, -1):
            if a not in found:
                free[self.numbers[1][a]].append(a)
        for b, number in enumerate(self.numbers[0]):
            if b not in lost and free[number]:
                self.pairs.add((b, free[number].pop()))

    def untwist(self) -> None:
        """Ensure that no node is in both a merge and a split: with several on both sides, each keeps one partner, in order."""
        ours, theirs = Counter(b for b, _ in self.pairs), Counter(a for _, a in self.pairs)
        twisted = [(b, a) for b, a in sorted(self.pairs) if ours[b] > 1 and theirs[a] > 1]
        taken: set[tuple[str, int]] = set()
        firsts = []
        for b, a in twisted:
            if ("before", b) not in taken and ("after", a) not in taken:
                taken |= {("before", b), ("after", a)}
                firsts.append((b, a))
        kept = set(firsts)
        for b, a in [pair for pair in reversed(twisted) if pair not in kept] + firsts[::-1]:
            if ours[b] > 1 and theirs[a] > 1:
                self.pairs.discard((b, a))
                ours[b] -= 1
                theirs[a] -= 1

    def partners(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        ours: dict[int, list[int]] = {}
        theirs: dict[int, list[int]] = {}
        for b, a in sorted(self.pairs):
            ours.setdefault(b, []).append(a)
            theirs.setdefault(a, []).append(b)
        return ours, theirs

    def result(self) -> GraphDiff:
        ours, theirs = self.partners()
        single = [(b, many[0]) for b, many in ours.items() if len(many) == len(theirs[many[0]]) == 1]
        same = {pair for pair in single if self.same(*pair)}
        return GraphDiff(
            kept=tuple(pair for pair in single if pair in same),
            changed=tuple(pair for pair in single if pair not in same),
            removed=tuple(b for b in range(len(self.before.nodes)) if b not in ours),
            added=tuple(a for a in range(len(self.after.nodes)) if a not in theirs),
            merged=tuple((tuple(many), a) for a, many in sorted(theirs.items()) if len(many) > 1),
            split=tuple((b, tuple(many)) for b, many in ours.items() if len(many) > 1),
        )

    def same(self, b: int, a: int) -> bool:
        """Return whether two nodes have the same label, and inputs that are paired or are equal values."""
        ours, theirs = self.before.inputs[b], self.after.inputs[a]
        return (
            self.labels[0][b] == self.labels[1][a]
            and len(ours) == len(theirs)
            and all(
                (i, j) in self.pairs or self.numbers[0][i] == self.numbers[1][j]
                for i, j in zip(ours, theirs, strict=True)
            )
        )
