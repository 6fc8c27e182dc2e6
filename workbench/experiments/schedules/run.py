"""`wb.tune_schedules`: search and keep schedules of a model's kernels, and race the model with and without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.kernel_search import best_cost_model
from workbench.errors import WorkbenchError
from workbench.experiments.engine import RECENT, BackgroundRun
from workbench.experiments.schedules.result import Task, TunedSchedules
from workbench.experiments.schedules.search import ScheduleRequest, ScheduleSearch, Trial
from workbench.experiments.tuning.trial import Best
from workbench.measurement.row import CANCELLED, OK
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never, silent
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd


class ScheduleRun(BackgroundRun[TunedSchedules]):
    """One search, in this thread (`run`) or in its own (`start`); any thread may call the other methods."""

    def __init__(self, request: ScheduleRequest) -> None:
        super().__init__()
        self.workload, self.base = request.workload, request.base
        self._search = ScheduleSearch(request, self._control, self._at)
        self._found: TunedSchedules | None = None

    @property
    def target(self) -> str:
        """The target, as TVM resolved it once the model was built."""
        return self._search.target

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The kernels and their results so far, the costliest first; none before they are known."""
        return self._search.tasks

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The candidates of this run so far."""
        return self._search.trials

    def trials_of(self, function: str) -> tuple[Trial, ...]:
        """Return the candidates of one kernel."""
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
        total = sum(us for _, us in known.values())
        return self._curve(total, self.trials, known)

    def best_of(self, function: str) -> tuple[Best, ...]:
        """Return the improvements of the best candidate of one kernel, in microseconds per call."""
        return self._curve(float("inf"), self.trials_of(function), {function: (1, float("inf"))})

    def _curve(self, total: float, trials: Iterable[Trial], known: dict[str, tuple[int, float]]) -> tuple[Best, ...]:
        found: list[Best] = []
        spent = 0.0
        for place, trial in enumerate(trials):
            spent += trial.seconds
            weight, before = known.get(trial.function, (0, 0.0))
            if trial.us is not None and weight * trial.us < before:
                known[trial.function] = weight, weight * trial.us
                total = sum(us for _, us in known.values())
                found.append(Best(spent, place, total))
        return tuple(found)

    @property
    def failures(self) -> dict[str, int]:
        """Reason -> number of candidates that failed for it, the most frequent first."""
        found: dict[str, int] = {}
        for trial in self.trials:
            if trial.us is None:
                found[trial.reason] = found.get(trial.reason, 0) + 1
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def left(self) -> float | None:
        """The estimated seconds left of the search, without the race; None before the first candidate, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        recent = self.trials[-RECENT:]
        if not recent:
            return None
        return self._search.waiting * sum(trial.seconds for trial in recent) / len(recent)

    @property
    def spent(self) -> float:
        """The part of the candidates that was tried, from 0 to 1."""
        made = len(self.trials)
        return made / (made + self._search.waiting) if made else 0.0

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
        self._found = self._search.run()
        return self._found.status != CANCELLED

    def __str__(self) -> str:
        """Return the progress in a sentence."""
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
    timeout: float = TIMEOUT,
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
    limits = {"timeout": timeout, "memory": memory, "cancelled": cancelled}
    request = ScheduleRequest(
        workload,
        Config.of(config),
        target_text(target),
        _listed(kernels),
        trials,
        model,
        folder,
        budget,
        seed,
        limits,
    )
    run = ScheduleRun(request)
    run.listen(lambda run: progress(run.doing, run.spent))
    return run


def _listed(kernels: Any) -> tuple[Any, ...] | None:
    if kernels is None:
        return None
    return (kernels,) if isinstance(kernels, (str, int, Mapping)) else tuple(kernels)


def _model(asked: str | None, dialect: str) -> str:
    """Return the requested cost model, or the best one that is installed."""
    best = best_cost_model(dialect)
    if asked not in (None, "xgb", "random"):
        raise WorkbenchError(f"there is no cost model {asked!r}; give xgb or random")
    if asked == "xgb" and best != asked:
        needs = "an xgboost that still has its module rabit" if dialect == "relay" else "tvm-workbench[schedules]"
        raise WorkbenchError(f"the cost model xgb needs {needs}; install it, or give random")
    return asked or best
