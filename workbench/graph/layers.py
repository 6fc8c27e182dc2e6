"""Layers of a model, found from the graph's structure alone: repeated stretches of the dataflow's spine.

The spine contains the nodes that every path to a result passes. A node is on it if it post-dominates the one before, so nodes
that a skip connection bypasses are not on it, and an attention mask that feeds every layer removes no node.

Links of the spine are compared by the set of their operators, so a residual block with a convolution on its shortcut is a
block like the others, and a few changed attributes change no border. Layers are computed, never saved, and a diff ignores
them. Where the importer gave paths, those are the layers (workbench.graph.scopes).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from os.path import commonprefix

from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.graph.dominance import OUTSIDE, Spine, spine
from workbench.graph.model import Graph
from workbench.graph.scopes import Scope, Scopes, carried, function_of, named_scopes, parts, settled, with_scopes

LEAST = 4
"least number of operators in a layer; fewer are readable without a box"
WORTH = 16
"least number of operators in all layers of one chain; fewer are readable without boxes"
CHAINS = 4
"Most chains in one function: a decoder, then the encoder that feeds all of it, and so on."
ALIKE = 0.7
"Least part of their operators that an irregular stretch at an end must share with a layer to be a layer."
COMPUTING = ("op", "call", "if", "match")
_NUMBER = re.compile(r"(?<=[^\d.])\d+(?=_|$)")
"the number that Relax appends to functions made of an operator: `@conv2d3`"
PERIODS = 16
"Distances between equal items that are tried as a period, the likeliest first."
NEAR = 4
"Next equal items to which a distance is computed."
MOST = 64
"Most repeats that are returned."
AS_GOOD = 0.9
"A shorter period is better if it covers at least this fraction of the best one's weight."


@dataclass(frozen=True)
class Repeat:
    """A stretch `start` to `end` of a sequence that repeats every `period` items."""

    start: int
    end: int
    period: int

    def parts(self) -> list[tuple[int, int]]:
        """(start, end) of each repetition."""
        return [(at, at + self.period) for at in range(self.start, self.end, self.period)]


@dataclass(frozen=True)
class _Chain:
    """Consecutive layers of one kind."""

    links: tuple[tuple[int, int], ...]
    "from and to: places on the spine, for each layer"
    spine: Spine


def layers(graph: Graph) -> Scopes:
    """Return the importer's scopes, otherwise the layers that repeat; none where the graph has scopes as groups.

    Passes drop the importer's paths, so a graph that passes made has the layers of the trace's first graph.
    """
    if layers in graph.memory:
        return graph.memory[layers]
    before: Graph | None = None
    # one after the other, because each needs those of the graph before it
    for each in graph.history:
        if layers not in each.memory:
            each.memory[layers] = (
                _layers(each) if before is None else carried(layers(before), before, each, diff(before, each))
            )
        before = each
    return graph.memory[layers]


def layered(graph: Graph) -> Graph:
    """Return the graph with its layers as groups of kind `scope`. For drawing."""
    if layered not in graph.memory:
        graph.memory[layered] = with_scopes(graph, layers(graph))
    return graph.memory[layered]


def _layers(graph: Graph) -> Scopes:
    if any(group.kind == "scope" for group in graph.groups):
        return Scopes((), (None,) * len(graph.nodes))
    return named_scopes(graph) or repeated_layers(graph)


def unnumbered(op: str) -> str:
    """Return the name of an operator without the number that makes it unique in its module.

    >>> unnumbered("conv2d3"), unnumbered("nn.conv2d"), unnumbered("fused_add1_relu")
    ('conv2d', 'nn.conv2d', 'fused_add_relu')
    """
    return _NUMBER.sub("", op)


def layered_pair(before: Graph, after: Graph, changes: GraphDiff) -> tuple[Graph, Graph]:
    """Return both graphs with the same layers around their common nodes, so that a node stays in its box."""
    if before.history[0] is after.history[0] or any(
        g.kind == "scope" for graph in (before, after) for g in graph.groups
    ):
        return layered(before), layered(after)
    if layers(before).scopes:
        return layered(before), with_scopes(after, carried(layers(before), before, after, changes))
    return with_scopes(before, carried(layers(after), after, before, changes.inverse())), layered(after)


def repeated_layers(graph: Graph) -> Scopes:
    """Return the repeated layers of each function, in near-linear time; without repeats, parts of a long function."""
    consumers = [[user for user, _ in uses] for uses in graph.consumers]
    home: list[int | None] = [None] * len(graph.nodes)
    scopes: list[Scope] = []
    for function, nodes in _functions(graph).items():
        rounds = list(_chains(graph, consumers, nodes, _root(graph, function, nodes)))
        first = len(scopes)
        # a chain that is found later feeds the chains before it
        for chain in (chain for chains in reversed(rounds) for chain in chains):
            _add(graph, chain, scopes, home, nodes)
        _name(graph, nodes, scopes, home, first)
        if len(scopes) == first:
            part_of = parts(graph, nodes)
            scopes += [Scope(f"part {number}") for number in range(len(set(part_of.values())))]
            for id, part in part_of.items():
                home[id] = first + part
    return settled(graph, Scopes(tuple(scopes), tuple(home)))


def _functions(graph: Graph) -> dict[int | None, list[int]]:
    """Return the nodes of each top-level function."""
    found: dict[int | None, list[int]] = {}
    for id, function in enumerate(function_of(graph)):
        found.setdefault(function, []).append(id)
    return found


def _root(graph: Graph, function: int | None, nodes: list[int]) -> int:
    """Return the main result of a function: the deepest of several results."""
    inside = set(nodes)
    output = None if function is None else graph.groups[function].output
    results = [id for id in ([output] if output is not None else graph.outputs) if id in inside] or [nodes[-1]]
    depth = _depths(graph, inside)
    while True:
        root = max(results, key=lambda id: (depth[id], -id))
        results = [id for id in graph.inputs[root] if id in inside]
        if graph.nodes[root].kind != "tuple" or not results:
            return root


def _depths(graph: Graph, inside: set[int]) -> dict[int, int]:
    depth: dict[int, int] = {}
    for id in sorted(inside):
        depth[id] = 1 + max((depth[i] for i in graph.inputs[id] if i in inside), default=0)
    return depth


def _chains(graph: Graph, consumers: Sequence[Sequence[int]], nodes: list[int], root: int) -> Iterator[list[_Chain]]:
    # in the function's own numbers: a graph may have thousands of functions
    own = {id: place for place, id in enumerate(nodes)}
    inputs, users = ([[own[i] for i in of[id] if i in own] for id in nodes] for of in (graph.inputs, consumers))
    rest = set(nodes)
    for _ in range(CHAINS):
        local = spine(inputs, users, own[root], [id in rest for id in nodes])
        found = Spine(tuple(nodes[place] for place in local.path), dict(zip(nodes, local.home, strict=True)))
        yield list(_repeating(graph, found, nodes))
        rest = {id for id in rest if found.home[id] == OUTSIDE}
        depth = _depths(graph, rest)
        root = max(depth, key=lambda id: (depth[id], -id), default=root)
        if depth.get(root, 0) < 2 * LEAST:
            return


def _repeating(graph: Graph, found: Spine, nodes: list[int]) -> Iterator[_Chain]:
    ops: list[Counter[str]] = [Counter() for _ in found.path]
    for id in nodes:
        at = found.home[id]
        if at != OUTSIDE and graph.nodes[id].kind in COMPUTING:
            ops[at][unnumbered(graph.nodes[id].op)] += 1
    # links that compute nothing (a field of a tuple) belong to the link before them
    starts = [at for at, counts in enumerate(ops) if counts]
    ends = [*starts[1:], len(ops)]
    items, weights = [frozenset(ops[at]) for at in starts], [ops[at].total() for at in starts]
    for links in _with_odd_ends(
        [ops[at] for at in starts], list(_joined(items, weights, repeats(items, weights, LEAST)))
    ):
        if sum(sum(weights[low:high]) for low, high in links) >= WORTH:
            yield _Chain(tuple((starts[low], ends[high - 1]) for low, high in links), found)


def _joined(
    items: Sequence[frozenset[str]], weights: list[int], found: list[Repeat]
) -> Iterator[list[tuple[int, int]]]:
    """Return the parts of each repeat; two repeats of one kind are joined across one irregular layer between them."""
    links: list[tuple[int, int]] = []
    kind: Counter[frozenset[str]] = Counter()
    for repeat in found:
        this = Counter(items[repeat.start : repeat.start + repeat.period])
        if links and this == kind:
            gap, size = sum(weights[links[-1][1] : repeat.start]), sum(weights[slice(*links[-1])])
            if not gap or size <= 2 * gap <= 3 * size:
                links += [(links[-1][1], repeat.start)] * bool(gap) + repeat.parts()
                continue
        if links:
            yield links
        links, kind = repeat.parts(), this
    if links:
        yield links


def _with_odd_ends(ops: list[Counter[str]], chains: list[list[tuple[int, int]]]) -> Iterator[list[tuple[int, int]]]:
    """Yield each chain with a first and last layer that nearly match: these often have a few operators more or less."""
    low = 0
    for place, links in enumerate(chains):
        high = chains[place + 1][0][0] if place + 1 < len(chains) else len(ops)
        start, end = links[0][0], links[-1][1]
        first = _alike(ops[start : links[0][1]], [ops[at] for at in range(start - 1, low - 1, -1)])
        last = _alike(ops[start : links[0][1]], [ops[at] for at in range(end, high)])
        yield [(start - first, start)] * bool(first) + links + [(end, end + last)] * bool(last)
        low = end + last


def _alike(layer: list[Counter[str]], beside: list[Counter[str]]) -> int:
    """Return the number of links next to a layer that together resemble it most; 0 if none do."""
    pattern, taken = sum(layer, Counter()), Counter[str]()
    best, found = ALIKE, 0
    for count, ops in enumerate(beside, 1):
        taken += ops
        if taken.total() > 2 * pattern.total():
            break
        alike = (pattern & taken).total() / (pattern | taken).total()
        if alike > best:
            best, found = alike, count
    return found


def _add(graph: Graph, chain: _Chain, scopes: list[Scope], home: list[int | None], nodes: list[int]) -> None:
    """Add the layers of a chain, grouped in stages where the type of their results changes."""
    path, layer_of = chain.spine.path, {}
    results = [graph.nodes[path[high - 1]].type for _, high in chain.links]
    stages = [len(list(same)) for _, same in groupby(results)]
    staged = 1 < len(stages) <= len(results) / 2
    stage_ends = [sum(stages[: i + 1]) for i in range(len(stages))]
    stage: int | None = None
    for number, (low, high) in enumerate(chain.links):
        if staged and number in (0, *stage_ends):
            stage = len(scopes)
            scopes.append(Scope("stage"))
        layer_of.update(dict.fromkeys(range(low, high), len(scopes)))
        scopes.append(Scope("layer", stage))
    for id in nodes:
        found = layer_of.get(chain.spine.home[id])
        if found is not None:
            home[id] = found


def _name(graph: Graph, nodes: list[int], scopes: list[Scope], home: list[int | None], first: int) -> None:
    """Number the scopes of a function; layers whose parameters share a numbered prefix are named after it."""
    own: dict[int, list[str]] = {}
    for node in (graph.nodes[id] for id in nodes):
        at = home[node.id]
        if node.kind == "param" and at is not None and at >= first:
            own.setdefault(at, []).append(node.op)
    numbered = [at for at in range(first, len(scopes)) if scopes[at].name == "layer"]
    prefixes = [_prefix(own.get(at, [])) for at in numbered]
    told = all(prefixes) and len(set(prefixes)) == len(prefixes)
    for number, at in enumerate(numbered):
        scopes[at] = Scope(prefixes[number] if told else f"layer {number}", scopes[at].parent)
    stages = [at for at in range(first, len(scopes)) if scopes[at].name == "stage"]
    for number, at in enumerate(stages):
        scopes[at] = Scope(f"stage {number}")


def _prefix(names: list[str]) -> str:
    """Return the path that several parameters of one layer share, up to a number.

    >>> _prefix(["layers.3.attention.weight", "layers.3.attention.bias"]), _prefix(["a", "b"])
    ('layers.3', '')
    """
    found = re.match(r"(.*\d)[._/]", commonprefix(names)) if len(names) > 1 else None  # noqa: RUF071  names are not paths
    return found.group(1) if found else ""


def repeats(items: Sequence[Hashable], weights: Sequence[int], least: int) -> list[Repeat]:
    """Return stretches that repeat, chosen by weight, without overlaps, in order; `least` is the least weight of one repetition.

    >>> repeats("-abcabcabc-", [1] * 11, 3)
    [Repeat(start=1, end=10, period=3)]
    """
    found: list[Repeat] = []
    stack = [(0, len(items))]
    while stack and len(found) < MOST:
        low, high = stack.pop()
        best = _best(items, weights, least, low, high)
        if best is not None:
            found.append(best)
            stack += [(low, best.start), (best.end, high)]
    return sorted(found, key=lambda repeat: repeat.start)


def _best(items: Sequence[Hashable], weights: Sequence[int], least: int, low: int, high: int) -> Repeat | None:
    total = [0]
    for weight in weights[low:high]:
        total.append(total[-1] + weight)

    def covers(repeat: Repeat) -> int:
        return total[repeat.end - low] - total[repeat.start - low]

    candidates = [
        repeat
        for period in _periods(items, weights, low, high)
        for repeat in _runs(items, weights, period, low, high)
        if covers(repeat) * period >= least * (repeat.end - repeat.start)
        # one operator repeated is a chain and not a layer
        and len(set(items[repeat.start : repeat.start + period])) + (period == 1 and weights[repeat.start] > 1) > 1
    ]
    most = max(map(covers, candidates), default=0)
    good = [repeat for repeat in candidates if covers(repeat) >= AS_GOOD * most]
    return min(good, key=lambda repeat: (repeat.period, -covers(repeat), repeat.start), default=None)


def _periods(items: Sequence[Hashable], weights: Sequence[int], low: int, high: int) -> list[int]:
    """Return distances between equal items, the one with most weight first."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    votes: Counter[int] = Counter()
    for at in range(low, high):
        before = places[items[at]]
        for other in before[-NEAR:]:
            votes[at - other] += weights[at]
        before.append(at)
    return sorted(votes, key=lambda period: (-votes[period] * period, period))[:PERIODS]


def _runs(items: Sequence[Hashable], weights: Sequence[int], period: int, low: int, high: int) -> Iterator[Repeat]:
    """Yield the longest stretches with this period, as whole repetitions that begin with the heaviest item possible."""
    start = low
    for at in range(low, high - period + 1):
        if at < high - period and items[at] == items[at + period]:
            continue
        length = at + period - start
        whole = length - length % period
        if whole >= 2 * period:
            first = max(range(start, start + length - whole + 1), key=lambda place: (weights[place], -place))
            yield Repeat(first, first + whole, period)
        start = at + 1
