"""`wb.tune_schedules`: search and keep schedules of a model's kernels, and race the model with and without them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.scheduling import best_cost_model
from workbench.errors import MeasureError, NoDevice, StoreError, WorkbenchError, WorkerLost
from workbench.experiments.engine import RECENT, BackgroundRun, Best, improvements
from workbench.experiments.schedules.database import begun, folder_for
from workbench.experiments.schedules.result import ScheduleTrial, Task, TunedSchedules, selected, tasks_of, with_times
from workbench.experiments.symptoms import Limits
from workbench.measurement.build_and_time import no_device
from workbench.measurement.machine import conditions
from workbench.measurement.measure import measure_one
from workbench.measurement.race import race
from workbench.measurement.row import CANCELLED, CRASHED, OK, OUT_OF_MEMORY, TIMEOUT, status_of
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike, target_text
from workbench.temporary import new_folder
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.host import allowed
from workbench.worker.limits import TIMEOUT as SECONDS
from workbench.worker.parent import JobOptions, Progress, never, silent, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

ROLE = "tuning"
"role of the child process in which schedules are searched"
PAUSED = "Waiting to be resumed"
"the step of a paused run as soon as no candidate is under way"


class ScheduleRun(BackgroundRun[TunedSchedules]):
    """One search, in this thread (`run`) or in its own (`start`); any thread may call the other methods.

    Each kernel's candidates are tried one at a time in a child process, then the model is measured and raced. `limits` are
    those of each job; the budget is that of the race.
    """

    def __init__(
        self,
        workload: Workload,
        base: Config,
        kernels: Iterable[Any] | None,
        trials: int,
        cost_model: str,
        folder: str | Path | None,
        limits: Limits,
    ) -> None:
        super().__init__()
        self.workload, self.base = workload, base
        self.target = limits.target
        "the target, as TVM resolved it once the model was built"
        self._kernels, self._most, self._cost_model, self._folder = kernels, trials, cost_model, folder
        self._limits = replace(
            limits,
            progress=lambda what, _part: self._at(what),
            cancelled=lambda: self._control.stopped() or limits.cancelled(),
        )
        self.tasks: tuple[Task, ...] = ()
        "the kernels and their results so far, the costliest first; none before they are known"
        self.trials: tuple[ScheduleTrial, ...] = ()
        "the candidates of this run so far"
        self._chosen: set[str] = set()
        self._found: TunedSchedules | None = None

    def trials_of(self, function: str) -> tuple[ScheduleTrial, ...]:
        return tuple(trial for trial in self.trials if trial.function == function)

    @property
    def trials_per_task(self) -> dict[str, int]:
        """Function -> number of its candidates, including earlier runs."""
        return {task.function: task.known + task.trials for task in self.tasks}

    @property
    def best_so_far(self) -> tuple[Best, ...]:
        """The improvements of the total time of all kernels, in microseconds.

        A kernel counts with its best candidate, or with its time before if that is less. This is an estimate from kernels
        that ran alone; the race at the end measures the model.
        """
        known = {task.function: (task.weight, task.before_us or 0.0) for task in self.tasks}

        def totals() -> Iterator[tuple[float, int, float | None]]:
            for place, trial in enumerate(self.trials):
                weight, before = known.get(trial.function, (0, 0.0))
                if trial.us is None or weight * trial.us >= before:
                    yield trial.seconds, place, None
                    continue
                known[trial.function] = weight, weight * trial.us
                yield trial.seconds, place, sum(us for _, us in known.values())

        return improvements(totals())

    def best_of(self, function: str) -> tuple[Best, ...]:
        """Return the improvements of the best candidate of one kernel, in microseconds per call."""
        return improvements((trial.seconds, place, trial.us) for place, trial in enumerate(self.trials_of(function)))

    @property
    def failures(self) -> dict[str, int]:
        """Reason -> number of candidates that failed for it, the most frequent first."""
        return dict(Counter(trial.reason for trial in self.trials if trial.us is None).most_common())

    @property
    def waiting(self) -> int:
        """The number of candidates that are not tried yet."""
        open = (task for task in self.tasks if task.function in self._chosen and task.status == "not selected")
        return sum(max(0, self._most - task.known - task.trials) for task in open)

    @property
    def left(self) -> float | None:
        """The estimated seconds left of the search, without the race; None before the first candidate, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        recent = self.trials[-RECENT:]
        if not recent:
            return None
        return self.waiting * sum(trial.seconds for trial in recent) / len(recent)

    @property
    def spent(self) -> float:
        """The part of the candidates that was tried, from 0 to 1."""
        made = len(self.trials)
        return made / (made + self.waiting) if made else 0.0

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate of this run; `wb.plots.tuning_progress` draws the rows of one `function`."""
        import pandas as pd

        names = ("number", "function", "status", "reason", "median_us", "seconds")
        rows = [
            (each.number, each.function, OK if each.us else "failed", each.reason, each.us, each.seconds)
            for each in self.trials
        ]
        return pd.DataFrame(rows, columns=list(names))

    def result(self) -> TunedSchedules:
        """Return the result of a finished run.

        Raises
        ------
        WorkbenchError
            The run failed, or has no result yet.
        """
        if self._failure is not None:
            raise self._failure
        if self._found is None:
            if self._status == "stopped":
                raise WorkbenchError(
                    "the run was stopped before its kernels were compared; a new one goes on where it ended"
                )
            raise WorkbenchError(f"there is no result yet, the run is {self.status}; wait for it, or stop it")
        return self._found

    def _work(self) -> bool:
        missing = no_device(self.workload, self.target, self._limits)
        if missing:
            raise NoDevice(missing)
        before = self._measured(self.base)
        about = {**conditions(self.workload.dialect), "target": before["target"]}
        kept = folder_for(about) if self._folder is None else Path(self._folder)
        # the child process has another working directory
        folder = (new_folder() if kept is None else kept).expanduser().absolute()
        begun(folder, about)
        self.target = before["target"]
        answer = self._job("tasks", folder)
        tasks = tasks_of(answer, before["per_kernel"])
        self._chosen = selected(tasks, self._kernels, self.workload, len(answer["graph"]["nodes"]))
        self.tasks = tasks
        for task in tasks:
            self._publish(self._tune(task, folder))
        whose = self.workload, self.base, self.target, folder
        calls, model = tuple(answer["calls"]), self._cost_model
        found = TunedSchedules(*whose, self.tasks, calls, answer["graph"], model, before=before, kept=kept is not None)
        self._at("Comparing with and without")
        self._found = self._compared(found)
        return self._found.status != CANCELLED

    def _compared(self, found: TunedSchedules) -> TunedSchedules:
        """Return the result with its times after and its race; as cancelled if the run was stopped."""
        if any(task.status == CANCELLED for task in found.tasks):
            return replace(found, status=CANCELLED)
        how = {"budget": self._limits.budget, "seed": self._limits.seed, **self._limits.of_a_job}
        try:
            after = self._measured(found.config)
            raced = race(found.workload, found.base, found.config, found.target, **how)
        except WorkerLost as lost:
            if lost.status != CANCELLED:
                raise
            return replace(found, status=CANCELLED)
        return replace(found, tasks=with_times(found.tasks, after["per_kernel"]), after=after, race=raced)

    def _measured(self, config: Config) -> dict[str, Any]:
        """Return a row of `wb.measure` with its kernels' times; raise if there are none."""
        limits = replace(self._limits, budget=self._limits.budget / 4, per_kernel=True)
        row = measure_one(self.workload, config, self.target, limits)
        if row.status in (CANCELLED, CRASHED, TIMEOUT, OUT_OF_MEMORY):
            raise WorkerLost(row.message, row.status)
        if row.status != OK:
            raise MeasureError(f"with {config.label}: {row.message}")
        return row.to_data()

    def _job(self, name: str, folder: Path, **more: Any) -> dict[str, Any]:
        arguments = {"target": self.target, "config": self.base.to_data(), "folder": str(folder), **more}
        return worker(ROLE).run(name, self.workload, arguments, **self._limits.of_a_job)

    def _tune(self, task: Task, folder: Path) -> Task:
        if task.function not in self._chosen:
            return replace(task, status="known") if task.known else task
        if task.known >= self._most:
            return replace(task, status="known")
        try:
            going = True
            while going and self._goes_on():
                task, going = self._step(task, folder)
                self._publish(task)
        except StoreError:
            raise
        except WorkbenchError as error:
            return replace(task, status=status_of(error), message=str(error))
        if going:
            # the child process locks the folder until it ends
            worker(ROLE).stop()
            return replace(task, status=CANCELLED)
        if task.best_us is None:
            return replace(task, status="failed", message="no candidate ran; see failures")
        ended = task.known + task.trials < self._most
        return replace(
            task, status="tuned", message="all schedules that MetaSchedule draws were tried" if ended else ""
        )

    def _goes_on(self) -> bool:
        if self._control.paused:
            self._at(PAUSED)
        return self._control.wait() and not self._limits.cancelled()

    def _step(self, task: Task, folder: Path) -> tuple[Task, bool]:
        """Try one more candidate; return the kernel with its result, and whether there may be more."""
        made = task.known + task.trials
        begun = time.perf_counter()
        tried = self._job(
            "step",
            folder,
            function=task.function,
            trials=self._most - made,
            upto=self._most,
            seed=self._limits.seed + made,
            cores=sorted(allowed()) or [0],
            cost_model=self._cost_model,
        )["tried"]
        if tried is None:
            return task, False
        trial = ScheduleTrial(made, task.function, **tried, seconds=time.perf_counter() - begun)
        self.trials = (*self.trials, trial)
        failures = dict(task.failures)
        if tried["us"] is None:
            failures[tried["reason"]] = failures.get(tried["reason"], 0) + 1
        best = min((us for us in (tried["us"], task.best_us) if us is not None), default=None)
        plain = tried["us"] if tried["plain"] else task.plain_us
        return replace(task, trials=task.trials + 1, best_us=best, plain_us=plain, failures=failures), True

    def _publish(self, task: Task) -> None:
        self.tasks = tuple(task if task.function == other.function else other for other in self.tasks)
        best = "" if task.best_us is None else f", best {task.best_us:.3g} us"
        self._at(f"{task.function}: {task.known + task.trials} of {counted(self._most, 'candidate')}{best}")

    def __str__(self) -> str:
        left = f", about {self.left:.0f} s left" if self.left else ""
        failed = sum(self.failures.values())
        tried = f"{counted(len(self.trials), 'candidate')} tried, {failed} of them failed{left}"
        return visible(f"{self.status}: {tried}; {self.doing or self.error}".rstrip("; "))

    def _repr_html_(self) -> str:
        names = ("function", "op", "weight", "before_us", "plain_us", "best_us", "known", "trials", "status")
        return html_table(str(self), ({name: getattr(task, name) for name in names} for task in self.tasks))


def tune_schedules(workload: Workload, target: TargetLike = "llvm", **how: Any) -> TunedSchedules:
    """Search for faster schedules of a model's kernels with TVM's MetaSchedule, in a child process.

    All trials are kept: a kernel with enough trials is not tuned again, in this model or another. After a stopped or
    killed run the next one continues, and only the candidate under way is lost.

    Parameters
    ----------
    target, how
        As for `prepared_schedules`.

    Raises
    ------
    NoDevice
        There is no device here to run candidates on.
    MeasureError
        The model does not build or run without schedules.
    StoreError
        The folder cannot be used, or another run uses it.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> tuned = wb.tune_schedules(w, trials=1, kernels=[0], budget=0.2)
    >>> tuned.workload.name, len(tuned.tasks)
    ('parallel_cast', 4)
    """
    workload = workload_of(workload, "tune_schedules")
    with showing_progress(how.pop("progress", None), f"Tuning the kernels of {workload.name}") as report:
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
    timeout: float = SECONDS,
    memory: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    cancelled: Callable[[], bool] = never,
) -> ScheduleRun:
    """Return the run of `wb.tune_schedules` before it starts; `start()` runs it in a thread, and it can be paused.

    Parameters
    ----------
    kernels
        The kernels to tune: names of compiled functions, indexes of calls (`result.table`, `wb.kernels`), or `{"node": id}`; all by
        default. A kernel without a tuned schedule is compiled as TVM does it without one, which in Relay is slow.
    trials
        Candidates for each kernel, including earlier runs. On a CPU the first is the kernel without a schedule.
    config
        The configuration to tune, as for `wb.measure`, such as an opt level.
    cost_model
        The model that selects candidates: `xgb` or `random`; by default `xgb` where an xgboost that this TVM can use is installed.
    folder
        Folder of the database; by default in the folder of the measurements, one for each TVM, machine and target.
    budget
        Seconds of the race at the end.
    timeout
        Most seconds for a candidate (with the compilation of its batch), a build or a run.
    progress, cancelled
        `progress` is called with each step; `cancelled` returns whether to stop.

    Raises
    ------
    WorkbenchError
        An argument is wrong.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> run = wb.prepared_schedules(w, trials=1, kernels=[0])
    >>> run.status
    'ready'
    """
    workload = workload_of(workload, "prepared_schedules")
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise WorkbenchError(f"trials is {trials!r}; give the number of candidates for each kernel, 1 or more")
    model = _model(cost_model, workload.dialect)
    job: JobOptions = {"timeout": timeout, "memory": memory, "cancelled": cancelled}
    limits = Limits(target=target_text(target), seed=seed, budget=budget, **job)
    run = ScheduleRun(workload, Config.of(config), kernels, trials, model, folder, limits)
    run.listen(lambda run: progress(run.doing, run.spent))
    return run


def _model(asked: str | None, dialect: str) -> str:
    best = best_cost_model(dialect)
    if asked not in (None, "xgb", "random"):
        raise WorkbenchError(f"there is no cost model {asked!r}; give xgb or random")
    if asked == "xgb" and best != asked:
        needs = "an xgboost that still has its module rabit" if dialect == "relay" else "tvm-workbench[schedules]"
        raise WorkbenchError(f"the cost model xgb needs {needs}; install it, or give random")
    return asked or best
