"""The search for schedules: candidates of each kernel, one at a time in a child process, then a race of the model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, StoreError, WorkbenchError, check_seconds
from workbench.experiments.engine import Control
from workbench.experiments.schedules.database import begun, folder_for
from workbench.experiments.schedules.result import Task, TunedSchedules
from workbench.experiments.schedules.tasks import measured, selected, tasks_of, with_and_without
from workbench.measurement.build_and_time import MeasureOptions, no_device
from workbench.measurement.machine import conditions
from workbench.measurement.row import CANCELLED, status_of
from workbench.pipeline.config import Config
from workbench.temporary import new_folder
from workbench.wording import counted
from workbench.worker.host import allowed
from workbench.worker.parent import worker

ROLE = "tuning"
"role of the child process in which schedules are searched"
PAUSED = "Waiting to be resumed"
"the step of a paused run as soon as no candidate is under way"


@dataclass(frozen=True)
class Trial:
    """One candidate that this run tried."""

    number: int
    "number among its kernel's candidates, including earlier runs"
    function: str
    us: float | None
    "microseconds of one call; None if it failed"
    reason: str
    "why it failed"
    plain: bool
    "whether it is the kernel without a schedule"
    seconds: float
    "its duration, including compilation before it"


@dataclass(frozen=True)
class ScheduleRequest:
    """The search of one run."""

    workload: Workload
    base: Config
    target: str
    kernels: tuple[Any, ...] | None
    "as for `tasks.selected`"
    trials: int
    "for each kernel, including earlier runs"
    cost_model: str
    folder: str | Path | None = None
    budget: float = 4.0
    "seconds of the race at the end"
    seed: int = 0
    limits: dict[str, Any] = field(default_factory=dict)
    "timeout, memory and cancelled of each job"

    def __post_init__(self) -> None:
        check_seconds(budget=self.budget)


class ScheduleSearch:
    """The search of a ScheduleRun; its thread calls `run`, and any thread may read the attributes.

    Parameters
    ----------
    report
        Called with a text at each step.
    """

    def __init__(self, request: ScheduleRequest, control: Control, report: Callable[[str], None]) -> None:
        self._request, self._control, self._report = request, control, report
        self.target = request.target
        cancelled = request.limits["cancelled"]
        self._limits = {
            **request.limits,
            "progress": lambda what, _part: report(what),
            "cancelled": lambda: control.stopped() or cancelled(),
        }
        self._lock = threading.Lock()
        self._tasks: tuple[Task, ...] = ()
        self._chosen: set[str] = set()
        self._trials: list[Trial] = []

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The kernels and their results so far, the costliest first; none before they are known."""
        with self._lock:
            return self._tasks

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The candidates of this run so far."""
        with self._lock:
            return tuple(self._trials)

    @property
    def waiting(self) -> int:
        """The number of candidates that are not tried yet."""
        open = (task for task in self.tasks if task.function in self._chosen and task.status == "not selected")
        return sum(max(0, self._request.trials - task.known - task.trials) for task in open)

    def run(self) -> TunedSchedules:
        """Search each kernel, then measure and race the model.

        Raises
        ------
        WorkbenchError
            Nothing can be measured here, the model does not build, or the folder cannot be used.
        """
        request = self._request
        missing = no_device(request.workload, self.target, MeasureOptions(**self._limits))
        if missing:
            raise NoDevice(missing)
        how = {"budget": request.budget, "seed": request.seed, **self._limits}
        before = measured(request.workload, request.base, self.target, **how)
        about = {**conditions(request.workload.dialect), "target": before["target"]}
        kept = folder_for(about) if request.folder is None else Path(request.folder)
        folder = new_folder() if kept is None else kept
        begun(folder, about)
        self.target = before["target"]
        answer = self._job("tasks", folder)
        tasks = tasks_of(answer, before["per_kernel"])
        self._chosen = selected(tasks, request.kernels, request.workload, len(answer["graph"]["nodes"]))
        self._tasks = tasks
        for task in tasks:
            self._publish(self._tune(task, folder))
        found = TunedSchedules(
            request.workload,
            request.base,
            self.target,
            folder,
            self.tasks,
            tuple(answer["calls"]),
            answer["graph"],
            request.cost_model,
            before=before,
            kept=kept is not None,
        )
        self._report("Comparing with and without")
        return with_and_without(found, **how)

    def _job(self, name: str, folder: Path, **more: Any) -> dict[str, Any]:
        arguments = {"target": self.target, "config": self._request.base.to_data(), "folder": str(folder), **more}
        return worker(ROLE).run(name, self._request.workload, arguments, **self._limits)

    def _tune(self, task: Task, folder: Path) -> Task:
        """Search one kernel, and return it with the status of its search."""
        if task.function not in self._chosen:
            return replace(task, status="known") if task.known else task
        if task.known >= self._request.trials:
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
        ended = task.known + task.trials < self._request.trials
        return replace(
            task, status="tuned", message="all schedules that MetaSchedule draws were tried" if ended else ""
        )

    def _goes_on(self) -> bool:
        """Wait while paused; return whether to go on."""
        if self._control.paused:
            self._report(PAUSED)
        return self._control.wait() and not self._limits["cancelled"]()

    def _step(self, task: Task, folder: Path) -> tuple[Task, bool]:
        """Try one more candidate; return the kernel with its result, and whether there may be more."""
        request, made = self._request, task.known + task.trials
        begun = time.perf_counter()
        tried = self._job(
            "step",
            folder,
            function=task.function,
            trials=request.trials - made,
            upto=request.trials,
            seed=request.seed + made,
            cores=sorted(allowed()) or [0],
            cost_model=request.cost_model,
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

    def _publish(self, task: Task) -> None:
        """Publish the state of a kernel."""
        with self._lock:
            self._tasks = tuple(task if task.function == other.function else other for other in self._tasks)
        best = "" if task.best_us is None else f", best {task.best_us:.3g} us"
        self._report(
            f"{task.function}: {task.known + task.trials} of {counted(self._request.trials, 'candidate')}{best}"
        )
