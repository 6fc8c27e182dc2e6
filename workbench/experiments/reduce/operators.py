"""The phases that remove operators, the coarsest first."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.subprograms import operators
from workbench.experiments.reduce.edits import inline, keep, replace
from workbench.experiments.reduce.search import Search
from workbench.graph.model import Graph
from workbench.wording import counted

NEAREST, FARTHEST = 2, 2
"earlier values of the same type that are tried in the place of a value"


def remove_operators(search: Search) -> None:
    """Remove operators until no single one can be removed or replaced."""
    _remove_parts(search)
    while _replace_each(search):
        _remove_each(search)


def inline_functions(search: Search) -> None:
    """Put the bodies of all functions in the place of their calls: the operators in them can be removed then."""
    if search.size.functions:
        search.offer("no functions", inline())


def inline_each_function(search: Search) -> None:
    """Put the body of each function that the symptom does not need in the place of its calls, and remove operators of it."""
    inlined = False
    # one function of the module, which may be drawn several times
    for name in dict.fromkeys(group.name for group in search.graph.groups[1:]):
        inlined |= search.offer(f"no function {name}", inline([name]))
    if inlined:
        remove_operators(search)


def halve(search: Search) -> None:
    """Keep one of three overlapping halves, again and again.

    If the operators that show the symptom are within a quarter of the program, one of the three has all of them, and it
    takes half of the time of a probe of the whole program.
    """
    shrunk = True
    while shrunk:
        nodes = operators(search.graph)
        half = (len(nodes) + 1) // 2
        starts = dict.fromkeys((0, len(nodes) - half, (len(nodes) - half) // 2))
        shrunk = len(nodes) > 1 and any(_keep(search, nodes[start : start + half]) for start in starts)


def _remove_parts(search: Search) -> None:
    """Remove runs of operators, each time half as long: ddmin on complements (doi:10.1109/32.988498)."""
    length = len(operators(search.graph)) // 2
    while length > 1:
        _remove_runs(search, length)
        length //= 2
    _remove_each(search)


def _remove_each(search: Search) -> None:
    """Remove single operators until none can be removed."""
    while _remove_runs(search, 1):
        pass


def _remove_runs(search: Search, length: int) -> bool:
    """Try to remove each run of this length, from the last to the first; return whether one was removed."""
    removed, end = False, len(operators(search.graph))
    while end > 0:
        nodes = operators(search.graph)
        start = max(0, end - length)
        left = nodes[:start] + nodes[end:]
        removed |= bool(left) and _keep(search, left)
        # the operators before `start` stay at their places
        end = min(start, len(operators(search.graph)))
    return removed


def _keep(search: Search, nodes: tuple[int, ...]) -> bool:
    total = counted(len(operators(search.graph)), "operator")
    return search.offer(f"keep {len(nodes):,} of {total}", keep(search.graph, nodes))


def _replace_each(search: Search) -> bool:
    """Try to read an earlier value in the place of each operator's; return whether one was replaced."""
    replaced, place = False, len(operators(search.graph)) - 1
    while place >= 0:
        graph = search.graph
        node = operators(graph)[place]
        for other in earlier(graph, node):
            said = f"read {_name(graph, other)} in the place of {_name(graph, node)}"
            if search.offer(said, replace(graph, [(node, other)])):
                replaced = True
                break
        place = min(place, len(operators(search.graph))) - 1
    return replaced


def earlier(graph: Graph, node: int) -> Iterator[int]:
    """Yield the values of the same type from which a node is computed: the nearest ones, then the farthest."""
    found, seen, waiting = [], {node}, [node]
    for current in waiting:
        for source in graph.inputs[current]:
            if source in seen:
                continue
            seen.add(source)
            waiting.append(source)
            if graph.nodes[source].type == graph.nodes[node].type and graph.nodes[source].kind != "constant":
                found.append(source)
    yield from dict.fromkeys([*found[-FARTHEST:], *found[:NEAREST]])


def _name(graph: Graph, node: int) -> str:
    return graph.nodes[node].name or graph.nodes[node].op
