"""`wb.count`: count the kernels of a build from the passes alone; and the final module before code generation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.dialects.compiler.results import OK
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError
from workbench.pipeline.config import AS_IS, KERNEL_PASSES, Config, check_config, context_of, has_pass
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.temporary import temporary_folder
from workbench.terminal import html_table
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, counting_worker, never, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Counts:
    """The counts of a configuration, whole numbers equal to those that `wb.kernels` counts on a build."""

    calls: int
    "entries of the executor in one run, including no-ops"
    functions: int
    "distinct compiled functions that are called"
    noops: int
    "calls that run no code"
    copies: int
    "calls that copy from one device to another"
    traffic_bytes: int
    "bytes that the calls read and write"
    handover_bytes: Mapping[str, int] = field(hash=False)
    "data type -> bytes written by one call and read by another"
    peak_bytes: int | None = None
    "the most bytes that the executor holds at once, as `wb.memory` plans them; None if the plan is not exact"
    target: str = field(default="", compare=False)
    "in full, as a build would use it"
    status: str = OK
    "`failed` if no build of it runs, `lower bound` if dimensions are open, `not built` if only a build shows it and none is made"
    reason: str = field(default="", compare=False)
    "of a status other than `ok`"

    def _repr_html_(self) -> str:
        names = ("calls", "functions", "noops", "copies", "traffic_bytes", "peak_bytes")
        state = "" if self.status == OK else f" ({self.status}: {self.reason})"
        return html_table(f"Kernels for {self.target}{state}", [{name: getattr(self, name) for name in names}])


def count(
    workload: Workload,
    target: TargetLike = "llvm",
    opt_level: int = 3,
    disabled: Sequence[str] = (),
    required: Sequence[str] = (),
    config: Mapping[str, Any] | Config | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Counts:
    """Run the graph-level passes of a build, in the child process, and count; kernels that are new there are compiled once.

    The status is `ok` if TVM builds the program. A program that is not trusted is not built, and FoldConstant folds nothing in it.

    Parameters
    ----------
    target, opt_level, disabled, required, config
        As `wb.kernels` takes them.
    entry, shapes
        The function to run and the sizes to run it with, as `wb.load` takes them.

    Raises
    ------
    MeasureError, WorkerLost
        The passes failed, or ended their process.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> wb.count(w).calls
    5
    >>> wb.count(w, "cuda -arch=sm_90").calls
    5
    """
    workload = workload_of(workload, "count")
    how = context_of(opt_level, disabled, required, config)
    chosen_one = choose_entry(workload, entry, shapes)
    with showing_progress(progress, f"Counting the kernels of {workload.name}") as report:
        return count_config(chosen_one, how, target, timeout=timeout, progress=report, cancelled=cancelled)


def count_config(workload: Workload, config: Config, target: TargetLike = "llvm", **how: Unpack[JobOptions]) -> Counts:
    """Count under a Config; if it has a pipeline, `workload` is the pipeline's result."""
    check_config(workload, config)
    arguments = {"target": target_text(target), "config": config.context().to_data()}
    return Counts(**counting_worker().run("count", workload, arguments, **how))


_GRAPH_ONLY = ("relay.FuseOps.", "relax.FuseOps.")
"settings that no pass on TIR reads, so that the final module has their whole effect"


@dataclass(frozen=True)
class Final:
    """Counts and fingerprint of a configuration's final module."""

    counts: Counts
    fingerprint: str
    """Of the module that goes to code generation and of the settings that code generation itself reads: two
    configurations that share it compile to the same code. Empty if not requested."""


def look(
    workload: Workload, config: Config, target: TargetLike = "llvm", *, final: bool = True, **how: Unpack[JobOptions]
) -> Final:
    """Run the passes of a configuration in the child process, and count.

    `final` also hashes the final module, which runs the passes once more with the values of all constants.
    """
    check_config(workload, config)
    arguments = {"target": target_text(target), "config": config.to_data(), "final": final}
    found = worker().run("look", workload, arguments, **how)
    counts = Counts(**found["counts"])
    return Final(counts, _with_context(config, found["fingerprint"], counts.target) if final else "")


def final_workload(workload: Workload, config: Config, target: TargetLike = "llvm") -> Workload:
    """Return the workload that a configuration makes before code is generated.

    It is the result of the pipeline; without a pipeline, the module in which the compiler has decided on its kernels.
    """
    check_config(workload, config)
    if config.pipeline:
        return piped(Runner(workload), Pipeline.parse(config.pipeline), config.opt_level)
    with temporary_folder() as folder:
        arguments = {"target": target_text(target), "config": config.to_data(), "folder": folder}
        worker().run("write_final", workload, arguments)
        found = dialect_of(workload).frontend.restore(Path(folder))
    return replace(workload.of(found.module), params=found.params)


def piped(runner: Runner, pipeline: Pipeline, opt_level: int, cancelled: Callable[[], bool] = never) -> Workload:
    """Return the workload that a pipeline makes, in this process or as the runner was made; raise where a pass fails."""
    made = runner.run(pipeline, opt_level, cancelled=cancelled)
    if made.failed is not None:
        raise MeasureError(f"{made.failed.name} failed: {made.failed.error}")
    return runner.workload_of(made.end)


def as_it_stands(workload: Workload, config: Config) -> Config:
    """Return the Config that compiles a final workload: the same settings, and only the passes that must run."""
    context = config.context()
    off = dict.fromkeys((*AS_IS, *context.disabled))
    disabled = tuple(name for name in off if has_pass(workload, name))
    return replace(context, name="as it stands", opt_level=0, disabled=disabled, required=())


def _with_context(config: Config, module: str, target: str) -> str:
    """Return a hash of the module and of the PassContext settings that the later passes read."""
    context = config.context()
    deeper = {
        "disabled": sorted(name for name in context.disabled if name.startswith(KERNEL_PASSES)),
        "required": sorted(name for name in context.required if name.startswith(KERNEL_PASSES)),
        "options": {name: value for name, value in context.options.items() if not name.startswith(_GRAPH_ONLY)},
    }
    text = json.dumps([module, target, deeper], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
