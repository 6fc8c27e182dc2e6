"""The difference of two graphs: its kinds, the composition of consecutive ones, and what of it is only lowering.

The first and the last graph of a long pipeline have few equal nodes; the diffs between show the result of each node. `diff`
composes those of a trace, so the whole pipeline and its steps are one story.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from workbench.graph.identity import ValueNumbers, labels
from workbench.graph.model import Graph
from workbench.terminal import html_table
from workbench.wording import counted

Mark = Literal["kept", "changed", "removed", "added", "merged", "split"]
MARKS: tuple[Mark, ...] = get_args(Mark)
"the fields of GraphDiff; the page has them from js/model/messages.ts"


@dataclass(frozen=True)
class GraphDiff:
    """The difference of two graphs, in node ids of the graph before and of the graph after."""

    kept: tuple[tuple[int, int], ...]
    "(before, after): the same operator, attributes, type and inputs"
    changed: tuple[tuple[int, int], ...]
    "(before, after): the same node with other attributes, type or inputs, or a variant of its operator"
    removed: tuple[int, ...]
    added: tuple[int, ...]
    merged: tuple[tuple[tuple[int, ...], int], ...]
    "(before ids, after): several nodes became one"
    split: tuple[tuple[int, tuple[int, ...]], ...]
    "(before, after ids): one node became several"

    @cached_property
    def mapping(self) -> dict[int, tuple[int, ...]]:
        """Before id -> after ids, for every node that was not removed."""
        found: dict[int, tuple[int, ...]] = {b: (a,) for b, a in (*self.kept, *self.changed)}
        found.update((b, (a,)) for many, a in self.merged for b in many)
        found.update(self.split)
        return found

    @property
    def empty(self) -> bool:
        """Return whether nothing changed."""
        return not (self.changed or self.removed or self.added or self.merged or self.split)

    @property
    def edits(self) -> int:
        """The number of nodes changed, removed, added, or lost and gained in merges and splits."""
        extra = sum(len(many) - 1 for many, _ in self.merged) + sum(len(many) - 1 for _, many in self.split)
        return len(self.changed) + len(self.removed) + len(self.added) + extra

    @cached_property
    def counts(self) -> dict[Mark, int]:
        """The number of entries of each kind; a merge or a split counts once."""
        return {mark: len(getattr(self, mark)) for mark in MARKS}

    @cached_property
    def marks(self) -> tuple[dict[int, Mark], dict[int, Mark]]:
        """The kind of change of each node of the graph before and of the graph after; a kept node has none."""
        before: dict[int, Mark] = dict.fromkeys(self.removed, "removed")
        after: dict[int, Mark] = dict.fromkeys(self.added, "added")
        for b, a in self.changed:
            before[b] = after[a] = "changed"
        for many, a in self.merged:
            after[a] = "merged"
            before |= dict.fromkeys(many, "merged")
        for b, many in self.split:
            before[b] = "split"
            after |= dict.fromkeys(many, "split")
        return before, after

    def inverse(self) -> GraphDiff:
        """Return the difference from after to before."""
        return GraphDiff(
            kept=tuple(sorted((a, b) for b, a in self.kept)),
            changed=tuple(sorted((a, b) for b, a in self.changed)),
            removed=self.added,
            added=self.removed,
            merged=tuple(sorted(((many, b) for b, many in self.split), key=lambda merge: merge[1])),
            split=tuple(sorted((a, many) for many, a in self.merged)),
        )

    def __repr__(self) -> str:
        return f"GraphDiff({', '.join(f'{kind} {n}' for kind, n in self.counts.items() if n)})"

    def _repr_html_(self) -> str:
        return html_table(
            "no change" if self.empty else counted(self.edits, "edit"),
            [{str(mark): n for mark, n in self.counts.items()}],
        )


Pairs = set[tuple[int, int]]


def diff_of_pairs(pairs: Pairs, before: Graph, after: Graph, same: Callable[[int, int], bool]) -> GraphDiff:
    """Return the diff of a mapping in which no node is in both a merge and a split; `same` decides whether a pair is kept."""
    ours: dict[int, list[int]] = {}
    theirs: dict[int, list[int]] = {}
    for b, a in sorted(pairs):
        ours.setdefault(b, []).append(a)
        theirs.setdefault(a, []).append(b)
    single = [(b, many[0]) for b, many in ours.items() if len(many) == len(theirs[many[0]]) == 1]
    kept = {pair for pair in single if same(*pair)}
    return GraphDiff(
        kept=tuple(pair for pair in single if pair in kept),
        changed=tuple(pair for pair in single if pair not in kept),
        removed=tuple(b for b in range(len(before.nodes)) if b not in ours),
        added=tuple(a for a in range(len(after.nodes)) if a not in theirs),
        merged=tuple((tuple(many), a) for a, many in sorted(theirs.items()) if len(many) > 1),
        split=tuple((b, tuple(many)) for b, many in ours.items() if len(many) > 1),
    )


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
    found = _Composition(before, after, pairs)
    return diff_of_pairs(found.pairs, before, after, found.same)


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


RUNTIME = ("relax.vm.", "relax.memory.", "relax.builtin.", "vm.builtin.")
"beginnings of the names of calls of the runtime; js/graph/basis.ts leaves them out of a picture"


def lowered(changes: GraphDiff, before: Graph, after: Graph) -> tuple[set[int], set[int]]:
    """Return the nodes before and after whose change is lowering, with the shapes and constants that only such nodes read.

    Lowering makes an operator of Relax a call of its own function, with the runtime's calls around kernels. It changes how a
    node is written, not what the program computes, so the page shows it only on request. Relay lowers nothing in its graph.
    """
    pairs = [(b, a) for b, a in changes.changed if _is_lowered(before, after, b, a)]
    return (
        _with_arguments(before, {b for b, _ in pairs}, changes.removed),
        _with_arguments(after, {a for _, a in pairs}, changes.added),
    )


def quiet_counts(changes: GraphDiff, before: Graph, after: Graph) -> dict[str, int]:
    """Return the number of entries of each mark without lowering, and of the operators that were lowered."""
    old, new = lowered(changes, before, after)
    counts: dict[str, int] = {mark: len(getattr(changes, mark)) for mark in MARKS}
    counts["lowered"] = sum(b in old for b, _ in changes.changed)
    counts["changed"] -= counts["lowered"]
    counts["removed"] -= len(old.intersection(changes.removed))
    counts["added"] -= len(new.intersection(changes.added))
    return counts


def _is_lowered(before: Graph, after: Graph, b: int, a: int) -> bool:
    old, new = before.nodes[b], after.nodes[a]
    if old.kind != "op" or new.kind != "op":
        return False
    if new.op.startswith(RUNTIME):
        return True
    if new.op == old.op:
        # a kernel that now writes into storage that the runtime gives it
        return any(after.nodes[i].op.startswith(RUNTIME) for i in after.inputs[a])
    return old.op.startswith("relax.") and not new.op.startswith("relax.") and old.type == new.type


def _with_arguments(graph: Graph, known: set[int], others: tuple[int, ...]) -> set[int]:
    """Add what the runtime does among other nodes, and what only lowered nodes read; consumers come after their producers."""
    found = set(known)
    for node in sorted(others, reverse=True):
        readers = {reader for reader, _ in graph.consumers[node]}
        argument = graph.nodes[node].kind in ("shape", "tuple", "constant") and readers and readers <= found
        if argument or graph.nodes[node].op.startswith(RUNTIME):
            found.add(node)
    return found
