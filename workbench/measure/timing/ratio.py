"""How two times compare: the interval of their ratio from runs that took turns. Plain numbers, no TVM.

Each round gives one run of each, taken one right after the other, so that what slows the machine down slows both; what is
looked at is the logarithm of their ratio, round by round. Its median has an interval that holds whatever the noise looks
like, from order statistics (H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1): the number of rounds below
the median is binomial. Rounds that resemble the ones before them count for less, by the autocorrelation of their signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor, inf, sqrt

import numpy as np

NEUTRAL = 0.02
"""Differences below 2 % are not told apart: where two equal programs happen to lie in memory can make half of that, and no number of
repeats in one process averages that out."""
_Z = 1.96
"95 % of a normal distribution lie within so many standard deviations"


@dataclass(frozen=True)
class Ratio:
    """Time of the first over time of the second."""

    ratio: float
    "median over the rounds"
    low: float
    high: float
    "of its 95 % interval; 0 and infinity where there are too few rounds to say"

    @property
    def answer(self) -> str:
        """Whether the second is faster: `yes`, `no` or `can't tell`."""
        if self.low > 1 + NEUTRAL:
            return "yes"
        return "no" if self.high < 1 / (1 + NEUTRAL) else "can't tell"


def compared(first: Sequence[float], second: Sequence[float]) -> Ratio:
    """The ratio of two lists of times whose entries belong together.

    >>> compared([2.0] * 10, [1.0] * 10).answer
    'yes'
    """
    apart = np.sort(differences := np.log(np.asarray(first)) - np.log(np.asarray(second)))
    middle = float(np.median(apart))
    rounds = len(apart)
    # half a step to the safe side of the normal approximation, which makes it hold for ten rounds too
    below = floor((rounds - _Z * sqrt(rounds * repetition(differences))) / 2 - 0.5)
    if below < 0:
        return Ratio(exp(middle), 0.0, inf)
    return Ratio(exp(middle), exp(apart[below]), exp(apart[rounds - 1 - below]))


def repetition(values: np.ndarray) -> float:
    """How many rounds in a row say what one would: 1 where each is independent of those before it.

    The integrated autocorrelation time of which side of the median they lie on, summed up to the first lag that shows none.
    """
    signs = np.sign(values - np.median(values))
    power = float(np.dot(signs, signs))
    total = 1.0
    for lag in range(1, len(signs) // 2):
        here = float(np.dot(signs[:-lag], signs[lag:])) / power if power else 0.0
        if here < _Z / sqrt(len(signs)) / 2:
            break
        total += 2 * here
    return total
