"""The values that kernels pass to each other, and boundaries: one value between two parts of a graph.

The parts of a boundary are two kernels, or could be two instead of one. For each: the bytes that are written and read, and the
launch, that one kernel of both parts saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.analysis import legality
from workbench.analysis.fusion.forward import COMM_REDUCE, INJECTIVE
from workbench.analysis.fusion.kernels import FusedGroup, Fusion
from workbench.analysis.tensors import nbytes, size_of, tensor
from workbench.graph.model import Graph
from workbench.graph.nodes import reached

_RESHAPES = ("reshape", "expand_dims", "squeeze", "nn.batch_flatten", "contrib_reverse_reshape", "flatten")
"operators that give the same memory another shape"
SIMPLE, REDUCTION, COMPLEX = "simple", "reduction", "complex"
"kinds of a part, by its most complicated operator: at most injective, a reduction, anything else"


@dataclass
class Uses:
    """The readers of a kernel's value."""

    users: list[int] = field(default_factory=list)
    "nodes of kernels, ascending"
    leaves: bool = False
    "whether something other than a kernel needs the value, such as the caller"


def places(report: Fusion) -> dict[int, int]:
    """Return the index of the kernel of each node that is in one."""
    return {node: at for at, kernel in enumerate(report.kernels) for node in kernel.nodes}


def uses(report: Fusion) -> dict[int, Uses]:
    """Return the uses of each value that a node of a kernel computes, also through tuples and cuts."""
    graph, place = report.graph, places(report)
    results = {*graph.outputs, *(group.output for group in graph.groups if group.kind in ("function", "branch"))}
    # a node between kernels that is not in one passes on its inputs
    given: dict[int, tuple[int, ...]] = {}
    found: dict[int, Uses] = {}
    for node in graph.nodes:
        sources = tuple(dict.fromkeys(s for at in graph.inputs[node.id] for s in given.get(at, ())))
        inside = node.id in place
        for source in sources if inside else ():
            found[source].users.append(node.id)
        if inside:
            sources, found[node.id] = (node.id,), Uses()
        if node.id in results or not (inside or node.op == legality.CUT or node.kind in ("tuple", "get_item")):
            for source in sources:
                found[source].leaves = True
        given[node.id] = sources
    return found


def boundaries(report: Fusion) -> tuple[tuple[int, int], ...]:
    """Return (producer, consumer) pairs across kernels, where the second reads the first, also through tuples and cuts."""
    place = places(report)
    pairs = ((source, user) for source, value in uses(report).items() for user in value.users)
    return tuple((source, user) for source, user in pairs if place[source] != place[user])


@dataclass(frozen=True)
class Handover:
    """A value that one kernel writes to memory and others read."""

    source: int
    "the node that computes it"
    targets: tuple[int, ...]
    "the nodes of other kernels that read it, ascending"
    bytes: int
    "size of the value, counted once; 0 where its shape is not known"


def handovers(report: Fusion) -> tuple[Handover, ...]:
    """Return the values that kernels pass to other kernels, the largest first."""
    read: dict[int, list[int]] = {}
    for source, target in boundaries(report):
        read.setdefault(source, []).append(target)
    found = [
        Handover(source, tuple(sorted(targets)), nbytes(report.graph.nodes[source].type))
        for source, targets in read.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.bytes, each.source)))


@dataclass(frozen=True)
class Boundary:
    """One value between two parts, its producer and its consumer."""

    source: int
    "the node that computes the value"
    targets: tuple[int, ...]
    "the nodes of the consumer that read it, ascending"
    producer: tuple[int, ...]
    consumer: tuple[int, ...]
    "the nodes of both parts, ascending"
    joined: bool
    "whether both parts are in one kernel now"
    only_reader: bool
    "whether nothing but the consumer needs the value"
    graph: Graph = field(repr=False, compare=False)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the nodes of both parts, ascending."""
        return tuple(sorted((*self.producer, *self.consumer)))

    @property
    def type(self) -> str:
        """Return the type of the value."""
        return self.graph.nodes[self.source].type

    @cached_property
    def operators(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The operators of the producer and of the consumer, in order."""
        nodes = self.graph.nodes
        first, second = (
            tuple(nodes[n].op for n in part if nodes[n].kind == "op") for part in (self.producer, self.consumer)
        )
        return first, second

    @cached_property
    def kinds(self) -> tuple[str, str]:
        """The kinds of the producer and of the consumer: `simple`, `reduction` or `complex`."""
        return self._kind(self.producer), self._kind(self.consumer)

    @cached_property
    def is_alias(self) -> bool:
        """True if one part only gives its memory another shape, so that nothing is copied or launched at the boundary."""
        return any(operators and set(operators) <= set(_RESHAPES) for operators in self.operators)

    @cached_property
    def bytes(self) -> int | None:
        """The size of the value; None where its shape is not known."""
        return size_of(self.type)

    @property
    def read(self) -> int | None:
        """Return the bytes that one kernel would not read again."""
        return 0 if self.is_alias else self.bytes

    @property
    def written(self) -> int | None:
        """Return the bytes that one kernel would not write: none if another kernel or the caller needs the value."""
        return self.read if self.only_reader else 0

    @property
    def launches(self) -> int:
        """Return the launches that one kernel saves: none if the value has to be computed for others too."""
        return int(self.only_reader and not self.is_alias)

    @cached_property
    def working_set(self) -> int:
        """The bytes of all values that the two parts read or write, each once; unknown shapes count 0."""
        inside, nodes = set(self.nodes), self.graph.nodes
        outside = {source for node in self.nodes for source in self.graph.inputs[node]} - inside
        return sum(nbytes(nodes[n].type) for n in (*outside, self.source, self.consumer[-1]))

    @cached_property
    def has_rows(self) -> bool:
        """True if the simpler part has an outer loop, which TVM's CPU schedules spread over threads.

        These schedules take the first dimension of two, the first two of three or four, the first three of more
        (python/tvm/topi/x86/injective.py).
        """
        simpler = self.source if self.kinds[0] == SIMPLE else self.consumer[-1]
        found = tensor(self.graph.nodes[simpler].type)
        shape = () if found is None else found.shape
        outer = shape[: 0 if len(shape) < 2 else 1 if len(shape) == 2 else 2 if len(shape) < 5 else 3]
        return any(extent != 1 for extent in outer)

    @cached_property
    def refusal(self) -> str:
        """The reason why the two cannot be one kernel, or why one cannot be cut here; empty if that is possible."""
        if self.joined:
            return legality.why_not(legality.cut, self.graph, self.edges)
        return legality.why_not(legality.kernel, self.graph, self.nodes)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Return the edges that carry the value, also into tuples of the consumer."""
        inside = set(self.consumer)
        return [(self.source, user) for user, _ in self.graph.consumers[self.source] if user in inside]

    def _kind(self, part: Sequence[int]) -> str:
        ops = (self.graph.nodes[n] for n in part)
        most = max((8 if node.pattern is None else node.pattern for node in ops if node.kind == "op"), default=8)
        return SIMPLE if most <= INJECTIVE else REDUCTION if most == COMM_REDUCE else COMPLEX


def between(report: Fusion) -> tuple[Boundary, ...]:
    """Return the boundaries between the kernels of a report, in order of the values.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> [(each.source, each.operators, each.launches) for each in between(wb.explain_fusion(w))]
    [(2, (('exp', 'nn.relu'), ('nn.softmax',)), 1)]
    """
    graph, place = report.graph, places(report)
    found: list[Boundary] = []
    for source, value in uses(report).items():
        readers: dict[int, list[int]] = {}
        for user in value.users:
            if place[user] != place[source]:
                readers.setdefault(place[user], []).append(user)
        for at, targets in readers.items():
            parts = report.kernels[place[source]].nodes, report.kernels[at].nodes
            only = len(readers) == 1 and not value.leaves
            found.append(Boundary(source, tuple(targets), *parts, False, only, graph))
    return tuple(found)


def inside(report: Fusion) -> tuple[Boundary, ...]:
    """Return the values within kernels at which one cut makes two kernels of one, in order of the values.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> [each.operators for each in inside(wb.explain_fusion(w))]
    [(('exp',), ('nn.relu',))]
    """
    made = (
        _split(report.graph, kernel, node) for kernel in report.kernels for node in kernel.nodes if not kernel.given
    )
    return tuple(sorted((each for each in made if each is not None), key=lambda each: each.source))


def _split(graph: Graph, kernel: FusedGroup, source: int) -> Boundary | None:
    """Return the boundary that a cut behind a node makes in its kernel; None unless it makes two kernels with one value between."""
    if graph.nodes[source].kind != "op" or source == kernel.root:
        return None
    inside = set(kernel.nodes)
    producer = reached([source], lambda node: (s for s in graph.inputs[node] if s in inside))
    consumer = [n for n in kernel.nodes if n not in producer]
    crossing = {s for n in consumer for s in graph.inputs[n] if s in producer and graph.nodes[s].kind != "constant"}
    if crossing != {source} or not any(graph.nodes[n].kind == "op" for n in consumer):
        return None
    targets = tuple(n for n in consumer if source in graph.inputs[n])
    return Boundary(source, targets, tuple(sorted(producer)), tuple(consumer), True, True, graph)
