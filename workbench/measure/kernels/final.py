"""What is known of a configuration before anything of it is built: its counts, and whether it is like one seen before."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, UnknownName
from workbench.measure.kernels.counts import Counts
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.legal import check
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.targets import TargetLike, target_text
from workbench.worker.parent import worker

_GRAPH_ONLY = ("relay.FuseOps.", "relax.FuseOps.")
"settings that no pass on TIR asks for, so that all they do is in the final module"


@dataclass(frozen=True)
class Final:
    """A configuration, looked at from the outside."""

    counts: Counts
    fingerprint: str
    """Of the module that goes to code generation and of the settings that code generation itself asks for: two
    configurations that share it compile to the same code. Empty where it was not asked for."""


def look(workload: Workload, config: Config, target: TargetLike = "llvm", *, final: bool = True, **how: Any) -> Final:
    """Run the passes of a configuration in the child process; no code is generated.

    Parameters
    ----------
    final
        Whether to hash the final module too, which runs the passes once more with the values of all constants.
    how
        `timeout`, `memory`, `progress`, `cancelled`, as `Worker.run` takes them.

    Raises
    ------
    UnknownName, MeasureError, WorkerLost
        The configuration is refused, a pass failed, or the passes ended their process.
    """
    check(workload, config)
    arguments = {"target": target_text(target), "config": config.to_data(), "final": final}
    found = worker().run("look", workload, arguments, **how)
    counts = Counts(**found["counts"])
    return Final(counts, _with_context(workload, config, found["fingerprint"], counts.target) if final else "")


def final_workload(workload: Workload, config: Config, target: TargetLike = "llvm") -> Workload:
    """What a configuration makes of a workload before code is generated.

    That is its pipeline's result; without a pipeline, the module in which the compiler has decided on its kernels.

    Raises
    ------
    UnknownName, MeasureError, WorkerLost
        The configuration is refused, a pass failed, or the passes ended their process.
    """
    check(workload, config)
    if config.pipeline:
        runner = Runner(workload)
        made = runner.run(Pipeline.parse(config.pipeline), config.opt_level)
        if made.failed is not None:
            raise MeasureError(f"{made.failed.name} failed: {made.failed.error}")
        return runner.workload_of(made.end)
    with tempfile.TemporaryDirectory() as folder:
        arguments = {"target": target_text(target), "config": config.to_data(), "folder": folder}
        worker().run("write_final", workload, arguments)
        found = dialect_of(workload).frontend.restore(Path(folder))
    return replace(workload.of(found.module), params=found.params)


def as_it_stands(workload: Workload, config: Config) -> Config:
    """How to compile what `final_workload` gives: the settings of the configuration, and no pass that need not run."""
    context = config.context()
    off = dict.fromkeys((*AS_IS, *context.disabled))
    disabled = tuple(name for name in off if _known(workload, name))
    return replace(context, name="as it stands", opt_level=0, disabled=disabled, required=())


def _known(workload: Workload, name: str) -> bool:
    """Whether this dialect has a pass of that name to switch off."""
    try:
        check(workload, Config(disabled=(name,)))
    except (UnknownName, MeasureError):
        return False
    return True


def _with_context(workload: Workload, config: Config, module: str, target: str) -> str:
    """The module's hash together with what of the PassContext reaches the passes after the graph's."""
    catalog = {info.name for info in dialect_of(workload).passes.catalog()}
    context = config.context()
    deeper = {
        "disabled": sorted(name for name in context.disabled if "." in name and name not in catalog),
        "required": sorted(name for name in context.required if "." in name and name not in catalog),
        "options": {name: value for name, value in context.options.items() if not name.startswith(_GRAPH_ONLY)},
    }
    text = json.dumps([module, target, deeper], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
