"""`wb.memory`: the memory plan of a build, from the passes alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.measurement.memory.plan import MemoryPlan
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    from typing_extensions import Unpack


def memory(
    workload: Workload,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> MemoryPlan:
    """Run the graph-level passes and TVM's memory planner, in the child process.

    Only FoldConstant compiles and runs kernels; of a program that is not trusted it folds nothing.

    Parameters
    ----------
    target
        As `wb.kernels` takes it.
    config
        A Config, or a part of one: an opt level, a pipeline or its text, a dict of fields; opt level 3 by default.
    entry, shapes
        The function to run and the sizes to run it with, as `wb.load` takes them.

    Raises
    ------
    MeasureError, WorkerLost
        The passes failed, or ended their process.

    Examples
    --------
    >>> plan = wb.memory(wb.samples.load("parallel_cast"))
    >>> plan.peak_bytes, plan.planned_bytes, plan.lower_bound_bytes
    (96, 128, 96)
    >>> plan.why("lv", "gv")
    "gv is an output, and TVM's planner plans none: it has an allocation of its own"
    """
    workload = workload_of(workload, "memory")
    how = Config.of({} if config is None else config)
    chosen_one = choose_entry(workload, entry, shapes)
    with showing_progress(progress, f"Planning the memory of {workload.name}") as report:
        return memory_config(chosen_one, how, target, timeout=timeout, progress=report, cancelled=cancelled)


def memory_config(
    workload: Workload, config: Config, target: TargetLike = "llvm", **how: Unpack[JobOptions]
) -> MemoryPlan:
    """Return the memory plan of a build under a Config; its pipeline, if it has one, is run first."""
    check_config(workload, config)
    arguments = {"target": target_text(target), "config": config.to_data()}
    return MemoryPlan.from_data(worker().run("memory", workload, arguments, **how))
