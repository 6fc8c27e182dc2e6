"""A ScheduleRun: a search for schedules at work, which another thread may look at, pause, resume and stop."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, StoreError, WorkbenchError
from workbench.measure.status import CANCELLED, OK, status_of
from workbench.measure.store.conditions import conditions
from workbench.measure.timing.subject import Limits, no_device
from workbench.pipeline.config import Config
from workbench.terminal import visible
from workbench.tune.background_run import Beside
from workbench.tune.budget import RECENT
from workbench.tune.schedules.database import begun, folder_for
from workbench.tune.schedules.result import Task, TunedSchedules
from workbench.tune.schedules.tasks import measured, selected, tasks_of, with_and_without
from workbench.tune.trial import Best
from workbench.worker.host import allowed
from workbench.worker.parent import worker

if TYPE_CHECKING:
    import pandas as pd

ROLE = "tuning"
"the child process of its own in which schedules are searched"
PAUSED = "Waiting to be resumed"
"what a paused run does as soon as nothing is in flight"


@dataclass(frozen=True)
class Trial:
    """One candidate that this run tried."""

    number: int
    "of its kernel, those of earlier runs counted"
    function: str
    us: float | None
    "microseconds of one call; None if it failed"
    reason: str
    "why it failed"
    plain: bool
    "whether it is the kernel without a schedule"
    seconds: float
    "that it took, with what was compiled before it"


@dataclass(frozen=True)
class Order:
    """What to do."""

    kernels: tuple[Any, ...] | None
    "as link.selected takes them"
    trials: int
    "for each kernel, those of earlier runs counted"
    cost_model: str
    folder: str | Path | None = None
    budget: float = 4.0
    "seconds of the race at the end"
    seed: int = 0


class ScheduleRun(Beside[TunedSchedules]):
    """One search, in this thread (`run`) or beside it (`start`). Everything else may be asked from any thread."""

    def __init__(self, workload: Workload, base: Config, target: str, order: Order, limits: dict[str, Any]) -> None:
        super().__init__()
        self.workload, self.base, self.target, self.order = workload, base, target, order
        cancelled = limits["cancelled"]
        self._limits = {
            **limits,
            "progress": lambda what, _part: self._at(what),
            "cancelled": lambda: self._control.stopped() or cancelled(),
        }
        self._lock = threading.Lock()
        self._tasks: tuple[Task, ...] = ()
        self._chosen: set[str] = set()
        self._trials: list[Trial] = []
        self._found: TunedSchedules | None = None

    # -- what may be asked

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The kernels and what is known of each by now, the costliest first; none before they are found."""
        with self._lock:
            return self._tasks

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The candidates of this run so far."""
        with self._lock:
            return tuple(self._trials)

    def trials_of(self, function: str) -> tuple[Trial, ...]:
        """Those of one kernel."""
        return tuple(trial for trial in self.trials if trial.function == function)

    @property
    def trials_per_task(self) -> dict[str, int]:
        """Function -> candidates that it had, those of earlier runs counted."""
        return {task.function: task.known + task.trials for task in self.tasks}

    @property
    def best_so_far(self) -> tuple[Best, ...]:
        """Each time that the kernels of a run together became faster, in microseconds.

        A kernel counts as its best candidate, or with what it took before where that is less. It is an estimate, from kernels
        that ran by themselves; the race at the end says what is true.
        """
        known = {task.function: (task.weight, task.before_us or 0.0) for task in self.tasks}
        total = sum(us for _, us in known.values())
        return self._curve(total, self.trials, known)

    def best_of(self, function: str) -> tuple[Best, ...]:
        """Each time that the best candidate of one kernel became faster: microseconds of a call."""
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
        """Reason -> how many candidates failed for it, the commonest first."""
        found: dict[str, int] = {}
        for trial in self.trials:
            if trial.us is None:
                found[trial.reason] = found.get(trial.reason, 0) + 1
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def left(self) -> float | None:
        """Seconds that the search probably needs, the race apart; None before the first candidate, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        recent = self.trials[-RECENT:]
        if not recent:
            return None
        return self._waiting * sum(trial.seconds for trial in recent) / len(recent)

    @property
    def spent(self) -> float:
        """The part of the candidates that were tried, from 0 to 1."""
        made = len(self.trials)
        return made / (made + self._waiting) if made else 0.0

    @property
    def _waiting(self) -> int:
        """Candidates that are still to be tried."""
        open = (task for task in self.tasks if task.function in self._chosen and task.status == "not selected")
        return sum(max(0, self.order.trials - task.known - task.trials) for task in open)

    @property
    def table(self) -> pd.DataFrame:
        """One row a candidate of this run; `wb.plots.tuning_progress` draws that of one `function`."""
        import pandas as pd

        names = ("number", "function", "status", "reason", "median_us", "seconds")
        rows = [
            (each.number, each.function, OK if each.us else "failed", each.reason, each.us, each.seconds)
            for each in self.trials
        ]
        return pd.DataFrame(rows, columns=list(names))

    def result(self) -> TunedSchedules:
        """What came of it, when it is over.

        Raises
        ------
        WorkbenchError
            The run failed, or there is nothing yet.
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

    # -- how it goes

    def _work(self) -> bool:
        self._found = self._searched()
        return self._found.status != CANCELLED

    def _searched(self) -> TunedSchedules:
        missing = no_device(self.workload, self.target, Limits(**self._limits))
        if missing:
            raise NoDevice(missing)
        how = {"budget": self.order.budget, "seed": self.order.seed, **self._limits}
        before = measured(self.workload, self.base, self.target, **how)
        about = {**conditions(self.workload.dialect), "target": before["target"]}
        kept = folder_for(about) if self.order.folder is None else Path(self.order.folder)
        place = Path(tempfile.mkdtemp(prefix="tvm-workbench-schedules-")) if kept is None else kept
        begun(place, about)
        self.target = before["target"]
        answer = self._job("tasks", place)
        tasks = tasks_of(answer, before["per_kernel"])
        self._chosen = selected(tasks, self.order.kernels, self.workload, len(answer["graph"]["nodes"]))
        self._tasks = tasks
        for task in tasks:
            self._put(self._ended(task, place))
        found = TunedSchedules(
            self.workload,
            self.base,
            self.target,
            place,
            self.tasks,
            tuple(answer["calls"]),
            answer["graph"],
            self.order.cost_model,
            before=before,
            kept=kept is not None,
        )
        self._at("Comparing with and without")
        return with_and_without(found, **how)

    def _job(self, name: str, folder: Path, **more: Any) -> dict[str, Any]:
        arguments = {"target": self.target, "config": self.base.to_data(), "folder": str(folder), **more}
        return worker(ROLE).run(name, self.workload, arguments, **self._limits)

    def _ended(self, task: Task, folder: Path) -> Task:
        """A kernel after its search, and how that ended."""
        if task.function not in self._chosen:
            return replace(task, status="known") if task.known else task
        if task.known >= self.order.trials:
            return replace(task, status="known")
        try:
            going = True
            while going and self._goes_on():
                task, going = self._stepped(task, folder)
                self._put(task)
        except StoreError:
            raise
        except WorkbenchError as error:
            return replace(task, status=status_of(error), message=str(error))
        if going:
            # it holds the folder until it is ended
            worker(ROLE).stop()
            return replace(task, status=CANCELLED)
        if task.best_us is None:
            return replace(task, status="failed", message="no candidate ran; see failures")
        ended = task.known + task.trials < self.order.trials
        return replace(
            task, status="tuned", message="all schedules that MetaSchedule draws were tried" if ended else ""
        )

    def _goes_on(self) -> bool:
        """Wait while paused; whether to go on."""
        if self._control.paused:
            self._at(PAUSED)
        return self._control.wait() and not self._limits["cancelled"]()

    def _stepped(self, task: Task, folder: Path) -> tuple[Task, bool]:
        """A kernel after one more candidate, and whether there may be others."""
        made = task.known + task.trials
        begun = time.perf_counter()
        tried = self._job(
            "step",
            folder,
            function=task.function,
            trials=self.order.trials - made,
            upto=self.order.trials,
            seed=self.order.seed + made,
            cores=sorted(allowed()) or [0],
            cost_model=self.order.cost_model,
        )["tried"]
        if tried is None:
            return task, False
        with self._lock:
            self._trials.append(Trial(made, task.function, **tried, seconds=time.perf_counter() - begun))
        failures = dict(task.failures)
        if tried["us"] is None:
            failures[tried["reason"]] = failures.get(tried["reason"], 0) + 1
        best = min((us for us in (tried["us"], task.best_us) if us is not None), default=None)
        plain = tried["us"] if tried["plain"] else task.plain_us
        return replace(task, trials=task.trials + 1, best_us=best, plain_us=plain, failures=failures), True

    def _put(self, task: Task) -> None:
        """Show a kernel as it is now."""
        with self._lock:
            self._tasks = tuple(task if task.function == other.function else other for other in self._tasks)
        best = "" if task.best_us is None else f", best {task.best_us:.3g} us"
        self._at(f"{task.function}: {task.known + task.trials} of {self.order.trials} candidates{best}")

    def __str__(self) -> str:
        """Where it is, in a sentence."""
        left = f", about {self.left:.0f} s left" if self.left else ""
        failed = sum(self.failures.values())
        tried = f"{len(self.trials)} candidates tried, {failed} of them failed{left}"
        return visible(f"{self.status}: {tried}; {self.doing or self.error}".rstrip("; "))

    def _repr_html_(self) -> str:
        import pandas as pd

        names = ("function", "op", "weight", "before_us", "plain_us", "best_us", "known", "trials", "status")
        rows = [{name: getattr(task, name) for name in names} for task in self.tasks]
        return f"<p>{escape(str(self))}</p>{pd.DataFrame(rows, columns=list(names)).to_html()}"
