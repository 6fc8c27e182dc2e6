"""Kernels of two builds of one model, aligned by the nodes of the model that they compute.

Each operator has the names of its nodes in the model (`Node.source`), and a kernel has those of its operators. Kernels are
joined where those of both builds share a node of the model, and each connected component is a group: one to one, split,
merged, or many to many. Of many to many, kernels that compute the same nodes by the same operators are pairs where that leaves
no kernel alone. A kernel whose nodes are computed by no kernel of the other build, or that computes none (a change of
layout), is alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.analysis import cost
from workbench.analysis.units import Unit, units
from workbench.graph.model import Graph
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


@dataclass(frozen=True)
class Side:
    """The kernels of one build."""

    graph: Graph = field(repr=False)

    @cached_property
    def kernels(self) -> Sequence[Unit]:
        """The kernels, in the order in which they are called."""
        return units(self.graph)

    @cached_property
    def sources(self) -> Sequence[frozenset[str]]:
        """For each kernel the nodes of the model that it computes."""
        nodes = self.graph.nodes
        return [frozenset(name for id in unit.nodes for name in nodes[id].source) for unit in self.kernels]

    @cached_property
    def flops(self) -> Sequence[int | None]:
        """For each kernel its floating-point operations; None if unknown."""
        return [cost.flops(self.graph, unit.nodes) for unit in self.kernels]

    def form(self, place: int) -> Hashable:
        """Return a key that is equal for kernels that compute the same nodes by the same operators."""
        unit, nodes = self.kernels[place], self.graph.nodes
        ops = sorted(cost.canonical(nodes[id].op) for id in unit.nodes if nodes[id].kind in ("op", "call"))
        shapes = tuple(cost.shapes(nodes[unit.output].type))
        return self.sources[place], tuple(ops), shapes


@dataclass(frozen=True)
class Aligned:
    """Kernels of both builds that compute the same nodes of the model; places in `Side.kernels`."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    both: tuple[str, ...] = ()
    "the nodes of the model that both sides compute"
    apart: tuple[str, ...] = ()
    "the nodes that one side computes; the other folded them into constants, or left them out"

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
        every = sum(self._flops(group) for group in self.groups)
        return sum(map(self.flops, kinds)) / every if every else 1.0

    @property
    def exact(self) -> float:
        """The part of both builds' operations, of 1, in kernels that are aligned one to one."""
        return self.share(ONE)

    @property
    def unknown(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The kernels of each side whose operations are unknown."""
        sides = (self.left, self.right)
        first, second = (tuple(at for at, many in enumerate(side.flops) if many is None) for side in sides)
        return first, second

    def _flops(self, group: Aligned) -> int:
        pairs = ((self.left, group.left), (self.right, group.right))
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
    sides = Side(left), Side(right)
    everything = range(len(sides[0].kernels)), range(len(sides[1].kernels))
    groups = [
        _aligned(*sides, *part) for component in _components(*sides, *everything) for part in _parts(*sides, *component)
    ]
    return Alignment(*sides, tuple(sorted(groups, key=lambda group: (not group.left, group.left, group.right))))


def _aligned(left: Side, right: Side, ours: Places, theirs: Places) -> Aligned:
    here = frozenset[str]().union(*(left.sources[place] for place in ours))
    there = frozenset[str]().union(*(right.sources[place] for place in theirs))
    return Aligned(ours, theirs, tuple(sorted(here & there)), tuple(sorted(here ^ there)))


def _parts(left: Side, right: Side, ours: Places, theirs: Places) -> list[tuple[Places, Places]]:
    """Return a component, or its pairs of one form and the components of the rest where each has kernels of both sides."""
    if len(ours) < 2 or len(theirs) < 2:
        return [(ours, theirs)]
    pairs = list(_same_form(left, right, ours, theirs))
    done = {place for place, _ in pairs}, {place for _, place in pairs}
    rest = list(_components(left, right, sorted({*ours} - done[0]), sorted({*theirs} - done[1])))
    if not all(map(all, rest)):
        return [(ours, theirs)]
    return [*(((here,), (there,)) for here, there in pairs), *rest]


def _same_form(left: Side, right: Side, ours: Places, theirs: Places) -> Iterator[tuple[int, int]]:
    """Yield the pairs of kernels of one form, in order, where both sides have equally many of that form."""
    here, there = _by_form(left, ours), _by_form(right, theirs)
    for form, places in here.items():
        if len(there.get(form, ())) == len(places):
            yield from zip(places, there[form], strict=True)


def _by_form(side: Side, places: Places) -> Mapping[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        found[side.form(place)].append(place)
    return found


def _components(left: Side, right: Side, ours: Iterable[int], theirs: Iterable[int]) -> Iterator[tuple[Places, Places]]:
    """Yield the connected components of kernels that are joined where kernels of both sides share a source."""
    computing: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for at, (side, places) in enumerate(((left, ours), (right, theirs))):
        for place in places:
            for name in side.sources[place]:
                computing[name][at].append(place)
    shared = {name: places for name, places in computing.items() if all(places)}
    seen: set[tuple[int, int]] = set()
    for first in [*((0, place) for place in ours), *((1, place) for place in theirs)]:
        found, near = [list[int](), list[int]()], [first]
        while near:
            at, place = near.pop()
            if (at, place) in seen:
                continue
            seen.add((at, place))
            found[at].append(place)
            for name in (left, right)[at].sources[place]:
                # a source is followed once, from the first of its kernels
                near += [(other, each) for other, places in enumerate(shared.pop(name, ())) for each in places]
        if any(found):
            yield tuple(sorted(found[0])), tuple(sorted(found[1]))
