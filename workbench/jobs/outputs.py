"""The job that runs a module once and writes its outputs, to check a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect
from workbench.jobs.build import built_here
from workbench.jobs.trace import module_of

Progress = Callable[..., None]


def values(
    workload: Workload,
    *,
    config: Mapping[str, Any],
    seed: int,
    path: str,
    kept: tuple[str, int] | None,
    nodes: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Compile for this CPU, run once with random inputs, and write the outputs, or the nodes' values, to an .npz file.

    An array's name is `output` with its index, or `node` with the node's id in the graph of the module.
    """
    if kept is not None:
        module = dialect(workload.dialect).frontend.infer_types(module_of(*kept))
        workload = workload.of(module)
    names: list[str] | None = None
    if nodes:
        workload, ids = dialect(workload.dialect).compiler.probed(workload)
        names = [f"node{id}" for id in ids]
    progress("Compiling")
    built = built_here(workload, config)
    progress("Running")
    outputs = built.load(seed).outputs()
    arrays.save(path, dict(zip(names or [f"output{place}" for place in range(len(outputs))], outputs, strict=True)))
    return {}
