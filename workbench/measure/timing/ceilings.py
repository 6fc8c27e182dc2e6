"""What this machine can do at most: bytes a second and FLOP a second, measured here, for the roofline.

The bandwidth is that of J. McCalpin's STREAM Copy (https://www.cs.virginia.edu/stream/), each thread its own part; the
arithmetic is a product of two square float32 matrices. Both through numpy, whose BLAS comes near what the machine has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from workbench.worker.host import cores

COPIED = 64 << 20
"bytes of the array that is copied: several times what a cache holds for one core"
SIDE = 1024
"rows and columns of the matrices"
REPEATS = 5
"the best counts: a ceiling is what is possible, and what disturbs a run only makes it slower"


@dataclass(frozen=True)
class Ceilings:
    """A machine's limits."""

    bytes_per_second: float
    "read and written together"
    flops_per_second: float
    "of float32; a multiplication with its addition is two"
    method: str
    "how they were measured, in words"


@cache
def ceilings(threads: int | None = None) -> Ceilings:
    """Measure this machine's CPU, once a process; takes a quarter of a second.

    Parameters
    ----------
    threads
        Threads that copy; as many as there are cores by default. The product runs on as many as numpy's BLAS takes.
    """
    count = threads or cores()
    method = (
        f"ceilings through numpy {np.__version__}: copy of {COPIED >> 20} MB by {count} thread{'s' if count > 1 else ''}, "
        f"product of {SIDE} x {SIDE} float32; best of {REPEATS}"
    )
    return Ceilings(2 * COPIED / _copying(count), 2 * SIDE**3 / _multiplying(), method)


def _copying(threads: int) -> float:
    source = np.ones(COPIED, np.uint8)
    target = np.empty_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        return _best(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))


def _multiplying() -> float:
    left, right = (np.random.default_rng(seed).random((SIDE, SIDE), np.float32) for seed in (0, 1))
    out = np.empty_like(left)
    return _best(lambda: np.matmul(left, right, out=out))


def _best(run: Callable[[], object]) -> float:
    run()
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
