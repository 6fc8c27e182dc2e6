"""The graph of a state of a trace, each node with the nodes of the imported model that it computes.

Importers leave the sources on the first graph. A later state keeps those that a pass kept as names or spans. The passes
drop most of them, Relay's almost all, so a node without has the sources of the nodes that it came from, by the lineage
from each state to the next. A node that a pass made for itself, such as a change of layout, has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.graph.diff import diff
from workbench.graph.model import Graph, Node
from workbench.pipeline.lineage import EXACT, STRUCTURAL, Images
from workbench.pipeline.step import State
from workbench.pipeline.trace import Trace

Sources = Sequence[tuple[str, ...]]
"for each node of a graph"
_VALUES = ("param", "constant")
"kinds of nodes that compute nothing"


def sourced(trace: Trace, state: State | None = None) -> Graph:
    """Return the graph of a state, by default the last one, with the sources of its nodes.

    Raises
    ------
    ValueError
        The trace has no such state.
    """
    graphs = [trace.start.graph, *(transition.after.graph for transition in trace.transitions)]
    states = [trace.start, *(transition.after for transition in trace.transitions)]
    place = states.index(trace.end if state is None else state)
    return _with_sources(graphs[place], _followed(trace, place))


def sourced_kernels(trace: Trace, kernels: Graph) -> Graph:
    """Return the graph of `wb.kernels` with the sources of its nodes, given `wb.trace_build` of the same build.

    The graph is followed from the state of the trace that is nearest to it, which mostly is the same program.
    """
    states = [trace.start, *(transition.after for transition in trace.transitions)]
    nearest, fewest = 0, None
    for place, state in reversed([*enumerate(states)]):
        edits = diff(state.graph, kernels).edits
        if fewest is None or edits < fewest:
            nearest, fewest = place, edits
        if not fewest:
            break
    before = states[nearest].graph
    changes = diff(before, kernels)
    backward, forward = Images(kernels, before, changes.inverse()), Images(before, kernels, changes)
    return _with_sources(kernels, _next(kernels, backward, forward, _followed(trace, nearest)))


def _with_sources(graph: Graph, sources: Sources) -> Graph:
    nodes = (replace(node, source=source) for node, source in zip(graph.nodes, sources, strict=True))
    return replace(graph, nodes=tuple(nodes))


def _followed(trace: Trace, place: int) -> Sources:
    """Return the sources of the state in this place."""
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
    waiting = [image for user, _ in forward.ours.consumers[id] for image in forward.mapping.get(user, ())]
    while waiting:
        read = {source for source in forward.theirs.inputs[waiting.pop()] if source in forward.new} - images
        images |= read
        waiting.extend(read)
    return images


def _source(node: Node, backward: Images, before: Sources) -> tuple[str, ...]:
    if node.kind in _VALUES:
        return ()
    came_from = backward.of(node.id)
    merged = len(came_from) > 1 and all(sure in (EXACT, STRUCTURAL) for _, sure in came_from)
    if node.source and not merged:
        return node.source
    return tuple(dict.fromkeys((*node.source, *(name for id, _ in came_from for name in before[id]))))
