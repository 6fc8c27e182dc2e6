"""Fewer edits for a matching: pairs are exchanged where that makes more nodes kept than it loses.

Matching grows from what is certain and never looks back, so an early pair may stand in the way of a better one. This is
a local search over such pairs (Lin, Kernighan: An effective heuristic for the traveling-salesman problem, 1973, with
exchanges of depth one): only nodes that are not kept are looked at, and the gain of an exchange is counted on the
nodes whose inputs it touches, so the work is in proportion to what the pass changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Protocol

from workbench.graph.identity import Label
from workbench.graph.model import Graph, Node

ROUNDS = 4
"An exchange may make another one worth while; chains of more than this many are not followed."
ALIKE = 4
"Of many free nodes with one label this many are tried."
FAN_OUT = 200
"Nodes used more often than this stay as they are paired: their uses have fixed them already."


class Side(Protocol):
    """One of the two graphs in a matching."""

    graph: Graph
    labels: list[Label]
    numbers: list[int]
    partner: list[int | None]


def refine(before: Side, after: Side) -> None:
    """Exchange pairs of a one-to-one matching in place while that lowers the number of edits."""
    search = _Search(before, after)
    for _ in range(ROUNDS):
        # a list, because an exchange changes what there is to look at
        if not sum(search.exchange(b, a) for b, a in list(search.candidates())):
            return


def comparable(before: Side, after: Side, b: int, a: int) -> bool:
    """Whether two nodes may be one node with other attributes, type or inputs.

    That is one operator or a variant of it, two constants, or two values that the program calls by one name and that are
    of one type: Relax's LegalizeOps renames every operator and keeps the variables.
    """
    ours, theirs = before.graph.nodes[b], after.graph.nodes[a]
    if ours.kind != theirs.kind:
        return False
    if ours.op == theirs.op or ours.kind == "constant":
        return True
    return ours.kind == "op" and (namesakes(ours, theirs) or variants(ours.op, theirs.op))


def namesakes(ours: Node, theirs: Node) -> bool:
    """Whether two values bear one name, and have one type."""
    return ours.name != "" and ours.name == theirs.name and ours.type == theirs.type


@lru_cache(maxsize=4096)
def variants(op: str, other: str) -> bool:
    """Whether one operator's name is the other's and more words.

    >>> variants("nn.conv2d", "nn.contrib_conv2d_NCHWc"), variants("nn.softmax", "max")
    (True, False)
    """
    few, many = sorted((_words(op), _words(other)), key=len)
    return few <= many


def _words(op: str) -> set[str]:
    return set(op.rpartition(".")[2].split("_"))


def same_inputs(before: Side, after: Side, b: int, a: int) -> bool:
    """Whether the inputs are the same, up to the mapping: partners of each other, or equal values."""
    ours, theirs = before.graph.inputs[b], after.graph.inputs[a]
    return len(ours) == len(theirs) and all(
        before.partner[i] == j or after.partner[j] == i or before.numbers[i] == after.numbers[j]
        for i, j in zip(ours, theirs, strict=True)
    )


class _Search:
    def __init__(self, before: Side, after: Side) -> None:
        self.before = before
        self.after = after

    def kept(self, b: int) -> bool:
        a = self.before.partner[b]
        return (
            a is not None
            and self.before.labels[b] == self.after.labels[a]
            and same_inputs(self.before, self.after, b, a)
        )

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Pairs that might be better than what their nodes have now."""
        unkept = [b for b in range(len(self.before.partner)) if not self.kept(b)]
        yield from self.between_inputs(unkept)
        yield from self.alike(unkept)

    def between_inputs(self, unkept: list[int]) -> Iterator[tuple[int, int]]:
        """What keeps a changed pair from being kept: inputs in one position that are not partners."""
        for b in unkept:
            a = self.before.partner[b]
            if a is not None:
                yield from zip(self.before.graph.inputs[b], self.after.graph.inputs[a], strict=False)

    def alike(self, unkept: list[int]) -> Iterator[tuple[int, int]]:
        """Nodes with one label, those with partners as inputs first."""
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for a, b in enumerate(self.after.partner):
            if b is None or not self.kept(b):
                waiting[self.after.labels[a], self.after.graph.inputs[a]].append(a)
                waiting[self.after.labels[a]].append(a)
        for b in unkept:
            label = self.before.labels[b]
            mapped = tuple(self.before.partner[i] for i in self.before.graph.inputs[b])
            for a in (*waiting.get((label, mapped), [])[:ALIKE], *waiting.get(label, [])[:ALIKE]):
                yield b, a

    def exchange(self, b: int, a: int) -> bool:
        """Pair these two, and what they were paired with, if that lowers the number of edits; whether it did."""
        before, after = self.before, self.after
        if before.partner[b] == a or not comparable(before, after, b, a):
            return False
        old_a, old_b = before.partner[b], after.partner[a]
        touched = {b, *self.users(b)} if old_b is None else {b, old_b, *self.users(b), *self.users(old_b)}
        if len(touched) > FAN_OUT:
            return False
        was = self.edits(touched) + (old_b is None)
        self.set(b, a)
        self.left_over(old_b, old_a)
        lone = old_a is not None and after.partner[old_a] is None
        if self.edits(touched) + lone < was:
            return True
        self.set(b, old_a)
        self.set(old_b, a)
        if old_a is not None:
            after.partner[old_a] = b
        after.partner[a] = old_b
        return False

    def users(self, b: int) -> Iterator[int]:
        return (user for user, _ in self.before.graph.consumers[b])

    def edits(self, nodes: set[int]) -> int:
        """How many of these nodes of the graph before are removed or changed."""
        return sum(not self.kept(b) for b in nodes)

    def left_over(self, b: int | None, a: int | None) -> None:
        """Pair what an exchange set free, if the two can be one node."""
        if b is not None and a is not None and comparable(self.before, self.after, b, a):
            self.set(b, a)
            return
        self.set(b, None)
        if a is not None:
            self.after.partner[a] = None

    def set(self, b: int | None, a: int | None) -> None:
        if b is not None:
            self.before.partner[b] = a
            if a is not None:
                self.after.partner[a] = b
