"""The conditions of a time besides the program: the machine, its devices, TVM; and the machine's limits.

The bandwidth of the memory is measured by the size of the working set, from the caches of a core to the main memory.
"""

from __future__ import annotations

import hashlib
import importlib
import time
from bisect import bisect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import exp, log
from typing import Any

import numpy as np

from workbench.wording import counted
from workbench.worker.cuda import gpu
from workbench.worker.host import cores, cpu_features, cpu_model, memory_gib


def conditions(dialect: str) -> dict[str, Any]:
    """Return the present conditions on this machine by column of `wb.measure`; `gpu_clock_mhz` is of now."""
    tvm = importlib.import_module("tvm")
    found = gpu()
    # TVM binds the calling thread to one core, so a short-lived thread calls it and not the notebook's
    with ThreadPoolExecutor(1) as passing:
        threads = passing.submit(tvm.runtime.num_threads).result()
    return {
        "tvm": str(tvm.__version__),
        "dialect": dialect,
        "cpu": cpu_model(),
        "cpu_features": cpu_features(),
        "cores": cores(),
        "threads": int(threads),
        "gpu": None if found is None else found.name,
        "gpu_clock_mhz": None if found is None else found.clock_mhz,
        "driver": None if found is None else found.driver,
        "machine": machine("" if found is None else found.name),
    }


def machine(gpu_name: str) -> str:
    """Return a hash that distinguishes machines of different speed; it contains no host name."""
    parts = (cpu_model(), cpu_features(), cores(), memory_gib(), gpu_name)
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


COPIED = 64 << 20
"bytes of the copied array: several times the cache of one core"
SIDE = 1024
"rows and columns of the matrices"
REPEATS = 5
"the best one counts: a ceiling is an upper limit, and disturbances only make a run slower"


@dataclass(frozen=True)
class Ceilings:
    """A machine's limits."""

    bytes_per_second: float
    "read and written together"
    flops_per_second: float
    "of float32; a multiplication with its addition is two"
    method: str
    "a description of the measurement"


GPUS = {
    "A100": Ceilings(1.555e12, 19.5e12, "NVIDIA A100 40 GB data sheet"),
    "H100": Ceilings(3.35e12, 66.9e12, "NVIDIA H100 SXM data sheet"),
    "RTX 4090": Ceilings(1.008e12, 82.6e12, "NVIDIA Ada architecture white paper"),
}
"limits of GPUs, of float32 without tensor cores, as their maker gives them"


@cache
def ceilings(threads: int | None = None) -> Ceilings:
    """Measure the limits of this machine's CPU, once in a process; takes a quarter of a second.

    Parameters
    ----------
    threads
        Threads that copy; one for each core by default. numpy's BLAS chooses the threads of the matrix product.

    Examples
    --------
    >>> wb.ceilings().bytes_per_second > 0
    True
    """
    count = threads or cores()
    method = (
        f"ceilings through numpy {np.__version__}: copy of {COPIED >> 20} MB by {counted(count, 'thread')}, "
        f"product of {SIDE} x {SIDE} float32; best of {REPEATS}"
    )
    source = np.ones(COPIED, np.uint8)
    target = np.empty_like(source)
    parts = list(zip(np.array_split(source, count), np.array_split(target, count), strict=True))
    with ThreadPoolExecutor(count) as pool:
        copying = _best(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))
    left, right = (np.random.default_rng(seed).random((SIDE, SIDE), np.float32) for seed in (0, 1))
    out = np.empty_like(left)
    multiplying = _best(lambda: np.matmul(left, right, out=out))
    return Ceilings(2 * COPIED / copying, 2 * SIDE**3 / multiplying, method)


def _best(run: Callable[[], object]) -> float:
    run()
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


SIZES = tuple(1 << bits for bits in range(14, 28, 2))
"bytes of the working sets: 16 KiB to 64 MiB"
RATE_REPEATS = 7
RATE_SECONDS = 0.004
"of a repeat, if one pass over the arrays takes less"


@dataclass(frozen=True)
class Spread:
    """A measured value, with the lowest and the highest of its measurements."""

    low: float
    middle: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
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
        smaller, larger = self.sizes[upper - 1], self.sizes[upper]
        first, second = self.rates[upper - 1], self.rates[upper]
        part = log(size / smaller) / log(larger / smaller)

        def mean(a: float, b: float) -> float:
            return exp((1 - part) * log(a) + part * log(b))

        return Spread(mean(first.low, second.low), mean(first.middle, second.middle), mean(first.high, second.high))


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
        f"median of {RATE_REPEATS}"
    )
    return Bandwidth(SIZES, rates, method)


def _rate(pool: ThreadPoolExecutor, threads: int, size: int) -> Spread:
    length = max(1, size // (2 * threads * 4))
    arrays = [(np.ones(length, np.float32), np.ones(length, np.float32)) for _ in range(threads)]

    def passes(pair: tuple[np.ndarray, np.ndarray], times: int) -> None:
        # so many times in one call of numpy, which holds no lock
        np.maximum.reduce(np.broadcast_to(pair[0], (times, length)), axis=0, out=pair[1])

    def seconds(times: int) -> float:
        started = time.perf_counter()
        list(pool.map(lambda pair: passes(pair, times), arrays))
        return time.perf_counter() - started

    seconds(1)
    times = max(1, round(RATE_SECONDS / (seconds(16) / 16)))
    seconds(times)
    # two arrays are read, one is written
    moved = 3 * 4 * length * threads * times
    return Spread.of([moved / seconds(times) for _ in range(RATE_REPEATS)])
