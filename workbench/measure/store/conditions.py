"""What a time depends on besides the program: the machine, its devices, and TVM."""

from __future__ import annotations

import hashlib
import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.worker.cuda import gpu
from workbench.worker.host import cores, cpu_features, cpu_model, memory_gib

CONDITIONS = (
    "tvm",
    "dialect",
    "cpu",
    "cpu_features",
    "cores",
    "threads",
    "gpu",
    "gpu_clock_mhz",
    "driver",
    "machine",
)
"columns of a row"


def conditions(dialect: str) -> dict[str, Any]:
    """The conditions here and now, by column.

    Parameters
    ----------
    dialect
        Whose TVM; imports it.

    Returns
    -------
    dict
        `tvm` (version), `dialect`, `cpu` (model), `cpu_features` (what its vectors can do), `cores` (that this process may
        use), `threads` (of TVM's runtime), `gpu`, `gpu_clock_mhz` (now), `driver` (None without a GPU), `machine`.
    """
    tvm = importlib.import_module("tvm")
    found = gpu()
    # TVM ties whoever asks it to one core: not the notebook's thread, a passing one
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
    """A hash that tells machines of different speed apart; no name of a host goes into it.

    Returns
    -------
    str
        12 hexadecimal digits, of the CPU's model and features, the cores, the memory and the GPU.
    """
    parts = (cpu_model(), cpu_features(), cores(), memory_gib(), gpu_name)
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]
