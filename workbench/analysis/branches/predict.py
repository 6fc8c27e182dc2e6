"""The graph as a combiner leaves it, built without TVM: what a merge costs is read off it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.analysis.branches.recipe import Recipe, Ref
from workbench.graph.model import Graph, GraphBuilder, Group, Node

OPAQUE = 8


def has_effect(node: Node) -> bool:
    """Return whether a Relax value may be computed for an effect rather than for itself."""
    is_packed = node.pattern == OPAQUE and "called_by" not in node.attrs
    return node.kind == "call" or node.op in ("relax.print", "relax.assert_op") or is_packed


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
    tidies = any(recipe.tidies for recipe in recipes)
    # what nothing used before: an effect, or dead code, which most passes leave
    kept |= {n.id for n in graph.nodes if not graph.consumers[n.id] and (has_effect(n) or not tidies)}
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
            new = builder.copy(node, sources)
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
        place[node.id] = builder.copy(node, sources)
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
