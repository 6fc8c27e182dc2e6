"""Kernels of two builds of one model, aligned by the nodes of the model that they compute.

Each operator has the names of its nodes in the model (`Node.source`). Kernels are joined where those of both builds compute
a common node of the model, and each connected component is a group: one to one, split, merged, or many to many. Of many to
many, kernels that compute the same nodes by the same operators are pairs where that leaves no kernel alone. A kernel whose
nodes no kernel of the other build computes is alone.

Kernels that only move data are aligned among themselves by nodes of the model that do so. One without a counterpart (a reshape
of a weight, a transpose that the other build fuses) joins the group of a kernel that holds its nodes, and does not change
the group's kind.

`kernel_graphs` draws two aligned builds, one node a kernel, and gives their difference in the marks of a pass: `kept` are kernels
that compute the same by the same operators, `changed` those that compute the same by other operators, `split` and `merged` as
the alignment has them. `removed` and `added` are kernels that only one build has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf

from workbench.analysis import cost
from workbench.analysis.units import Side
from workbench.graph.changes import GraphDiff
from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.scopes import common_path, modules
from workbench.wording import counted

ONE, SPLIT, MERGED, MANY, LEFT, RIGHT = KINDS = (
    "one to one",
    "split",
    "merged",
    "many to many",
    "only left",
    "only right",
)
"of a group: split is one kernel on the left and several on the right, merged the other way round"
Places = tuple[int, ...]
"kernels of one side, by their places in `Side.kernels`"
Pair = tuple[Places, Places]


@dataclass(frozen=True)
class Aligned:
    """Kernels of both builds that compute the same nodes of the model; places in `Side.kernels`."""

    left: Places
    right: Places
    "both are movers only in a group without other kernels"
    moves: Pair = ((), ())
    "on each side, kernels that move data for the others"
    both: tuple[str, ...] = ()
    "the nodes of the model on both sides"
    apart: tuple[str, ...] = ()
    "the nodes of one side; the other folded them into constants, left them out, or has them in another group"
    exact: bool = False
    "one kernel on one side, and each node that a side computes is on the other side too"

    @property
    def kind(self) -> str:
        """One of KINDS."""
        if not self.left or not self.right:
            return LEFT if self.left else RIGHT
        if len(self.left) > 1:
            return MERGED if len(self.right) == 1 else MANY
        return ONE if len(self.right) == 1 else SPLIT


@dataclass(frozen=True)
class Alignment:
    """The kernels of two builds in groups, in the order of the left build; those of the right build alone come last."""

    left: Side
    right: Side
    groups: tuple[Aligned, ...]

    def flops(self, kind: str) -> int:
        """Return the operations, on both sides, of the kernels in groups of one kind; unknown counts are left out."""
        return sum(self._flops(group) for group in self.groups if group.kind == kind)

    def share(self, *kinds: str) -> float:
        """Return the part of both builds' operations in groups of these kinds, of 1; 1 where the builds have none."""
        return self._part(sum(map(self.flops, kinds)))

    @property
    def exact(self) -> float:
        """The part of both builds' operations, of 1, in kernels of groups that are exact."""
        return self._part(sum(self._flops(group) for group in self.groups if group.exact))

    @property
    def unknown(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The kernels of each side whose operations are unknown."""
        sides = (self.left, self.right)
        first, second = (tuple(at for at, many in enumerate(side.flops) if many is None) for side in sides)
        return first, second

    def _part(self, flops: int) -> float:
        every = sum(map(self._flops, self.groups))
        return flops / every if every else 1.0

    def _flops(self, group: Aligned) -> int:
        pairs = ((self.left, group.left), (self.right, group.right))  # a mover has no operations
        return sum(side.flops[place] or 0 for side, places in pairs for place in places)

    def __str__(self) -> str:
        many = {kind: sum(group.kind == kind for group in self.groups) for kind in KINDS}
        parts = [
            f"{counted(number, 'group')} {kind} with {self.share(kind):.1%}" for kind, number in many.items() if number
        ]
        return f"{', '.join(parts) or 'no kernels'} of the operations"


def align(left: Graph, right: Graph) -> Alignment:
    """Align the kernels of two graphs whose nodes have sources.

    Examples
    --------
    >>> from workbench.graph.model import GraphBuilder
    >>> def built(*kernels):
    ...     builder = GraphBuilder("g", "relay")
    ...     for kernel in kernels:
    ...         group = builder.group("primitive", "+".join(kernel), None)
    ...         for name in kernel:
    ...             builder.node("op", name, group=group, source=(name,))
    ...     return builder.build()
    >>> found = align(built(["conv", "relu"], ["pool"]), built(["conv"], ["relu"], ["pool"]))
    >>> [(group.kind, group.both) for group in found.groups]
    [('split', ('conv', 'relu')), ('one to one', ('pool',))]
    """
    return _Aligning((Side(left), Side(right))).result()


class _Aligning:
    def __init__(self, sides: tuple[Side, Side]) -> None:
        self.sides = sides
        self.computed = frozenset[str]().union(*(names for side in sides for names in side.computed))

    def result(self) -> Alignment:
        ours, theirs = (_places(side, False) for side in self.sides)
        groups = self.groups(ours, theirs)
        movers = self.groups(*(_places(side, True) for side in self.sides))
        holding = [self.holding(groups, names) for names in (self.names, self.held)]
        joining: dict[Pair, tuple[list[int], list[int]]] = {group: ([], []) for group in groups}
        for at, places in ((at, places) for group in movers if not all(group) for at, places in enumerate(group)):
            for place in places:
                if near := self.nearest(at, place, holding):
                    joining[near][at].append(place)
                else:
                    groups.append(((place,), ()) if at == 0 else ((), (place,)))
        groups += filter(all, movers)
        found = [self.aligned(group, *map(tuple, joining.get(group, ((), ())))) for group in groups]
        return Alignment(*self.sides, tuple(sorted(found, key=lambda group: (not group.left, group.left, group.right))))

    def names(self, at: int, place: int) -> frozenset[str]:
        """Return the nodes that a kernel computes; of a mover, those that no kernel of either side computes."""
        side = self.sides[at]
        return side.computed[place] or side.sources[place] - self.computed

    def held(self, at: int, place: int) -> frozenset[str]:
        """Return all nodes that a kernel has operators of."""
        return self.sides[at].sources[place]

    def groups(self, ours: Places, theirs: Places) -> list[Pair]:
        """Return the groups of these kernels, which are all movers or all others."""
        return [part for component in self.components(ours, theirs) for part in self.parts(*component)]

    def components(self, ours: Places, theirs: Places) -> list[Pair]:
        """Return the connected components of kernels that are joined where kernels of both sides hold a node."""
        here, there = self.holders(0, ours, theirs), self.holders(1, ours, theirs)
        near: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        for name in here.keys() & there.keys():
            kernels = [*((0, place) for place in here[name]), *((1, place) for place in there[name])]
            # a path through them joins them as well as all their pairs
            for first, second in pairwise(kernels):
                near[first].add(second)
                near[second].add(first)
        found: list[Pair] = []
        seen: set[tuple[int, int]] = set()
        for first in [*((0, place) for place in ours), *((1, place) for place in theirs)]:
            waiting, sides = [first], ([], [])
            while waiting:
                kernel = waiting.pop()
                if kernel not in seen:
                    seen.add(kernel)
                    sides[kernel[0]].append(kernel[1])
                    waiting.extend(near[kernel])
            if any(sides):
                found.append((tuple(sorted(sides[0])), tuple(sorted(sides[1]))))
        return found

    def holders(self, at: int, ours: Places, theirs: Places) -> Mapping[str, list[int]]:
        """Return the kernels of one side that compute each node, or else those that move its data.

        The nodes are those of `names` for any of the kernels.
        """
        wanted = {
            name for other, places in enumerate((ours, theirs)) for at in places for name in self.names(other, at)
        }
        found: dict[str, list[int]] = {}
        for names in (self.held, self.names):
            found |= _by_name((ours, theirs)[at], partial(names, at))
        return {name: places for name, places in found.items() if name in wanted}

    def parts(self, ours: Places, theirs: Places) -> list[Pair]:
        """Return a component, or its pairs of one form and the components of the rest if none of those is of one side."""
        if len(ours) < 2 or len(theirs) < 2:
            return [(ours, theirs)]
        pairs = list(self.same_form(ours, theirs))
        rest = self.components(
            tuple(sorted({*ours} - {place for place, _ in pairs})),
            tuple(sorted({*theirs} - {place for _, place in pairs})),
        )
        if not all(map(all, rest)):
            return [(ours, theirs)]
        return [*(((here,), (there,)) for here, there in pairs), *rest]

    def same_form(self, ours: Places, theirs: Places) -> Iterator[tuple[int, int]]:
        """Yield the pairs of kernels of one form, in order, where both sides have equally many of that form."""
        here, there = (_by_form(side, places) for side, places in zip(self.sides, (ours, theirs), strict=True))
        for form, places in here.items():
            if len(there.get(form, ())) == len(places):
                yield from zip(places, there[form], strict=True)

    def nearest(self, at: int, mover: int, holding: Sequence[Mapping[str, list[Pair]]]) -> Pair | None:
        """Return the group with a kernel that computes a node of a mover, or else holds one; None if there is none.

        Of several, it is the one whose kernels are called next to the mover.
        """
        for by_name in holding:
            groups = {group for name in self.sides[at].sources[mover] for group in by_name.get(name, ())}
            if groups:
                return min(groups, key=lambda group: (_distance(mover, group[at]), group[at], group[1 - at]))
        return None

    def holding(self, groups: Sequence[Pair], names: Callable[[int, int], frozenset[str]]) -> Mapping[str, list[Pair]]:
        """Return the groups by the nodes of their kernels."""
        found: dict[str, list[Pair]] = defaultdict(list)
        for group in groups:
            each = [names(at, place) for at, places in enumerate(group) for place in places]
            for name in frozenset[str]().union(*each):
                found[name].append(group)
        return found

    def aligned(self, group: Pair, ours: Places, theirs: Places) -> Aligned:
        each = list(zip(self.sides, group, (ours, theirs), strict=True))
        here, there = (_union(side.sources, (*kernels, *moves)) for side, kernels, moves in each)
        computed = [_union(side.computed, kernels) for side, kernels, _ in each]
        exact = min(map(len, group)) == 1 and computed[0] <= there and computed[1] <= here
        return Aligned(*group, (ours, theirs), tuple(sorted(here & there)), tuple(sorted(here ^ there)), exact)


def _union(names: Sequence[frozenset[str]], places: Iterable[int]) -> frozenset[str]:
    return frozenset[str]().union(*(names[place] for place in places))


def _places(side: Side, mover: bool) -> Places:
    return tuple(place for place, moves in enumerate(side.movers) if moves is mover)


def _distance(place: int, places: Places) -> float:
    return min((abs(place - other) for other in places), default=inf)


def _by_name(places: Places, names: Callable[[int], frozenset[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place in places:
        for name in names(place):
            found[name].append(place)
    return found


def _by_form(side: Side, places: Places) -> Mapping[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        found[side.form(place)].append(place)
    return found


@dataclass(frozen=True)
class KernelGraphs:
    """Two graphs of kernels."""

    left: Graph
    right: Graph
    changes: GraphDiff
    nodes: tuple[Mapping[int, int], Mapping[int, int]]
    "for each graph: place of a kernel in `Side.kernels` -> its node"


def kernel_graphs(alignment: Alignment) -> KernelGraphs:
    """Return the graphs of two aligned builds. Inputs of the model are drawn where both builds have them by one name."""
    shared = _inputs(alignment.left.graph) & _inputs(alignment.right.graph)
    left, right = (_Drawing(side, shared) for side in (alignment.left, alignment.right))
    changes = _changes(alignment, left, right)
    return KernelGraphs(left.graph, right.graph, changes, (left.of, right.of))


def _inputs(graph: Graph) -> frozenset[str]:
    return frozenset(node.op for node in graph.nodes if node.kind == "param")


class _Drawing:
    """The graph of the kernels of one build."""

    def __init__(self, side: Side, shared: frozenset[str]) -> None:
        self.side = side
        self.builder = GraphBuilder(side.graph.name, side.graph.dialect)
        self.of: dict[int, int] = {}
        "place of a kernel -> its node"
        self.inputs: dict[str, int] = {}
        "name of an input -> its node"
        self.graph = self.drawn(shared)

    def ids(self, places: Places) -> Places:
        return tuple(self.of[place] for place in places)

    def drawn(self, shared: frozenset[str]) -> Graph:
        graph, kernels = self.side.graph, self.side.kernels
        kernel = {id: place for place, unit in enumerate(kernels) for id in unit.nodes}
        read: list[dict[int, None]] = [{} for _ in kernels]
        values: list[Places] = []
        "for each node of the build the drawn nodes that its value comes from"
        for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
            place = kernel.get(node.id)
            if node.kind == "param" and node.op in shared:
                self.inputs[node.op] = self.builder.node("param", node.op, type=node.type)
                values.append((self.inputs[node.op],))
            elif place is None:
                values.append(tuple(dict.fromkeys(value for id in inputs for value in values[id])))
            else:
                read[place].update(dict.fromkeys(value for id in inputs for value in values[id]))
                if node.id == kernels[place].output:
                    self.of[place] = self.kernel(place, tuple(read[place]))
                values.append((self.of[place],) if place in self.of else ())
        self.builder.outputs = list(dict.fromkeys(value for id in graph.outputs for value in values[id]))
        return self.builder.build()

    def kernel(self, place: int, inputs: Places) -> int:
        graph, unit = self.side.graph, self.side.kernels[place]
        many = Counter(
            cost.canonical(graph.nodes[id].op) for id in unit.nodes if graph.nodes[id].kind in ("op", "call")
        )
        others = many.total() - 1
        names = sorted(self.side.computed[place] or self.side.sources[place])
        attrs: dict[str, object] = {"computes": ", ".join(names)}
        if others > 0:
            attrs["operators"] = ", ".join(op if number == 1 else f"{op} x {number}" for op, number in many.items())
        if (flops := self.side.flops[place]) is not None:
            attrs["operations"] = flops
        around = [modules(name)[:-1] for name in names]
        return self.builder.node(
            "call",
            f"{unit.op(graph)} + {others}" if others > 0 else unit.op(graph),
            inputs,
            name=unit.name(graph),
            type=graph.nodes[unit.output].type,
            attrs=attrs,
            source=tuple(names),
            scope="/".join(common_path(around)),
        )


def _changes(alignment: Alignment, left: _Drawing, right: _Drawing) -> GraphDiff:
    kept = [(id, right.inputs[name]) for name, id in left.inputs.items()]
    changed: list[tuple[int, int]] = []
    merged: list[tuple[Places, int]] = []
    split: list[tuple[int, Places]] = []
    for group in alignment.groups:
        ours, theirs = left.ids(group.left), right.ids(group.right)
        if group.kind == ONE:
            (kept if _same_form(alignment, group) else changed).append((ours[0], theirs[0]))
        elif group.kind == MERGED:
            merged.append((ours, theirs[0]))
        elif group.kind == SPLIT:
            split.append((ours[0], theirs))
        elif group.kind == MANY:
            # a diff has no entry for several on both sides: all but the last of the shorter side are pairs, in order
            most = min(len(ours), len(theirs)) - 1
            changed += zip(ours[:most], theirs[:most], strict=True)
            if len(ours) >= len(theirs):
                merged.append((ours[most:], theirs[most]))
            else:
                split.append((ours[most], theirs[most:]))
    paired = [
        *kept,
        *changed,
        *((b, a) for many, a in merged for b in many),
        *((b, a) for b, many in split for a in many),
    ]
    before, after = ({pair[at] for pair in paired} for at in (0, 1))
    return GraphDiff(
        kept=tuple(sorted(kept)),
        changed=tuple(sorted(changed)),
        removed=tuple(_others(left.graph, before)),
        added=tuple(_others(right.graph, after)),
        merged=tuple(merged),
        split=tuple(split),
    )


def _same_form(alignment: Alignment, group: Aligned) -> bool:
    (ours,), (theirs,) = group.left, group.right
    return alignment.left.form(ours) == alignment.right.form(theirs)


def _others(graph: Graph, paired: set[int]) -> Iterator[int]:
    return (node.id for node in graph.nodes if node.id not in paired)
