"""Search for layers: the longest chain of post-dominators of a dataflow, and the repeats in a sequence.

The chain (the spine) contains the nodes that every path to a result passes. A node is on it if it post-dominates the one
before, so nodes that a skip connection bypasses are not on it, and an attention mask that feeds every layer removes no
node.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.graph.ancestors import Ancestors

OUTSIDE = -1
LATEST = 4
"A data input meets the longest chain at least one part in LATEST of its length before its end."
SOURCES = 64
"Most inputs and weights of the first layers whose reach in the graph is computed."


@dataclass(frozen=True)
class Spine:
    """A chain of post-dominators and, for every node, its link of the chain."""

    path: tuple[int, ...]
    "node ids, producers first"
    home: Sequence[int] | Mapping[int, int]
    "for each node, the index in `path` of the only link that it leads to, or OUTSIDE"


def spine(
    inputs: Sequence[Sequence[int]], consumers: Sequence[Sequence[int]], root: int, free: Sequence[bool]
) -> Spine:
    """Return the longest chain of post-dominators that ends at `root`, through `free` nodes only, in near-linear time.

    Parameters
    ----------
    inputs, consumers
        Ids of each node's producers and consumers; producers have smaller ids.

    Examples
    --------
    A skip connection (0 to 2) around 1, and a weight, 3:

    >>> spine([[], [0], [0, 1], [], [2, 3]], [[1, 2], [2], [4], [4], []], 4, [True] * 5)
    Spine(path=(0, 2, 4), home=(0, 1, 1, 2, 2))
    """
    uses = _uses(inputs, consumers, root, free)
    path = _path(inputs, uses, root)
    place = {node: index for index, node in enumerate(path)}
    home = [OUTSIDE] * len(inputs)
    for node in range(root, -1, -1):
        if node in place:
            home[node] = place[node]
        elif uses[node]:
            homes = {home[user] for user in uses[node]}
            home[node] = homes.pop() if len(homes) == 1 else OUTSIDE
    _hang_side_results(inputs, consumers, uses, free, home)
    return Spine(path, tuple(home))


def _uses(
    inputs: Sequence[Sequence[int]], consumers: Sequence[Sequence[int]], root: int, free: Sequence[bool]
) -> list[list[int]]:
    """Return, for each node that leads to the root, its consumers that lead there."""
    reaches = bytearray(len(inputs))
    reaches[root] = 1
    uses: list[list[int]] = [[] for _ in inputs]
    for node in range(root - 1, -1, -1):
        if free[node]:
            uses[node] = [user for user in consumers[node] if reaches[user]]
            reaches[node] = bool(uses[node])
    return uses


def _path(inputs: Sequence[Sequence[int]], uses: list[list[int]], root: int) -> tuple[int, ...]:
    """Return the path in the post-dominator tree to the root from the source that reaches most of the graph."""
    depth, parent = _tree(uses, root)

    def way(node: int) -> tuple[int, ...]:
        path = [node]
        while path[-1] != root:
            path.append(parent[path[-1]])
        return tuple(path)

    longest = way(max(depth, key=lambda id: (depth[id], -id)))
    # a weight of the first layer may be deeper in the tree than the data, but the data reaches every node that the weight does
    sources = [node for node in depth if not any(i in depth for i in inputs[node])]
    meets = _meeting(longest, parent, sources)
    near = sorted(
        (node for node in sources if LATEST * depth[meets[node]] >= len(longest)), key=lambda id: (-depth[id], id)
    )
    tried = near[:SOURCES]
    reach = _reach(uses, depth, tried)
    return way(max(tried, key=lambda id: (reach[id], depth[id], -id))) if tried else longest


def _meeting(path: tuple[int, ...], parent: dict[int, int], nodes: Iterable[int]) -> dict[int, int]:
    """Return, for each node, the node of `path` where its own path to the root meets it."""
    meets = {node: node for node in path}
    for node in nodes:
        way = [node]
        while way[-1] not in meets:
            way.append(parent[way[-1]])
        meets.update(dict.fromkeys(way, meets[way[-1]]))
    return meets


def _reach(uses: list[list[int]], nodes: Iterable[int], sources: list[int]) -> dict[int, int]:
    """Return the number of nodes that each source reaches."""
    reached_by = dict.fromkeys(nodes, 0)
    reached_by.update((node, 1 << bit) for bit, node in enumerate(sources))
    counts: Counter[int] = Counter()
    for node in sorted(reached_by):
        counts[reached_by[node]] += 1
        for user in uses[node]:
            reached_by[user] |= reached_by[node]
    return {node: sum(count for mask, count in counts.items() if mask >> bit & 1) for bit, node in enumerate(sources)}


def _tree(uses: list[list[int]], root: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return depth and parent in the post-dominator tree, for every node that leads to the root."""
    tree = Ancestors(root + 1)
    tree.add(root, tree.root)
    nodes = [root]
    for node in range(root - 1, -1, -1):
        if uses[node]:
            tree.add(node, tree.common(uses[node]))
            nodes.append(node)
    return {node: tree.depth[node] - 1 for node in nodes}, {node: tree.parent[node] for node in nodes}


def _hang_side_results(
    inputs: Sequence[Sequence[int]],
    consumers: Sequence[Sequence[int]],
    uses: list[list[int]],
    free: Sequence[bool],
    home: list[int],
) -> None:
    """Assign nodes that do not lead to the root (a layer's own results) to the last link they are computed from."""
    aside = [node for node, users in enumerate(uses) if free[node] and not users and home[node] == OUTSIDE]
    for node in aside:
        home[node] = max((home[i] for i in inputs[node]), default=OUTSIDE)
    for node in reversed(aside):
        homes = {home[user] for user in consumers[node]}
        if home[node] == OUTSIDE and len(homes) == 1:
            home[node] = homes.pop()


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


def repeats(items: Sequence[Hashable], weights: Sequence[int], least: int) -> list[Repeat]:
    """Return stretches that repeat, chosen by weight, without overlaps, in order.

    Parameters
    ----------
    weights
        The weight of each item.
    least
        The least weight of one repetition.

    Examples
    --------
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
