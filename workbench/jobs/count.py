"""Jobs that run the passes of a build and generate no code: counts, and the final module with its fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect
from workbench.jobs.build import compiler_of, program_of, resolved_target
from workbench.pipeline.config import Config

Progress = Callable[..., None]


def count(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Count the calls of a build, from the passes alone."""
    progress("Counting")
    target = resolved_target(workload, target)
    return {"target": target, **compiler_of(workload).count(workload, target, config)}


def look(
    workload: Workload, *, target: str, config: Mapping[str, Any], final: bool, progress: Progress
) -> dict[str, Any]:
    """Count the calls of a configuration, and hash its final module; its pipeline is run first."""
    progress("Counting")
    target = resolved_target(workload, target)
    chosen = Config.of(dict(config))
    program, context = program_of(workload, chosen, progress), chosen.context().to_data()
    counts = compiler_of(workload).count(program, target, context)
    hashed = compiler_of(workload).fingerprint(program, target, context) if final else ""
    return {"counts": {**counts, "target": target}, "fingerprint": hashed}


def write_final(
    workload: Workload, *, target: str, config: Mapping[str, Any], folder: str, progress: Progress
) -> dict[str, object]:
    """Write the module in which the compiler has decided on its kernels."""
    progress("Running passes")
    module = compiler_of(workload).optimized(workload, resolved_target(workload, target), config)
    here = dialect(workload.dialect)
    module = here.frontend.infer_types(module)
    names = {node.op for node in here.frontend.graph(module, workload.name).nodes if node.kind == "param"}
    left = {name: value for name, value in workload.params.items() if name in names}
    here.frontend.dump(Workload(module, left, workload.name, workload.dialect), Path(folder))
    return {}
