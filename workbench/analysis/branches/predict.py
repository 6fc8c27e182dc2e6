"""The graph as a combiner leaves it, built without TVM: what a merge costs is read off it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.analysis.tensors import Tensor, tensor
from workbench.graph.model import Graph, GraphBuilder, Group

Ref = tuple[str, int]
"`old` and a node's id, or `new` and the place of an item in its recipe"
INJECTIVE, BROADCAST = 2, 1


@dataclass(frozen=True)
class Item:
    """A node that a combiner makes."""

    kind: str
    op: str
    inputs: tuple[Ref, ...]
    type: str
    pattern: int | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Recipe:
    """What one group of branches becomes."""

    graph: Graph
    items: list[Item] = field(default_factory=list)
    ends: dict[int, Ref] = field(default_factory=dict)
    "the last node of each branch -> what its users read instead"

    def add(self, kind: str, op: str, inputs: Iterable[Ref], type: Tensor | str, pattern: int | None = None) -> Ref:
        """Put an item down; gives its reference."""
        self.items.append(Item(kind, op, tuple(inputs), str(type), pattern))
        return ("new", len(self.items) - 1)

    def type(self, ref: Ref) -> Tensor:
        """The tensor type of a value."""
        text = self.graph.nodes[ref[1]].type if ref[0] == "old" else self.items[ref[1]].type
        found = tensor(text)
        assert found is not None, f"{text} is no tensor type"
        return found

    def tuple(self, fields: Sequence[Ref]) -> Ref:
        """A tuple of these values."""
        return self.add("tuple", "tuple", fields, f"({', '.join(str(self.type(f)) for f in fields)})")

    def concatenate(self, fields: Sequence[Ref], axis: int) -> Ref:
        """One after the other along an axis."""
        return self.add(
            "op", "concatenate", [self.tuple(fields)], joined([self.type(f) for f in fields], axis), INJECTIVE
        )

    def stack(self, fields: Sequence[Ref]) -> Ref:
        """One above the other, on a new axis in front."""
        one = self.type(fields[0])
        return self.add("op", "stack", [self.tuple(fields)], Tensor((len(fields), *one.shape), one.dtype), INJECTIVE)

    def like(self, node: int, inputs: Iterable[Ref], type: Tensor) -> Ref:
        """The operator of a node on other inputs."""
        model = self.graph.nodes[node]
        return self.add("op", model.op, inputs, type, model.pattern)

    def unstacked(self, whole: Ref, ends: Sequence[int]) -> None:
        """Split along the first axis and give each part, without that axis, to the users of an end."""
        kinds = [tensor(self.graph.nodes[end].type) for end in ends]
        ones = [Tensor((1, *kind.shape), kind.dtype) for kind in kinds if kind is not None]
        split = self.add("op", "split", [whole], f"({', '.join(map(str, ones))})", INJECTIVE)
        fields = [self.add("get_item", f".{place}", [split], kind) for place, kind in enumerate(ones)]
        for end, item in zip(ends, fields, strict=True):
            self.ends[end] = self.add("op", "squeeze", [item], self.graph.nodes[end].type, INJECTIVE)


def joined(kinds: Sequence[Tensor], axis: int) -> Tensor:
    """The type of these tensors joined along an axis."""
    shape = list(kinds[0].shape)
    shape[axis] = sum(d for d in (kind.shape[axis] for kind in kinds) if isinstance(d, int))
    return Tensor(tuple(shape), kinds[0].dtype)


class Circular(ValueError):
    """A branch needs what its siblings make together: TVM's substitution never ends on it."""


def combined(graph: Graph, recipes: Sequence[Recipe]) -> Graph:
    """The graph after these recipes; what nothing uses any more is gone.

    Raises
    ------
    Circular
        A value would need itself.
    """
    ends: dict[int, tuple[int, Ref]] = {
        end: (r, ref) for r, recipe in enumerate(recipes) for end, ref in recipe.ends.items()
    }

    def resolved(recipe: int, ref: Ref) -> tuple[int, Ref]:
        """Where a reference leads: the end of a branch leads to what replaces it."""
        while ref[0] == "old" and ref[1] in ends:
            recipe, ref = ends[ref[1]]
        return (recipe if ref[0] == "new" else -1), ref

    def inputs(key: tuple[int, Ref]) -> list[tuple[int, Ref]]:
        recipe, (kind, place) = key
        if kind == "old":
            return [resolved(-1, ("old", source)) for source in graph.inputs[place]]
        return [resolved(recipe, ref) for ref in recipes[recipe].items[place].inputs]

    kept = {*graph.outputs, *(g.output for g in graph.groups if g.output is not None)}
    kept |= {node.id for node in graph.nodes if node.kind == "param"}
    starts = [resolved(-1, ("old", id)) for id in sorted(kept)]
    order = _producers_first(starts, inputs)
    return _built(graph, recipes, order, inputs, resolved)


def circular(graph: Graph, recipes: Sequence[Recipe]) -> set[int]:
    """The recipes that cannot be used with those before them, by their place."""
    try:
        combined(graph, recipes)
    except Circular:
        pass
    else:
        return set()
    used: list[Recipe] = []
    bad: set[int] = set()
    for place, recipe in enumerate(recipes):
        try:
            combined(graph, [*used, recipe])
            used.append(recipe)
        except Circular:
            bad.add(place)
    return bad


def _producers_first(starts: list[Any], inputs: Callable[[Any], list[Any]]) -> list[Any]:
    order: dict[Any, None] = {}
    open: set[Any] = set()
    stack = [(start, False) for start in reversed(starts)]
    while stack:
        key, finished = stack.pop()
        if finished:
            open.discard(key)
            order[key] = None
        elif key in open:
            raise Circular
        elif key not in order:
            open.add(key)
            stack.append((key, True))
            # a producer that is open is an ancestor in this walk: it waits for itself
            stack.extend((producer, False) for producer in reversed(inputs(key)))
    return list(order)


def _built(graph: Graph, recipes: Sequence[Recipe], order: list[Any], inputs: Any, resolved: Any) -> Graph:
    builder = GraphBuilder(graph.name, graph.dialect)
    builder.groups = list(graph.groups)
    place: dict[Any, int] = {}
    for key in order:
        recipe, (kind, id) = key
        sources = [place[source] for source in inputs(key)]
        if kind == "old":
            node = graph.nodes[id]
            new = builder.node(
                node.kind,
                node.op,
                sources,
                type=node.type,
                attrs=node.attrs,
                group=node.group,
                name=node.name,
                pattern=node.pattern,
                held=node.held,
            )
        else:
            item = recipes[recipe].items[id]
            group = graph.nodes[next(iter(recipes[recipe].ends))].group
            new = builder.node(
                item.kind, item.op, sources, type=item.type, attrs=item.attrs, group=group, pattern=item.pattern
            )
        place[key] = new
    builder.outputs = [place[resolved(-1, ("old", id))] for id in graph.outputs]
    new = {id: place[key] for id in range(len(graph.nodes)) if (key := resolved(-1, ("old", id))) in place}
    builder.groups = moved(graph, new)
    return builder.build()


def folded(graph: Graph, weights: Iterable[int] = ()) -> Graph:
    """The graph with everything that constants alone decide made a constant, as FoldConstant leaves it.

    Parameters
    ----------
    weights
        Parameters that are constants once they are bound.
    """
    constant = {node.id for node in graph.nodes if node.kind == "constant"} | set(weights)
    for node in graph.nodes:
        sources = graph.inputs[node.id]
        if node.kind in ("op", "tuple", "get_item") and sources and all(s in constant for s in sources):
            constant.add(node.id)
    returned = {*graph.outputs, *(g.output for g in graph.groups)}
    used = [id in returned or any(u not in constant for u, _ in graph.consumers[id]) for id in range(len(graph.nodes))]
    builder = GraphBuilder(graph.name, graph.dialect)
    builder.groups = list(graph.groups)
    place: dict[int, int] = {}
    for node in graph.nodes:
        if node.id in constant and node.kind != "param":
            if used[node.id]:
                place[node.id] = builder.node("constant", node.op, type=node.type, attrs=node.attrs, group=node.group)
            continue
        sources = [place[s] for s in graph.inputs[node.id]]
        place[node.id] = builder.node(
            node.kind,
            node.op,
            sources,
            type=node.type,
            attrs=node.attrs,
            group=node.group,
            name=node.name,
            pattern=node.pattern,
            held=node.held,
        )
    builder.outputs = [place[id] for id in graph.outputs]
    builder.groups = moved(graph, place)
    return builder.build()


def moved(graph: Graph, place: Mapping[int, int]) -> list[Group]:
    """The groups, with the new ids of their arguments and results."""
    return [
        replace(
            group,
            output=None if group.output is None else place.get(group.output),
            inputs=tuple(place[source] for source in group.inputs if source in place),
        )
        for group in graph.groups
    ]
