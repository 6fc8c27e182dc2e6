"""The bandwidth of this machine's memory by the size of the working set, from the caches of a core to the main memory."""

from __future__ import annotations

import time
from bisect import bisect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import exp, log

import numpy as np

from workbench.wording import counted
from workbench.worker.host import cores

SIZES = tuple(1 << bits for bits in range(14, 28, 2))
"bytes of the working sets: 16 KiB to 64 MiB"
REPEATS = 7
SECONDS = 0.004
"of a repeat, if one pass over the arrays takes less"


@dataclass(frozen=True)
class Spread:
    """A measured value, with the lowest and the highest of its measurements."""

    low: float
    middle: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Return the median with the extremes."""
        return Spread(min(values), float(np.median(values)), max(values))


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second, read and written together, at several sizes of the working set."""

    sizes: tuple[int, ...]
    "bytes of the arrays, ascending"
    rates: tuple[Spread, ...]
    method: str
    "a description of the measurement"

    def at(self, size: float) -> Spread:
        """Return the rates for a working set of that many bytes; beyond the ends those of the nearest size.

        >>> rates = (Spread(1.0, 1.0, 2.0), Spread(4.0, 4.0, 8.0))
        >>> Bandwidth((100, 10_000), rates, "").at(1000)
        Spread(low=2.0, middle=2.0, high=4.0)
        """
        upper = bisect(self.sizes, size)
        if upper in (0, len(self.sizes)):
            return self.rates[0 if upper == 0 else -1]
        first, second = self.sizes[upper - 1], self.sizes[upper]
        part = log(size / first) / log(second / first)
        return _between(self.rates[upper - 1], self.rates[upper], part)


@cache
def bandwidth(threads: int | None = None) -> Bandwidth:
    """Measure the bandwidth of this machine's memory, once in a process; takes under half a second.

    Parameters
    ----------
    threads
        Threads that read and write, each a part of the arrays; one for each core by default.

    Examples
    --------
    >>> found = wb.bandwidth(1)
    >>> found.at(1 << 20).middle > 0
    True
    """
    count = threads or cores()
    with ThreadPoolExecutor(count) as pool:
        rates = tuple(_rate(pool, count, size) for size in SIZES)
    method = (
        f"bandwidth through numpy {np.__version__}: maximum of two arrays of float32 into one of them, by {counted(count, 'thread')}; "
        f"median of {REPEATS}"
    )
    return Bandwidth(SIZES, rates, method)


def _between(first: Spread, second: Spread, part: float) -> Spread:
    def mean(a: float, b: float) -> float:
        return exp((1 - part) * log(a) + part * log(b))

    return Spread(mean(first.low, second.low), mean(first.middle, second.middle), mean(first.high, second.high))


def _rate(pool: ThreadPoolExecutor, threads: int, size: int) -> Spread:
    """Return the bytes per second at one size; each thread has two arrays."""
    length = max(1, size // (2 * threads * 4))
    arrays = [(np.ones(length, np.float32), np.ones(length, np.float32)) for _ in range(threads)]

    def seconds(times: int) -> float:
        started = time.perf_counter()
        list(pool.map(lambda pair: _passes(pair[0], pair[1], times), arrays))
        return time.perf_counter() - started

    seconds(1)
    times = max(1, round(SECONDS / (seconds(16) / 16)))
    seconds(times)
    # two arrays are read, one is written
    moved = 3 * 4 * length * threads * times
    return Spread.of([moved / seconds(times) for _ in range(REPEATS)])


def _passes(source: np.ndarray, target: np.ndarray, times: int) -> None:
    """Take the maximum of both arrays into the second one, so many times in one call of numpy, which holds no lock."""
    np.maximum.reduce(np.broadcast_to(source, (times, len(source))), axis=0, out=target)
