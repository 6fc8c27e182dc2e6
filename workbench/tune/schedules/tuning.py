"""`wb.tune_schedules`: schedules searched for the kernels of a model, kept, and the model raced with and without them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.schedule_search import best_cost_model
from workbench.errors import MeasureError, NoDevice, WorkbenchError, WorkerLost
from workbench.measure.local import measure_one
from workbench.measure.status import CANCELLED, OK, OUT_OF_MEMORY, status_of
from workbench.measure.store.conditions import conditions
from workbench.measure.timing.race import Race, race
from workbench.measure.timing.subject import Limits, no_device
from workbench.pipeline.config import Config
from workbench.process.host import allowed
from workbench.process.worker import Progress, never, silent, worker
from workbench.tune.schedules.link import selected, tasks_of, with_times
from workbench.tune.schedules.place import begun, folder_for
from workbench.tune.schedules.result import Task, TunedSchedules

JOBS = "workbench.tune.schedules.jobs"
ROLE = "tuning"
"the child process of its own in which schedules are searched"


@dataclass(frozen=True)
class _Run:
    """One call of tune_schedules."""

    workload: Workload
    base: Config
    target: str
    folder: Path
    trials: int
    seed: int
    cost_model: str
    limits: dict[str, Any]
    "as Worker.run takes them"

    def job(self, name: str, **more: Any) -> dict[str, Any]:
        arguments = {"target": self.target, "config": self.base.to_data(), "folder": str(self.folder), **more}
        return worker(ROLE).run(f"{JOBS}:{name}", self.workload, arguments, **self.limits)

    def tuned(self, task: Task) -> Task:
        """The task after its search; one that failed says how."""
        wanted = self.trials - task.known
        if wanted <= 0:
            return replace(task, status="known")
        try:
            found = self.job(
                "tune",
                function=task.function,
                trials=wanted,
                upto=self.trials,
                seed=self.seed + task.known,
                cores=sorted(allowed()) or [0],
                cost_model=self.cost_model,
            )
        except WorkbenchError as error:
            return replace(task, status=status_of(error), message=str(error))
        best = [us for us in (found["best_us"], task.best_us) if us is not None]
        status = "tuned" if best else "failed"
        message = "" if best else "no candidate ran; see failures"
        return replace(
            task,
            status=status,
            message=message,
            trials=found["trials"],
            best_us=min(best, default=None),
            failures=found["failures"],
        )


def tune_schedules(
    workload: Workload,
    target: str = "llvm",
    *,
    kernels: Iterable[Any] | None = None,
    trials: int = 64,
    config: Any = 3,
    cost_model: str | None = None,
    folder: str | Path | None = None,
    budget: float = 4.0,
    timeout: float = 3600.0,
    memory: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    cancelled: Callable[[], bool] = never,
) -> TunedSchedules:
    """Search faster schedules for a model's kernels with TVM's MetaSchedule, in a child process.

    What was tried is kept: a kernel that had its trials is not tuned again, in this model or another, and a run that was
    stopped or killed goes on where it was, but for the batch of at most 16 candidates that was being tried.

    Parameters
    ----------
    kernels
        What to tune: names of compiled functions, indexes of calls (`result.table`, `wb.kernels`), or `{"node": id}`; all by
        default. A kernel without a tuned schedule is compiled as TVM does it without one, which in Relay is slow.
    trials
        Candidates for each kernel, those of earlier runs included.
    config
        What to tune, as wb.measure takes configurations: the opt level, or another.
    cost_model
        What chooses candidates: `xgb` or `random`; by default `xgb` where an xgboost that this TVM can use is installed.
    folder
        Of the database; by default beside the file of measurements, one for each TVM, machine and target.
    budget
        Seconds of the race at the end.
    timeout
        Seconds that the search for one kernel, a build or a run may take.
    progress, cancelled
        Told what is being done; asked whether to stop.

    Raises
    ------
    NoDevice
        There is nothing here to run candidates on.
    MeasureError
        The model does not build or run without schedules.
    StoreError
        The folder cannot be used, or another process tunes in it.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise WorkbenchError(f"trials is {trials!r}; give the number of candidates for each kernel, 1 or more")
    base, model = Config.of(config), _model(cost_model, workload.dialect)
    limits = {"timeout": timeout, "memory": memory, "progress": progress, "cancelled": cancelled}
    missing = no_device(workload, target, Limits(**limits))
    if missing:
        raise NoDevice(missing)
    before = _measured(workload, base, target, budget, seed, limits)
    about = {**conditions(workload.dialect), "target": before["target"]}
    kept = folder_for(about) if folder is None else Path(folder)
    place = Path(tempfile.mkdtemp(prefix="tvm-workbench-schedules-")) if kept is None else kept
    begun(place, about)
    run = _Run(workload, base, before["target"], place, trials, seed, model, limits)
    answer = run.job("tasks")
    tasks = tasks_of(answer, before["per_kernel"])
    chosen = selected(tasks, kernels, workload, len(answer["graph"]["nodes"]))
    found = TunedSchedules(
        workload,
        base,
        run.target,
        place,
        tuple(_each(run, tasks, chosen)),
        tuple(answer["calls"]),
        answer["graph"],
        run.cost_model,
        before=before,
        kept=kept is not None,
    )
    return _compared(found, budget, seed, limits)


def _each(run: _Run, tasks: Iterable[Task], chosen: set[str]) -> Iterable[Task]:
    """Search for the chosen ones, the costliest first; after a cancel the rest stays as it was."""
    for task in tasks:
        if task.function not in chosen:
            yield replace(task, status="known") if task.known else task
        elif run.limits["cancelled"]():
            yield replace(task, status=CANCELLED)
        else:
            yield run.tuned(task)


def _compared(found: TunedSchedules, budget: float, seed: int, limits: dict[str, Any]) -> TunedSchedules:
    """The result with times after, and the race."""
    if any(task.status == CANCELLED for task in found.tasks):
        return replace(found, status=CANCELLED)
    try:
        after = _measured(found.workload, found.config, found.target, budget, seed, limits)
        raced = _race(found, budget, seed, limits)
    except WorkerLost as lost:
        if lost.status != CANCELLED:
            raise
        return replace(found, status=CANCELLED)
    return replace(found, tasks=with_times(found.tasks, after["per_kernel"]), after=after, race=raced)


def _race(found: TunedSchedules, budget: float, seed: int, limits: dict[str, Any]) -> Race:
    return race(found.workload, found.base, found.config, found.target, budget=budget, seed=seed, **limits)


def _measured(
    workload: Workload, config: Config, target: str, budget: float, seed: int, limits: dict[str, Any]
) -> dict[str, Any]:
    row = measure_one(workload, config, target, budget=budget / 4, seed=seed, per_kernel=True, **limits)
    if row["status"] in (CANCELLED, "crashed", "timeout", OUT_OF_MEMORY):
        raise WorkerLost(row["message"], row["status"])
    if row["status"] != OK:
        raise MeasureError(f"with {config.label}: {row['message']}")
    return row


def _model(asked: str | None, dialect: str) -> str:
    """The cost model: what was asked for, or the best that is installed."""
    best = best_cost_model(dialect)
    if asked not in (None, "xgb", "random"):
        raise WorkbenchError(f"there is no cost model {asked!r}; give xgb or random")
    if asked == "xgb" and best != asked:
        older = " that still has its module rabit" if dialect == "relay" else ""
        raise WorkbenchError(f"the cost model xgb needs xgboost{older}; install it, or give random")
    return asked or best
