"""`t.lineage`: where a node came from, what it became, and in which kernel it ended.

A trace goes through distinct states; between two neighbours the diff says which node is which. Where the diff knows no
partner for a node, its source span may, and where there is none, what stands in its place: at the arguments of those that
used it. Each link says which of these it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.graph.diff import GraphDiff, diff
from workbench.graph.model import Graph
from workbench.terminal import visible

if TYPE_CHECKING:
    from workbench.pipeline.step import State, Step
    from workbench.pipeline.trace import Trace

EXACT, STRUCTURAL, SPAN, PLACE = SURE = ("exact", "structural", "span", "place")
"how sure a link is, the surest first"


@dataclass(frozen=True)
class Link:
    """One node before a step and one after it that are the same, or of which one came from the other."""

    transition: int
    "place in `transitions(trace)`"
    before: int
    after: int
    sure: str
    """exact: the same operator, attributes, type and inputs. structural: the diff pairs them, though one of these changed, or
    several became one. span: they name the same source. place: the one stands where the other stood"""


@dataclass(frozen=True)
class Transition:
    """Two neighbouring states of a trace, and the innermost step that made the second of the first."""

    step: int
    "place in `trace.steps`"
    before: State
    after: State
    origin: Step

    @cached_property
    def diff(self) -> GraphDiff:
        """What changed; the step's own diff where the step did nothing else."""
        if self.origin.state_before is self.before and self.origin.state_after is self.after:
            return self.origin.diff
        return diff(self.before.graph, self.after.graph)

    @cached_property
    def forward(self) -> _Images:
        return _Images(self.before.graph, self.after.graph, self.diff)

    @cached_property
    def backward(self) -> _Images:
        return _Images(self.after.graph, self.before.graph, self.diff.inverse())


def transitions(trace: Trace) -> tuple[Transition, ...]:
    """The distinct states of a trace in the order in which they arose, nested passes' too."""
    found: list[Transition] = []
    state = trace.start
    for place in _as_they_ended(trace.steps):
        step = trace.steps[place]
        if step.state_after is not state:
            found.append(Transition(place, state, step.state_after, step))
            state = step.state_after
    return tuple(found)


def _as_they_ended(steps: Sequence[Step]) -> Iterable[int]:
    """Places of the steps in the order in which they ended: a pass ends after the passes that it runs."""
    open: list[int] = []
    for place, step in enumerate(steps):
        while open and steps[open[-1]].depth >= step.depth:
            yield open.pop()
        open.append(place)
    yield from reversed(open)


@dataclass(frozen=True)
class Lineage:
    """One node, followed through a whole trace."""

    trace: Trace
    here: int
    "the state that was asked about: 0 is the trace's start, n the state after transition n - 1"
    places: tuple[tuple[int, ...], ...]
    "for each state the nodes that are it, came from it, or became it; none where it isn't there"
    links: tuple[Link, ...]

    @property
    def origins(self) -> tuple[int, ...]:
        """The nodes of the trace's start that it came from; none if a pass made it."""
        return self.places[0]

    @property
    def ends(self) -> tuple[int, ...]:
        """The nodes of the trace's last state that it became; none if it is gone."""
        return self.places[-1]

    @property
    def states(self) -> tuple[State, ...]:
        """The states that `places` is about."""
        return (self.trace.start, *(transition.after for transition in self.trace.transitions))

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels it ended in, as the last state with kernels in it shows them; an operator alone is its own.

        Empty if the trace makes no kernels, or nothing of the node is left by then.
        """
        for state, ids in zip(reversed(self.states), reversed(self.places), strict=True):
            graph = state.graph
            if any(group.kind in ("primitive", "external") for group in graph.groups):
                return tuple(dict.fromkeys(_kernel(graph, id) for id in ids if graph.nodes[id].kind in ("op", "call")))
        return ()

    @property
    def sure(self) -> str:
        """How sure the least sure link is; `exact` if there is none."""
        return max((link.sure for link in self.links), key=SURE.index, default=EXACT)

    def __str__(self) -> str:
        graph = self.states[self.here].graph
        lines = [", ".join(_named(graph, id) for id in self.places[self.here])]
        for place, transition in enumerate(self.trace.transitions):
            links = [link for link in self.links if link.transition == place and link.sure != EXACT]
            if not links:
                continue
            before, after = transition.before.graph, transition.after.graph
            was = ", ".join(dict.fromkeys(_named(before, link.before) for link in links))
            became = ", ".join(dict.fromkeys(_named(after, link.after) for link in links))
            least = max((link.sure for link in links), key=SURE.index)
            lines.append(f"  {self.trace.steps[transition.step].name}: {was} -> {became} ({least})")
        return visible("\n".join([*lines, *(f"  in kernel {name}" for name in self.kernels)]))


def _kernel(graph: Graph, id: int) -> str:
    group = graph.kernel_of(id)
    return graph.nodes[id].op if group is None else graph.groups[group].name


def _named(graph: Graph, id: int) -> str:
    node = graph.nodes[id]
    return f"{node.op} ({node.name})" if node.name and node.name != node.op else node.op


def lineage(trace: Trace, state: State, node: int) -> Lineage:
    """Follow a node of one of the trace's states both ways.

    Raises
    ------
    WorkbenchError
        The state is not of this trace, or has no such node.
    """
    steps = trace.transitions
    states = (trace.start, *(step.after for step in steps))
    if state not in states:
        raise WorkbenchError("this graph is no state of the trace; name a step of it")
    here = states.index(state)
    if not 0 <= node < len(state.graph.nodes):
        raise WorkbenchError(f"there is no node {node} here; the ids go from 0 to {len(state.graph.nodes) - 1}")
    places: list[tuple[int, ...]] = [()] * len(states)
    places[here] = (node,)
    links: list[Link] = []
    for place in range(here, len(steps)):
        found = [(id, *image) for id in places[place] for image in steps[place].forward.of(id)]
        links += [Link(place, id, other, sure) for id, other, sure in found]
        places[place + 1] = tuple(sorted({other for _, other, _ in found}))
    for place in reversed(range(here)):
        found = [(id, *image) for id in places[place + 1] for image in steps[place].backward.of(id)]
        links += [Link(place, other, id, sure) for id, other, sure in found]
        places[place] = tuple(sorted({other for _, other, _ in found}))
    return Lineage(trace, here, tuple(places), tuple(sorted(links, key=lambda link: (link.transition, link.before))))


class _Images:
    """From the nodes of one graph to the nodes of the other that are they, or stand for them."""

    def __init__(self, ours: Graph, theirs: Graph, between: GraphDiff) -> None:
        self.ours = ours
        self.theirs = theirs
        self.mapping = between.mapping
        self.kept = {before for before, _ in between.kept}
        self.new = frozenset(between.added)
        self.memory: dict[int, tuple[tuple[int, str], ...]] = {}
        self.by_span: dict[str, list[int]] = {}
        for id in between.added:
            if theirs.nodes[id].span:
                self.by_span.setdefault(theirs.nodes[id].span, []).append(id)

    def of(self, id: int) -> tuple[tuple[int, str], ...]:
        """The nodes on the other side, each with how sure it is."""
        if id not in self.memory:
            self.memory[id] = tuple(self._found(id))
        return self.memory[id]

    def _found(self, id: int) -> Iterable[tuple[int, str]]:
        if id in self.mapping:
            return ((other, EXACT if id in self.kept else STRUCTURAL) for other in self.mapping[id])
        same_source = self.by_span.get(self.ours.nodes[id].span, [])
        if same_source:
            return ((other, SPAN) for other in same_source)
        return ((other, PLACE) for other in sorted(self._region(id)))

    @cached_property
    def _heads(self) -> dict[int, frozenset[int]]:
        """For each node that has no partner: what its users take in its place. Users come later, so they are known first."""
        found: dict[int, frozenset[int]] = {}
        for id in reversed(range(len(self.ours.nodes))):
            if id in self.mapping:
                continue
            heads: set[int] = set()
            for user, position in self.ours.consumers[id]:
                if user in self.mapping:
                    heads.update(self._arguments(self.mapping[user], position))
                # a user that is gone too is looked past, within one kernel: beyond it, anything stands downstream
                elif self.ours.kernel_of(user) == self.ours.kernel_of(id):
                    heads.update(self._within(head, user, position) for head in found[user])
            if id in self.ours.outputs and len(self.ours.outputs) == len(self.theirs.outputs):
                heads.add(self.theirs.outputs[self.ours.outputs.index(id)])
            found[id] = frozenset(heads)
        return found

    def _arguments(self, users: Iterable[int], position: int) -> Iterable[int]:
        return (self.theirs.inputs[user][position] for user in users if position < len(self.theirs.inputs[user]))

    def _within(self, head: int, user: int, position: int) -> int:
        """What stands in the user's place, or, if that is an operator of the user's form, what it reads where the user read."""
        inputs = self.theirs.inputs[head]
        if len(inputs) == len(self.ours.inputs[user]) and inputs[position] in self.new:
            return inputs[position]
        return head

    def _region(self, id: int) -> set[int]:
        """The heads, and what is new upstream of them as far as what the node's own inputs became."""
        mapped = {other for source in self.ours.inputs[id] for other in self.mapping.get(source, ())}
        looked_past = {other for source in self.ours.inputs[id] for other in self._heads.get(source, ())}
        found, waiting = set(self._heads[id]), [*self._heads[id] & self.new]
        while waiting:
            for source in self.theirs.inputs[waiting.pop()]:
                if source in self.new - found - looked_past and self.theirs.nodes[source].kind not in (
                    "param",
                    "constant",
                ):
                    found.add(source)
                    waiting.append(source)
        # a node that was taken out is not the value that it read, though its users read that now
        found -= mapped
        return found - looked_past or found
