"""In the child: a configuration's counts and the hash of its final module, its pipeline run first where it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect
from workbench.measure.timing.builds import program_of
from workbench.pipeline.config import Config
from workbench.process.backend import compiler_of, resolved_target

Progress = Callable[..., None]


def looked(
    workload: Workload, *, target: str, config: Mapping[str, Any], final: bool, progress: Progress
) -> dict[str, Any]:
    """The job of `look`."""
    progress("Counting")
    target = resolved_target(workload, target)
    chosen = Config.of(dict(config))
    program, context = program_of(workload, chosen, progress), chosen.context().to_data()
    compiler = compiler_of(workload)
    counts = compiler.count(program, target, context)
    hashed = compiler.fingerprint(program, target, context) if final else ""
    return {"counts": {**counts, "target": target}, "fingerprint": hashed}


def written(
    workload: Workload, *, target: str, config: Mapping[str, Any], folder: str, progress: Progress
) -> dict[str, Any]:
    """The job of `final_workload`: writes the module in which the compiler has decided on its kernels."""
    progress("Running passes")
    module = compiler_of(workload).optimized(workload, resolved_target(workload, target), config)
    here = dialect(workload.dialect)
    module = here.frontend.infer_types(module)
    names = {node.op for node in here.frontend.graph(module, workload.name).nodes if node.kind == "param"}
    left = {name: value for name, value in workload.params.items() if name in names}
    here.frontend.dump(Workload(module, left, workload.name, workload.dialect), Path(folder))
    return {}
