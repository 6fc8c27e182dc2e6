"""Reduction of a matching's edits: exchange of pairs, and full search of small graphs.

Matching grows from certain pairs without backtracking, so an early pair may prevent a better one. `Exchanges` is a local
search over such pairs (Lin, Kernighan: An effective heuristic for the traveling-salesman problem, 1973, with exchanges of
depth one): only nodes that are not kept are considered, and the gain of an exchange is counted on the nodes whose inputs it
touches, so the work is in proportion to what the pass changed.

`fewest` is branch and bound (Land, Doig 1960) in topological order, so that a node's producers are placed before it. It
bounds the cost of a node by what merges and splits may still save; the caller counts the edits of a whole mapping.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache

from workbench.graph.identity import Label, ValueNumbers, contexts
from workbench.graph.model import Graph, Node

ROUNDS = 4
"Most rounds of exchanges, since one exchange may enable another."
ALIKE = 4
"Most free nodes with one label that are tried."
FAN_OUT = 200
"Nodes with more uses than this keep their pair, since their uses determine it."


class Side:
    """One of the two graphs, with the data for matching."""

    def __init__(self, graph: Graph, labels: list[Label], numbering: ValueNumbers) -> None:
        self.graph = graph
        self.labels = labels
        self.numbers = numbering.of(graph, self.labels)
        self.contexts = contexts(graph, self.numbers)
        self.partner: list[int | None] = [None] * len(graph.nodes)
        self.several: set[int] = set()
        "the nodes that several nodes of the other graph became, or came from"

    def restart(self, partner: list[int | None]) -> None:
        """Forget the matching but for a one-to-one mapping."""
        self.partner, self.several = partner, set()

    def free_users(self, id: int) -> dict[int, list[int]]:
        """Return the users of a node that have no partner yet, by the position at which they take it."""
        found: dict[int, list[int]] = defaultdict(list)
        for user, position in self.graph.consumers[id]:
            if self.partner[user] is None:
                found[position].append(user)
        return found

    def classes(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for id, number in enumerate(self.numbers):
            found[number].append(id)
        return found


class Sides:
    """Both graphs, and what makes two of their nodes a pair."""

    def __init__(self, before: Side, after: Side) -> None:
        self.before, self.after = before, after

    def comparable(self, b: int, a: int) -> bool:
        """Return whether two nodes may be one node with other attributes, type or inputs.

        They are the same operator or variants of it, two constants, or two values with the same name and
        type: Relax's LegalizeOps renames every operator and keeps the variables.
        """
        ours, theirs = self.before.graph.nodes[b], self.after.graph.nodes[a]
        if ours.kind != theirs.kind:
            return False
        if ours.op == theirs.op or ours.kind == "constant":
            return True
        return ours.kind == "op" and (namesakes(ours, theirs) or variants(ours.op, theirs.op))

    def matches(self, i: int, j: int) -> bool:
        """Return whether two inputs are the same up to the mapping: partners of each other, or equal values."""
        before, after = self.before, self.after
        return before.partner[i] == j or after.partner[j] == i or before.numbers[i] == after.numbers[j]

    def same_inputs(self, b: int, a: int) -> bool:
        ours, theirs = self.before.graph.inputs[b], self.after.graph.inputs[a]
        return len(ours) == len(theirs) and all(self.matches(i, j) for i, j in zip(ours, theirs, strict=True))

    def same(self, b: int, a: int) -> bool:
        """Return whether a pair is kept."""
        before, after = self.before, self.after
        return before.numbers[b] == after.numbers[a] or (before.labels[b] == after.labels[a] and self.same_inputs(b, a))


def namesakes(ours: Node, theirs: Node) -> bool:
    """Return whether two values have the same name and type."""
    return ours.name != "" and ours.name == theirs.name and ours.type == theirs.type


@lru_cache(maxsize=4096)
def variants(op: str, other: str) -> bool:
    """Return whether one operator's name is the other's with additional words.

    >>> variants("nn.conv2d", "nn.contrib_conv2d_NCHWc"), variants("nn.softmax", "max")
    (True, False)
    """
    few, many = sorted((_words(op), _words(other)), key=len)
    return few <= many


def _words(op: str) -> set[str]:
    return set(op.rpartition(".")[2].split("_"))


class Exchanges(Sides):
    """Exchanges of pairs of a one-to-one matching, in place, while they lower the number of edits."""

    def run(self) -> None:
        for _ in range(ROUNDS):
            # a list, because an exchange changes the candidates
            if not sum(self.exchange(b, a) for b, a in list(self.candidates())):
                return

    def kept(self, b: int) -> bool:
        a = self.before.partner[b]
        return a is not None and self.same(b, a)

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Yield pairs that may be better than the current pairs of their nodes."""
        unkept = [b for b in range(len(self.before.partner)) if not self.kept(b)]
        yield from self.between_inputs(unkept)
        yield from self.alike(unkept)

    def between_inputs(self, unkept: list[int]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of inputs of changed pairs: inputs that are not partners prevent a pair from being kept."""
        for b in unkept:
            a = self.before.partner[b]
            if a is not None:
                yield from zip(self.before.graph.inputs[b], self.after.graph.inputs[a], strict=False)

    def alike(self, unkept: list[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of nodes with one label, those with partners as inputs first."""
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
        """Pair these two, and their former partners, if that lowers the number of edits; return whether it did."""
        before, after = self.before, self.after
        if before.partner[b] == a or not self.comparable(b, a):
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
        """Return how many of these nodes of the graph before are removed or changed."""
        return sum(not self.kept(b) for b in nodes)

    def left_over(self, b: int | None, a: int | None) -> None:
        """Pair the nodes that an exchange left unpaired, if they are comparable."""
        if b is not None and a is not None and self.comparable(b, a):
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


SMALL = 12
"Most nodes of a graph that is searched fully; larger ones are only refined."
VISITS = 4000
"Most placements tried; after that, the best mapping so far is used."

Mapping = list[int | None]


def fewest(before: Side, after: Side, edits: Callable[[Mapping], int], known: int) -> Mapping | None:
    """Return the mapping (after ids by before id) with the fewest edits, if fewer than `known`; otherwise None."""
    if max(len(before.partner), len(after.partner)) > SMALL:
        return None
    search = _BranchAndBound(before, after, edits, known)
    search.place(0, 0)
    return search.found


class _BranchAndBound(Sides):
    def __init__(self, before: Side, after: Side, edits: Callable[[Mapping], int], known: int) -> None:
        super().__init__(before, after)
        self.edits = edits
        self.best = known
        self.found: Mapping | None = None
        self.image: Mapping = [None] * len(before.partner)
        self.taken = [False] * len(after.partner)
        self.visits = 0

    def place(self, b: int, cost: int) -> None:
        """Place the nodes from b on; `cost` is a lower bound of the cost of those before."""
        self.visits += 1
        left, free = len(self.image) - b, self.taken.count(False)
        if cost + max(0, free - left) >= self.best or self.visits > VISITS:
            return
        if not left:
            found = self.edits(list(self.image))
            if found < self.best:
                self.best, self.found = found, list(self.image)
            return
        choices = [a for a, taken in enumerate(self.taken) if not taken and self.comparable(b, a)]
        costs = {a: int(not self.same(b, a)) for a in choices}
        for a in sorted(choices, key=lambda a: (costs[a], a)):
            self.image[b], self.taken[a] = a, True
            self.place(b + 1, cost + costs[a])
            self.image[b], self.taken[a] = None, False
        self.place(b + 1, cost + 1)

    def matches(self, i: int, j: int) -> bool:
        """Return whether two inputs are the same, or may still become so."""
        if self.image[i] == j or self.before.numbers[i] == self.after.numbers[j]:
            return True
        return self.before.labels[i] == self.after.labels[j] and (self.image[i] is None or not self.taken[j])
