"""The fewest edits between two small graphs, by looking at every mapping; and small random edits to try it on."""

from __future__ import annotations

from random import Random

from random_graphs import OPS, changed

from workbench.graph.changes import GraphDiff
from workbench.graph.identity import ValueNumbers, label
from workbench.graph.model import Graph, GraphBuilder


def edits(d: GraphDiff) -> int:
    """How many nodes were changed, removed, added, or lost and gained in merges and splits."""
    extra = sum(len(many) - 1 for many, _ in d.merged) + sum(len(many) - 1 for _, many in d.split)
    return len(d.changed) + len(d.removed) + len(d.added) + extra


class Fewest:
    """Every partial mapping, merges and splits among them, of which each is worth what `edits` says of its diff.

    Nodes of one operator may be paired wherever they stand; a merge or a split needs equal labels and equal inputs.
    """

    def __init__(self, before: Graph, after: Graph) -> None:
        numbers = ValueNumbers()
        self.before, self.after = before, after
        self.labels = [label(n) for n in before.nodes], [label(n) for n in after.nodes]
        self.values = numbers.of(before, self.labels[0]), numbers.of(after, self.labels[1])
        self.image: list[int | None] = [None] * len(before.nodes)
        self.origins: list[list[int]] = [[] for _ in after.nodes]
        self.split: dict[int, int] = {}
        self.best = len(before.nodes) + len(after.nodes)

    def count(self) -> int:
        self.place(0, 0)
        return self.best

    def place(self, b: int, gone: int) -> None:
        if gone >= self.best:
            return
        if b == len(self.image):
            self.place_splits([a for a, many in enumerate(self.origins) if not many])
            return
        for a, many in enumerate(self.origins):
            if self.may_join(b, a) if many else self.comparable(b, a):
                self.image[b] = a
                many.append(b)
                self.place(b + 1, gone + (len(many) > 1))
                many.pop()
        self.image[b] = None
        self.place(b + 1, gone + 1)

    def place_splits(self, free: list[int]) -> None:
        if not free:
            self.best = min(self.best, self.worth())
            return
        a, *rest = free
        self.place_splits(rest)
        for b, first in enumerate(self.image):
            if first is not None and len(self.origins[first]) == 1 and self.may_join(b, a):
                self.split[a] = b
                self.place_splits(rest)
                del self.split[a]

    def comparable(self, b: int, a: int) -> bool:
        was, now = self.before.nodes[b], self.after.nodes[a]
        return was.kind == now.kind and (was.op == now.op or was.kind == "constant")

    def may_join(self, b: int, a: int) -> bool:
        return self.before.nodes[b].kind != "constant" and self.labels[0][b] == self.labels[1][a]

    def kept(self, b: int, a: int) -> bool:
        was, now = self.before.inputs[b], self.after.inputs[a]
        return (
            self.labels[0][b] == self.labels[1][a]
            and len(was) == len(now)
            and all(
                self.image[i] == j or self.split.get(j) == i or self.values[0][i] == self.values[1][j]
                for i, j in zip(was, now, strict=True)
            )
        )

    def worth(self) -> int:
        found = self.image.count(None)
        groups = [(b, a) for a, b in self.split.items()]
        for a, many in enumerate(self.origins):
            if len(many) == 1 and many[0] not in self.split.values():
                found += not self.kept(many[0], a)
            else:
                groups += [(b, a) for b in many]
                found += max(0, len(many) - 1) + (not many)
        return found if all(self.kept(b, a) for b, a in groups) else self.best


def edited(random: Random) -> tuple[Graph, Graph]:
    """Return a program of three to six nodes, and what one or two edits make of it; either may come first."""
    before = _program(random, random.randint(3, 6))
    pair = before, changed(random, before, 2)
    return pair if random.random() < 0.5 else pair[::-1]


def _program(random: Random, size: int) -> Graph:
    builder = GraphBuilder("p", "relay")
    for name in random.sample("xyz", random.randint(1, 2)):
        builder.node("param", name, type="t")
    if random.random() < 0.4:
        builder.node("constant", "c", type="t", attrs={"digest": random.choice("01")})
    while len(builder.nodes) < size:
        inputs = [random.randrange(len(builder.nodes)) for _ in range(random.randint(1, 2))]
        attrs = random.choice([{}, {}, {"axis": 1}])
        builder.node("op", random.choice(OPS), inputs, type=random.choice("ttu"), attrs=attrs)
    builder.outputs = [len(builder.nodes) - 1]
    return builder.build()
