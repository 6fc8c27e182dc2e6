"""The difference of two graphs: nodes kept, changed, removed, added, merged and split.

Two nodes are the same if they compute the same value (identity.ValueNumbers). Nodes that no longer compute the same value
are paired outwards from those that do: a neighbour in the same argument position with the same operator, or a variant of
it, is the same node with other inputs. Pairs are then exchanged where that leaves fewer edits (refine). The kind of a pair
is verified: `kept` means the same operator, attributes, type and inputs, up to the mapping itself.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise, product

from workbench.graph.changes import GraphDiff, compose, diff_of_pairs
from workbench.graph.identity import ValueNumbers, label, labels
from workbench.graph.model import Graph, HasGraph, collector_paused, graph_of
from workbench.graph.refine import Exchanges, Side, Sides, fewest

LOOK_THROUGH = 4
"A pass may put a few operators (casts, layout transforms) on an edge; pairing looks past at most this many of them."


def diff(before: Graph | HasGraph, after: Graph | HasGraph) -> GraphDiff:
    """Compare two graphs of one program. `diff(after, before)` is the inverse of `diff(before, after)`.

    Nodes of two graphs of one trace are followed from pass to pass (`workbench.graph.changes` has the rules), so the changes of
    several passes are those that the passes made.

    Parameters
    ----------
    before, after
        Graphs or Workloads.

    Raises
    ------
    WorkbenchError
        One of them is neither.

    Examples
    --------
    >>> before = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.relu(exp(%x)) }")
    >>> after = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.relu(%x) }")
    >>> wb.diff(before, after)
    GraphDiff(kept 1, changed 1, removed 1)
    """
    before, after = graph_of(before, "diff"), graph_of(after, "diff")
    followed = _followed(before, after)
    if followed is None and (back := _followed(after, before)) is not None:
        return back.inverse()
    return matched(before, after) if followed is None else followed


def nearest(graphs: Iterable[Graph], to: Graph) -> int:
    """Return the place of the graph with the fewest edits to another; the first of several."""
    found, fewest_edits = 0, None
    for place, graph in enumerate(graphs):
        edits = diff(graph, to).edits
        if fewest_edits is None or edits < fewest_edits:
            found, fewest_edits = place, edits
        if not fewest_edits:
            break
    return found


def _followed(before: Graph, after: Graph) -> GraphDiff | None:
    """Return the composition of the diffs between two graphs of one trace; None if `before` is not in the other's history."""
    history = after.history
    place = next((place for place, graph in enumerate(history) if graph is before), None)
    if place is None or len(history) == 1:
        return None
    key = diff, id(before)
    if key not in after.memory:
        if place == len(history) - 2:
            after.memory[key] = matched(before, after)
        else:
            steps = [diff(was, now) for was, now in pairwise(history[place:])]
            after.memory[key] = compose(steps, before, after)
    return after.memory[key]


@collector_paused()
def matched(before: Graph, after: Graph) -> GraphDiff:
    """Compare two graphs by themselves, without those between them."""
    if (before.inputs, before.outputs) == (after.inputs, after.outputs):
        ours, theirs = labels(before, after)
        if ours == theirs:
            # passes that only fuse or annotate change no node
            return GraphDiff(tuple((id, id) for id in range(len(ours))), (), (), (), (), ())
    # matching makes greedy choices, so both directions are computed in one of them
    if _in_order(before, after):
        return _Matching(before, after).result()
    return _Matching(after, before).result().inverse()


def _in_order(before: Graph, after: Graph) -> bool:
    """Return whether `before` is the smaller graph in a total order of graphs."""
    sizes = [(len(graph.nodes), len(graph.edges)) for graph in (before, after)]
    if sizes[0] != sizes[1]:
        return sizes[0] < sizes[1]
    for ours, theirs in zip(map(label, before.nodes), map(label, after.nodes), strict=True):
        # two labels that hold NaN differ although their text is equal
        if ours != theirs and (one := repr(ours)) != (other := repr(theirs)):
            return one < other
    return (before.inputs, before.outputs) <= (after.inputs, after.outputs)


ALL_PAIRS = 1 << 12
"the most pairs of users of which each is offered"
NEAR = 8
"places: beyond that, a user is offered with those of the other side that are so near in their order"


def candidates(ours: list[int], theirs: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs to offer of the free users of two paired nodes: a mask that each layer reads has a user in each."""
    if len(ours) * len(theirs) <= ALL_PAIRS:
        yield from product(ours, theirs)
        return
    for place, mine in enumerate(ours):
        near = place * len(theirs) // len(ours)
        yield from ((mine, other) for other in theirs[max(0, near - NEAR) : near + NEAR + 1])


_Onward = Callable[[Side, int], Iterator[int]]
"The nodes next to a node, upstream or downstream."


_Offer = tuple[int, bool, int, int]
"The cost of a pair, whether their inputs differ, and the nodes of the pair."


class _Matching(Sides):
    def __init__(self, before: Graph, after: Graph) -> None:
        numbering = ValueNumbers()
        ours, theirs = labels(before, after)
        super().__init__(Side(before, ours, numbering), Side(after, theirs, numbering))
        rest = self.match_equal_values()
        if None not in self.before.partner and None not in self.after.partner:
            return
        self.match_neighbours()
        Exchanges(self.before, self.after).run()
        self.match_many(rest)
        edits = self.result().edits
        if edits > 1:
            self.search(rest, edits)

    def match_many(self, uneven: list[int]) -> None:
        self.match_rest(uneven)
        self.match_congruent()

    def search(self, uneven: list[int], edits: int) -> None:
        """Search all mappings if both graphs are small."""

        def worth(image: list[int | None]) -> int:
            self.put(image, uneven)
            return self.result().edits

        sides = self.before, self.after
        matched = [(side.partner, side.several) for side in sides]
        better = fewest(*sides, worth, edits)
        if better is not None:
            self.put(better, uneven)
            return
        for side, (partner, several) in zip(sides, matched, strict=True):
            side.partner, side.several = partner, several

    def put(self, image: list[int | None], uneven: list[int]) -> None:
        """Restart from this one-to-one mapping."""
        self.before.restart(list(image))
        self.after.restart([None] * len(self.after.partner))
        for b, a in enumerate(image):
            if a is not None:
                self.after.partner[a] = b
        self.match_many(uneven)

    def pair(self, b: int, a: int) -> None:
        self.before.partner[b] = a
        self.after.partner[a] = b

    # -- nodes that compute the same value

    def match_equal_values(self) -> list[int]:
        """Pair nodes of equal value; return the values that one side has more nodes of."""
        after_classes = self.after.classes()
        uneven: list[int] = []
        for number, ours in self.before.classes().items():
            theirs = after_classes.get(number, [])
            left = self.pair_by_context(ours, theirs)
            if theirs and any(left) and self.before.graph.nodes[ours[0]].kind not in ("constant", "param"):
                uneven.append(number)
        return uneven

    def match_rest(self, uneven: list[int]) -> None:
        """Record merges and splits for values that one side has more nodes of, unless the rest is paired otherwise."""
        before_classes, after_classes = self.before.classes(), self.after.classes()
        for number in uneven:
            ours, theirs = before_classes[number], after_classes[number]
            pair = next(((b, a) for b in reversed(ours) for a in theirs if self.before.partner[b] == a), None)
            if pair is not None:
                for side, nodes, other in ((self.before, ours, pair[1]), (self.after, theirs, pair[0])):
                    for node in nodes:
                        if side.partner[node] is None:
                            self.join(side, node, other)

    def pair_by_context(self, ours: list[int], theirs: list[int]) -> tuple[list[int], list[int]]:
        """Pair equal values, those with equal uses first, the rest in order; return the unpaired nodes of each side."""
        by_context: dict[Hashable, list[int]] = defaultdict(list)
        for a in reversed(theirs):
            by_context[self.after.contexts[a]].append(a)
        rest: list[int] = []
        for b in ours:
            alike = by_context.get(self.before.contexts[b])
            if alike:
                self.pair(b, alike.pop())
            else:
                rest.append(b)
        free = [a for a in theirs if self.after.partner[a] is None]
        for b, a in zip(rest, free, strict=False):
            self.pair(b, a)
        return rest[len(free) :], free[len(rest) :]

    def other(self, side: Side) -> Side:
        return self.after if side is self.before else self.before

    def join(self, side: Side, extra: int, other: int) -> None:
        """Record one more node of a side that the other side's node became, or came from."""
        side.partner[extra] = other
        self.other(side).several.add(other)

    # -- nodes with changed inputs

    def match_neighbours(self) -> None:
        """Grow the mapping outwards from paired nodes, best candidates first."""
        heap: list[_Offer] = []
        for b, a in enumerate(self.before.partner):
            if a is not None:
                self.offer_around(heap, b, a)
        for b, a in zip(self.before.graph.outputs, self.after.graph.outputs, strict=False):
            self.offer(heap, b, a, LOOK_THROUGH)
        while heap:
            _, _, b, a = heapq.heappop(heap)
            if self.before.partner[b] is None and self.after.partner[a] is None:
                self.pair(b, a)
                self.offer_around(heap, b, a)

    def offer(self, heap: list[_Offer], b: int, a: int, distance: int) -> None:
        """Push a pair if its nodes are free and have the same operator: the nearest first, equal labels, equal inputs."""
        if self.before.partner[b] is not None or self.after.partner[a] is not None:
            return
        if not self.comparable(b, a):
            return
        ours, theirs = self.before.graph.nodes[b], self.after.graph.nodes[a]
        label, attrs = self.before.labels[b] != self.after.labels[a], ours.attrs != theirs.attrs
        # a variant of the operator comes after the operator itself at the same distance
        cost = 6 * distance + label + attrs + 3 * (ours.kind == "op" and ours.op != theirs.op)
        # of siblings that a pass renamed, those with the same weight belong together
        heapq.heappush(heap, (cost, not self.same_inputs(b, a), b, a))

    def offer_around(self, heap: list[_Offer], b: int, a: int) -> None:
        inputs = self.before.graph.inputs[b], self.after.graph.inputs[a]
        for mine, other in dict.fromkeys(zip(*inputs, strict=False)):
            self.offer_past(heap, mine, other, self.producers)
        ours, theirs = self.before.free_users(b), self.after.free_users(a)
        pairs = (pair for position in ours for pair in candidates(ours[position], theirs.get(position, [])))
        for mine, other in dict.fromkeys(pairs):
            self.offer_past(heap, mine, other, self.users)

    def producers(self, side: Side, id: int) -> Iterator[int]:
        yield from side.graph.inputs[id]

    def users(self, side: Side, id: int) -> Iterator[int]:
        yield from (consumer for consumer, _ in side.graph.consumers[id])

    def offer_past(self, heap: list[_Offer], b: int, a: int, onward: _Onward) -> None:
        """Offer the pair, and each node with those past unmatched nodes that the other side lacks."""
        if self.before.partner[b] is not None and self.after.partner[a] is not None:
            return
        self.offer(heap, b, a, 0)
        if self.before.graph.nodes[b].op == self.after.graph.nodes[a].op:
            return
        for distance, far in self.past(self.after, a, onward):
            self.offer(heap, b, far, distance)
        for distance, far in self.past(self.before, b, onward):
            self.offer(heap, far, a, distance)

    def past(self, side: Side, id: int, onward: _Onward) -> Iterator[tuple[int, int]]:
        """Yield a few free nodes beyond a free node, nearest first, at most LOOK_THROUGH steps away."""
        if side.partner[id] is not None:
            return
        front, seen = [id], {id}
        for distance in range(1, LOOK_THROUGH + 1):
            reached = [
                far for near in front for far in onward(side, near) if side.partner[far] is None and far not in seen
            ]
            front = list(dict.fromkeys(reached))[:8]
            seen.update(front)
            for far in front:
                yield distance, far

    # -- nodes that became equal to another

    def match_congruent(self) -> None:
        """Record a merge or split for each free node with the label and (mapped) inputs of a node on the other side."""
        for side in (self.before, self.after):
            other = self.other(side)
            known: dict[Hashable, int] = {}
            for node, inputs in enumerate(other.graph.inputs):
                known.setdefault((other.labels[node], tuple(inputs)), node)
            for node, inputs in enumerate(side.graph.inputs):
                if side.partner[node] is None and inputs:
                    found = known.get((side.labels[node], tuple(side.partner[i] for i in inputs)))
                    if found is not None:
                        self.join_or_pair(side, node, found)

    def join_or_pair(self, side: Side, node: int, found: int) -> None:
        other = self.other(side)
        first = other.partner[found]
        if first is None:
            side.partner[node], other.partner[found] = found, node
            return
        pair = (first, found) if side is self.before else (found, first)
        # a merged node is not also split: such a group has no single origin
        if side.partner[first] == found and first not in side.several and self.same(*pair):
            self.join(side, node, found)

    def result(self) -> GraphDiff:
        pairs = {(b, a) for b, a in enumerate(self.before.partner) if a is not None}
        pairs |= {(b, a) for a, b in enumerate(self.after.partner) if b is not None}
        return diff_of_pairs(pairs, self.before.graph, self.after.graph, self.same)
