"""The conditions of a time besides the program: the machine, its devices, TVM; and the machine's limits."""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from workbench.worker.cuda import gpu
from workbench.worker.host import cores, cpu_features, cpu_model, memory_gib


def conditions(dialect: str) -> dict[str, Any]:
    """Return the present conditions on this machine, by column.

    Parameters
    ----------
    dialect
        The dialect, whose TVM is imported.

    Returns
    -------
    dict
        `tvm` (version), `dialect`, `cpu` (model), `cpu_features` (vector extensions), `cores` (that this process may
        use), `threads` (of TVM's runtime), `gpu`, `gpu_clock_mhz` (now), `driver` (None without a GPU), `machine`.
    """
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
    """Return a hash that distinguishes machines of different speed; it contains no host name.

    Returns
    -------
    str
        12 hexadecimal digits, of the CPU's model and features, the cores, the memory and the GPU.
    """
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
