"""`t.lineage`: the origin of a node, the nodes that it became, and the kernel that it ended in.

A trace goes through distinct states; the diff of two neighbours pairs their nodes. A node without a partner in the diff is
paired by its source span, and without a span with the node in its place: the argument of the nodes that used it. Each link
has one of these kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.graph.changes import GraphDiff
from workbench.graph.model import Graph
from workbench.terminal import visible

if TYPE_CHECKING:
    from workbench.pipeline.step import State, Step
    from workbench.pipeline.trace import Trace

EXACT, STRUCTURAL, SPAN, PLACE = SURE = ("exact", "structural", "span", "place")
"certainty of a link, the surest first"


@dataclass(frozen=True)
class Link:
    """A pair of nodes before and after a step that are the same, or of which one came from the other."""

    transition: int
    "place in `transitions(trace)`"
    before: int
    after: int
    sure: str
    """exact: the same operator, attributes, type and inputs. structural: the diff pairs them, though one of these changed, or
    several became one. span: they have the same source. place: the one is in the place of the other"""


@dataclass(frozen=True)
class Transition:
    """Two neighbouring states of a trace."""

    step: int
    "place in `trace.steps` of the innermost step that made the second from the first"
    before: State
    after: State

    @property
    def diff(self) -> GraphDiff:
        """The changes."""
        return self.before.diff(self.after)

    @cached_property
    def forward(self) -> Images:
        return Images(self.before.graph, self.after.graph, self.diff)

    @cached_property
    def backward(self) -> Images:
        return Images(self.after.graph, self.before.graph, self.diff.inverse())


def transitions(trace: Trace) -> tuple[Transition, ...]:
    """Return the transitions between the distinct states of a trace in order, including those of nested passes."""
    found: list[Transition] = []
    state = trace.start
    for place in _as_they_ended(trace.steps):
        step = trace.steps[place]
        if step.state_after is not state:
            found.append(Transition(place, state, step.state_after))
            state = step.state_after
    return tuple(found)


def _as_they_ended(steps: Sequence[Step]) -> Iterable[int]:
    """Return the places of the steps in the order in which they ended: a pass ends after the passes that it runs."""
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
    "the requested state: 0 is the trace's start, n the state after transition n - 1"
    places: tuple[tuple[int, ...], ...]
    "for each state the nodes that are the node, came from it, or became it; empty if there is none"
    links: tuple[Link, ...]

    @property
    def origins(self) -> tuple[int, ...]:
        """The nodes of the trace's start that it came from; empty if a pass made it."""
        return self.places[0]

    @property
    def ends(self) -> tuple[int, ...]:
        """The nodes of the trace's last state that it became; empty if it was removed."""
        return self.places[-1]

    @property
    def states(self) -> tuple[State, ...]:
        """The states of `places`."""
        return (self.trace.start, *(transition.after for transition in self.trace.transitions))

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels it ended in, from the last state with kernels; an operator alone is a kernel of its own.

        Empty if the trace makes no kernels, or the node was removed before.
        """
        for state, ids in zip(reversed(self.states), reversed(self.places), strict=True):
            graph = state.graph
            if any(group.kind in ("primitive", "external") for group in graph.groups):
                return tuple(dict.fromkeys(_kernel(graph, id) for id in ids if graph.nodes[id].kind in ("op", "call")))
        return ()

    @property
    def sure(self) -> str:
        """The certainty of the least sure link; `exact` if there is none."""
        return max((link.sure for link in self.links), key=SURE.index, default=EXACT)

    def __str__(self) -> str:
        graph = self.states[self.here].graph
        lines = [", ".join(_node_name(graph, id) for id in self.places[self.here])]
        for place, transition in enumerate(self.trace.transitions):
            links = [link for link in self.links if link.transition == place and link.sure != EXACT]
            if not links:
                continue
            before, after = transition.before.graph, transition.after.graph
            was = ", ".join(dict.fromkeys(_node_name(before, link.before) for link in links))
            became = ", ".join(dict.fromkeys(_node_name(after, link.after) for link in links))
            least = max((link.sure for link in links), key=SURE.index)
            lines.append(f"  {self.trace.steps[transition.step].name}: {was} -> {became} ({least})")
        return visible("\n".join([*lines, *(f"  in kernel {name}" for name in self.kernels)]))


def _kernel(graph: Graph, id: int) -> str:
    group = graph.kernel_of(id)
    return graph.nodes[id].op if group is None else graph.groups[group].name


def _node_name(graph: Graph, id: int) -> str:
    node = graph.nodes[id]
    return f"{node.op} ({node.name})" if node.name and node.name != node.op else node.op


def lineage(trace: Trace, state: State, node: int) -> Lineage:
    """Follow a node of one of the trace's states backward and forward.

    Raises
    ------
    WorkbenchError
        The state is not of this trace, or has no such node.
    """
    steps = trace.transitions
    states = (trace.start, *(step.after for step in steps))
    if state not in states:
        raise WorkbenchError("this graph is not a state of the trace; name a step of it")
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


class Images:
    """A map from the nodes of one graph to the nodes of the other that are the same or replace them."""

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
        """Return the nodes on the other side, each with its certainty."""
        if id not in self.memory:
            self.memory[id] = tuple(self._candidates(id))
        return self.memory[id]

    def _candidates(self, id: int) -> Iterable[tuple[int, str]]:
        if id in self.mapping:
            return ((other, EXACT if id in self.kept else STRUCTURAL) for other in self.mapping[id])
        same_source = self.by_span.get(self.ours.nodes[id].span, [])
        if same_source:
            return ((other, SPAN) for other in same_source)
        return ((other, PLACE) for other in sorted(self._region(id)))

    @cached_property
    def _heads(self) -> dict[int, frozenset[int]]:
        """For each node without a partner, the nodes that its users read instead. Users come later, so they are done first."""
        found: dict[int, frozenset[int]] = {}
        for id in reversed(range(len(self.ours.nodes))):
            if id in self.mapping:
                continue
            heads: set[int] = set()
            for user, position in self.ours.consumers[id]:
                if user in self.mapping:
                    heads.update(self._arguments(self.mapping[user], position))
                # skip a user that was removed too, within one kernel: beyond it, any node could be downstream
                elif self.ours.kernel_of(user) == self.ours.kernel_of(id):
                    heads.update(self._within(head, user, position) for head in found[user])
            if id in self.ours.outputs and len(self.ours.outputs) == len(self.theirs.outputs):
                heads.add(self.theirs.outputs[self.ours.outputs.index(id)])
            found[id] = frozenset(heads)
        return found

    def _arguments(self, users: Iterable[int], position: int) -> Iterable[int]:
        return (self.theirs.inputs[user][position] for user in users if position < len(self.theirs.inputs[user]))

    def _within(self, head: int, user: int, position: int) -> int:
        """Return the node in the user's place, or, if it is an operator of the user's form, its argument at that position."""
        inputs = self.theirs.inputs[head]
        if len(inputs) == len(self.ours.inputs[user]) and inputs[position] in self.new:
            return inputs[position]
        return head

    def _region(self, id: int) -> set[int]:
        """Return the heads and the new nodes upstream of them, up to the images of the node's own inputs."""
        mapped = {other for source in self.ours.inputs[id] for other in self.mapping.get(source, ())}
        looked_past = {other for source in self.ours.inputs[id] for other in self._heads.get(source, ())}
        found, waiting = set(self._heads[id]), [*self._heads[id] & self.new]
        while waiting:
            for source in self.theirs.inputs[waiting.pop()]:
                fresh = source in self.new and source not in found and source not in looked_past
                if fresh and self.theirs.nodes[source].kind not in ("param", "constant"):
                    found.add(source)
                    waiting.append(source)
        # a removed node is not the value that it read, though its users now read that value
        found -= mapped
        return found - looked_past or found
