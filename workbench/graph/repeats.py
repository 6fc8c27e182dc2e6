"""Repeats in a sequence: stretches that are one pattern over and over."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

PERIODS = 16
"Of the distances between equal items this many, the likeliest, are tried as a period."
NEAR = 4
"Distances to this many next equal items are looked at."
MOST = 64
"Repeats looked for."
AS_GOOD = 0.9
"A shorter period is better even if it covers only so much of what the best one covers."


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
    """Stretches that repeat, heaviest first choice, none overlapping, in order.

    Parameters
    ----------
    weights
        What each item counts for.
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
        # one operator over and over is a chain, and no layer
        and len(set(items[repeat.start : repeat.start + period])) + (period == 1 and weights[repeat.start] > 1) > 1
    ]
    most = max(map(covers, candidates), default=0)
    good = [repeat for repeat in candidates if covers(repeat) >= AS_GOOD * most]
    return min(good, key=lambda repeat: (repeat.period, -covers(repeat), repeat.start), default=None)


def _periods(items: Sequence[Hashable], weights: Sequence[int], low: int, high: int) -> list[int]:
    """Distances between equal items, those that most weight speaks for first."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    votes: Counter[int] = Counter()
    for at in range(low, high):
        before = places[items[at]]
        for other in before[-NEAR:]:
            votes[at - other] += weights[at]
        before.append(at)
    return sorted(votes, key=lambda period: (-votes[period] * period, period))[:PERIODS]


def _runs(items: Sequence[Hashable], weights: Sequence[int], period: int, low: int, high: int) -> Iterator[Repeat]:
    """Longest stretches with this period, cut to whole repetitions of which each begins with the heaviest item it can."""
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
