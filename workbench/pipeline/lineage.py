"""`t.lineage`: the origin of a node, the nodes that it became, and the kernel that it ended in; and the imported model's nodes.

A trace goes through distinct states; the diff of two neighbours pairs their nodes (`step.Images`). Importers leave their sources, the
nodes of the imported model, on the first graph. A later state keeps those that a pass kept as names or spans. The passes drop most of
them, Relay's almost all, so a node without has the sources of the nodes that it came from. A node that a pass made for itself, such as a
change of layout, has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from workbench.errors import WorkbenchError
from workbench.graph.diff import diff, nearest
from workbench.graph.model import Graph, Node
from workbench.graph.nodes import reached
from workbench.pipeline.step import EXACT, STRUCTURAL, SURE, Images, State, Steps
from workbench.terminal import visible


@dataclass(frozen=True)
class Link:
    """A pair of nodes before and after a step that are the same, or of which one came from the other."""

    transition: int
    "place in `trace.transitions`"
    before: int
    after: int
    sure: str
    """exact: the same operator, attributes, type and inputs. structural: the diff pairs them, though one of these changed, or
    several became one. span: they have the same source. place: the one is in the place of the other"""


@dataclass(frozen=True)
class Lineage:
    """One node, followed through a whole trace."""

    trace: Steps
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
        return self.trace.states

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels it ended in, from the last state with kernels; an operator alone is a kernel of its own.

        Empty if the trace makes no kernels, or the node was removed before.
        """
        for state, ids in zip(reversed(self.states), reversed(self.places), strict=True):
            graph = state.graph
            if any(group.kind in ("primitive", "external") for group in graph.groups):
                known = ((id, graph.kernel_of(id)) for id in ids if graph.nodes[id].kind in ("op", "call"))
                names = (graph.nodes[id].op if group is None else graph.groups[group].name for id, group in known)
                return tuple(dict.fromkeys(names))
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


def _node_name(graph: Graph, id: int) -> str:
    node = graph.nodes[id]
    return f"{node.op} ({node.name})" if node.name and node.name != node.op else node.op


def lineage(trace: Steps, state: State, node: int) -> Lineage:
    """Follow a node of one of the trace's states backward and forward. Raises WorkbenchError: the trace has no such state or node."""
    steps = trace.transitions
    states = trace.states
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


Sources = Sequence[tuple[str, ...]]
"for each node of a graph"
_VALUES = ("param", "constant")
"kinds of nodes that compute nothing"


def sourced(trace: Steps, state: State | None = None) -> Graph:
    """Return the graph of a state, by default the last one, with the sources of its nodes."""
    place = trace.states.index(trace.end if state is None else state)
    return _with_sources(trace.states[place].graph, _followed(trace, place))


def sourced_kernels(trace: Steps, kernels: Graph) -> Graph:
    """Return the graph of `wb.kernels` with the sources of its nodes, given `wb.trace_build` of the same build.

    The graph is followed from the state of the trace that is nearest to it, which mostly is the same program.
    """
    states = trace.states
    place = len(states) - 1 - nearest((state.graph for state in reversed(states)), kernels)
    before = states[place].graph
    changes = diff(before, kernels)
    backward, forward = Images(kernels, before, changes.inverse()), Images(before, kernels, changes)
    return _with_sources(kernels, _next(kernels, backward, forward, _followed(trace, place)))


def _with_sources(graph: Graph, sources: Sources) -> Graph:
    nodes = (replace(node, source=source) for node, source in zip(graph.nodes, sources, strict=True))
    return replace(graph, nodes=tuple(nodes))


def _followed(trace: Steps, place: int) -> Sources:
    found: Sources = [node.source for node in trace.start.graph.nodes]
    for transition in trace.transitions[:place]:
        found = _next(transition.after.graph, transition.backward, transition.forward, found)
    return found


def _next(graph: Graph, backward: Images, forward: Images, before: Sources) -> Sources:
    """Return the sources of the nodes of a graph, given those of the graph before it."""
    found = [_source(node, backward, before) for node in graph.nodes]
    left = {name for names in found for name in names}
    replaced: dict[int, list[str]] = {}
    for id, names in enumerate(before):
        if lost := [name for name in names if name not in left]:
            for image in _replacements(id, forward):
                if not found[image] and graph.nodes[image].kind not in _VALUES:
                    replaced.setdefault(image, []).extend(lost)
    return [tuple(dict.fromkeys(replaced.get(id, names))) for id, names in enumerate(found)]


def _replacements(id: int, forward: Images) -> set[int]:
    """Return the nodes in the place of a removed one, or new ones that its users read, through any of their arguments.

    ForwardFoldScaleAxis moves a factor from a product's data to its weights.
    """
    images = {image for image, _ in forward.of(id)}
    if images:
        return images

    def new(node: int) -> list[int]:
        return [source for source in forward.theirs.inputs[node] if source in forward.new]

    users = (image for user, _ in forward.ours.consumers[id] for image in forward.mapping.get(user, ()))
    return reached((source for image in users for source in new(image)), new)


def _source(node: Node, backward: Images, before: Sources) -> tuple[str, ...]:
    if node.kind in _VALUES:
        return ()
    came_from = backward.of(node.id)
    merged = len(came_from) > 1 and all(sure in (EXACT, STRUCTURAL) for _, sure in came_from)
    if node.source and not merged:
        return node.source
    return tuple(dict.fromkeys((*node.source, *(name for id, _ in came_from for name in before[id]))))
