"""`wb.count`: what a build would call, from the passes alone, while somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.counted import OK
from workbench.dialects.entries import Shapes, chosen
from workbench.pipeline.config import Config, context_of
from workbench.pipeline.legal import check
from workbench.targets import TargetLike, target_text
from workbench.worker.parent import Progress, never, worker
from workbench.worker.reporting import reported


@dataclass(frozen=True)
class Counts:
    """Whole numbers, the same that `wb.kernels` counts on a build."""

    calls: int
    "entries of the executor in one run, no-ops too"
    functions: int
    "distinct compiled functions that are called"
    noops: int
    "calls that run nothing"
    copies: int
    "calls that copy from one device to another"
    traffic_bytes: int
    "bytes that the calls read and write"
    handover_bytes: Mapping[str, int] = field(hash=False)
    "data type -> bytes that calls read of what other calls wrote"
    target: str = field(default="", compare=False)
    "as a build would use it"
    status: str = OK
    "`failed` where no build of it runs, `lower bound` where dimensions are open"
    reason: str = field(default="", compare=False)
    "of a status other than `ok`"


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
    timeout: float = 600.0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Counts:
    """Run the graph-level passes of a build, in the child process, and count; no code is generated.

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
    """
    how = context_of(opt_level, disabled, required, config)
    chosen_one = chosen(workload, entry, shapes)
    with reported(progress, f"Counting the kernels of {workload.name}") as report:
        return count_config(chosen_one, how, target, timeout=timeout, progress=report, cancelled=cancelled)


def count_config(workload: Workload, config: Config, target: TargetLike = "llvm", **how: Any) -> Counts:
    """The same for a Config; the pipeline of one that has a pipeline has run, and `workload` is what it made."""
    check(workload, config)
    arguments = {"target": target_text(target), "config": config.context().to_data()}
    return Counts(**worker().run("count", workload, arguments, **how))
