"""The fewest edits between two small graphs, by looking at every mapping; and small random edits to try it on."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from workbench.graph.changes import GraphDiff
from workbench.graph.identity import ValueNumbers, label
from workbench.graph.model import Graph, GraphBuilder, Node


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


OPS = ("add", "relu", "cast")


def edited(random: Random) -> tuple[Graph, Graph]:
    """A program of three to six nodes, and what one or two small edits make of it; either may come first."""
    before = after = _program(random, random.randint(3, 6))
    for _ in range(random.randint(1, 2)):
        after = random.choice((_inserted, _deleted, _relabelled, _merged))(random, after)
    return (before, after) if random.random() < 0.5 else (after, before)


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


def _built(rows: list[tuple[int, Node, list[int]]]) -> Graph:
    """A graph of (id, node, input ids) rows."""
    builder, place = GraphBuilder("p", "relay"), {}
    for id, node, inputs in rows:
        place[id] = builder.node(node.kind, node.op, [place[i] for i in inputs], type=node.type, attrs=node.attrs)
    builder.outputs = [len(builder.nodes) - 1]
    return builder.build()


def _rows(graph: Graph) -> list[tuple[int, Node, list[int]]]:
    return [(node.id, node, list(inputs)) for node, inputs in zip(graph.nodes, graph.inputs, strict=True)]


def _ops(graph: Graph) -> list[int]:
    return [node.id for node in graph.ops]


def _inserted(random: Random, graph: Graph) -> Graph:
    """A new operator between a node and some of its users."""
    rows, at, new = _rows(graph), random.randrange(len(graph.nodes)), -1
    users = graph.consumers[at]
    for user, index in [use for use in users if random.random() < 0.7] or users:
        rows[user][2][index] = new
    node = replace(graph.nodes[at], kind="op", op=random.choice(OPS), type="t", attrs={})
    return _built([*rows[: at + 1], (new, node, [at]), *rows[at + 1 :]])


def _deleted(random: Random, graph: Graph) -> Graph:
    """An operator taken out; its users use its first input."""
    ops = _ops(graph)
    return _without(graph, at := random.choice(ops), graph.inputs[at][0]) if ops else graph


def _merged(random: Random, graph: Graph) -> Graph:
    """Two equal nodes become one, where there are two."""
    pairs = [
        (a, b)
        for a in _ops(graph)
        for b in range(a + 1, len(graph.nodes))
        if label(graph.nodes[a]) == label(graph.nodes[b]) and graph.inputs[a] == graph.inputs[b]
    ]
    if not pairs:
        return _inserted(random, graph)
    kept, gone = random.choice(pairs)
    return _without(graph, gone, kept)


def _without(graph: Graph, gone: int, instead: int) -> Graph:
    rows = [(id, node, [instead if i == gone else i for i in inputs]) for id, node, inputs in _rows(graph)]
    return _built([row for row in rows if row[0] != gone])


def _relabelled(random: Random, graph: Graph) -> Graph:
    """An operator with another attribute, operator or type."""
    ops = _ops(graph)
    if not ops:
        return graph
    at = random.choice(ops)
    change = random.choice([{"attrs": {"axis": 2}}, {"op": random.choice(OPS)}, {"type": "v"}])
    return _built([(id, replace(node, **change) if id == at else node, inputs) for id, node, inputs in _rows(graph)])
