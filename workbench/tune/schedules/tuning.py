"""`wb.tune_schedules`: schedules searched for the kernels of a model, kept, and the model raced with and without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.schedule_search import best_cost_model
from workbench.errors import WorkbenchError
from workbench.pipeline.config import Config
from workbench.targets import TargetLike, target_text
from workbench.tune.schedules.result import TunedSchedules
from workbench.tune.schedules.run import Order, ScheduleRun
from workbench.worker.parent import Progress, never, silent
from workbench.worker.reporting import reported


def tune_schedules(workload: Workload, target: TargetLike = "llvm", **how: Any) -> TunedSchedules:
    """Search faster schedules for a model's kernels with TVM's MetaSchedule, in a child process.

    What was tried is kept: a kernel that had its trials is not tuned again, in this model or another, and a run that was
    stopped or killed goes on where it was, but for the candidate that was being tried.

    Parameters
    ----------
    target, how
        As `prepared_schedules` takes them.

    Raises
    ------
    NoDevice
        There is nothing here to run candidates on.
    MeasureError
        The model does not build or run without schedules.
    StoreError
        The folder cannot be used, or another run tunes in it.

    Examples
    --------
    >>> tuned = wb.tune_schedules(w, trials=32)  # doctest: +SKIP
    >>> print(tuned)  # doctest: +SKIP
    >>> wb.measure(w, [3, tuned.best])  # doctest: +SKIP
    """
    with reported(how.pop("progress", None), f"Tuning the kernels of {workload.name}") as report:
        return prepared_schedules(workload, target, **how, progress=report).run()


def prepared_schedules(
    workload: Workload,
    target: TargetLike = "llvm",
    *,
    kernels: Iterable[Any] | None = None,
    trials: int = 64,
    config: Any = 3,
    cost_model: str | None = None,
    folder: str | Path | None = None,
    budget: float = 4.0,
    timeout: float = 600.0,
    memory: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    cancelled: Callable[[], bool] = never,
) -> ScheduleRun:
    """The run that `wb.tune_schedules` makes, not begun: `start()` runs it beside the notebook, to be paused and stopped.

    Parameters
    ----------
    kernels
        What to tune: names of compiled functions, indexes of calls (`result.table`, `wb.kernels`), or `{"node": id}`; all by
        default. A kernel without a tuned schedule is compiled as TVM does it without one, which in Relay is slow.
    trials
        Candidates for each kernel, those of earlier runs included. On a CPU the first is the kernel without a schedule.
    config
        What to tune, as wb.measure takes configurations: the opt level, or another.
    cost_model
        What chooses candidates: `xgb` or `random`; by default `xgb` where an xgboost that this TVM can use is installed.
    folder
        Of the database; by default beside the file of measurements, one for each TVM, machine and target.
    budget
        Seconds of the race at the end.
    timeout
        Seconds that a candidate, with the compiling of the batch that it is in, or a build or a run may take.
    progress, cancelled
        Told what is being done; asked whether to stop.

    Raises
    ------
    WorkbenchError
        An argument is wrong.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise WorkbenchError(f"trials is {trials!r}; give the number of candidates for each kernel, 1 or more")
    model = _model(cost_model, workload.dialect)
    limits = {"timeout": timeout, "memory": memory, "cancelled": cancelled}
    order = Order(_listed(kernels), trials, model, folder, budget, seed)
    run = ScheduleRun(workload, Config.of(config), target_text(target), order, limits)
    run.listen(lambda run: progress(run.doing, run.spent))
    return run


def _listed(kernels: Any) -> tuple[Any, ...] | None:
    if kernels is None:
        return None
    return (kernels,) if isinstance(kernels, (str, int, Mapping)) else tuple(kernels)


def _model(asked: str | None, dialect: str) -> str:
    """The cost model: what was asked for, or the best that is installed."""
    best = best_cost_model(dialect)
    if asked not in (None, "xgb", "random"):
        raise WorkbenchError(f"there is no cost model {asked!r}; give xgb or random")
    if asked == "xgb" and best != asked:
        needs = "an xgboost that still has its module rabit" if dialect == "relay" else "tvm-workbench[schedules]"
        raise WorkbenchError(f"the cost model xgb needs {needs}; install it, or give random")
    return asked or best
