"""One configuration for one target, from the build to the finished row: count, check, run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, WorkbenchError
from workbench.measure.kernels.kernels import from_result
from workbench.measure.remote.builders import counts_in
from workbench.measure.remote.tracker import Tracker
from workbench.measure.rows import counted, device_of, timed
from workbench.measure.status import status_of
from workbench.measure.timing.reference import reference
from workbench.pipeline.config import Config
from workbench.pipeline.legal import check
from workbench.worker.cuda import CudaFacts, why_not
from workbench.worker.parent import Progress, never, silent, worker

JOBS = "workbench.measure.timing.jobs"


@dataclass(frozen=True)
class Limits:
    """How much to spend, and what to look at."""

    budget: float = 1.0
    timeout: float = 600.0
    memory: int | None = None
    seed: int = 0
    check: bool = True
    per_kernel: bool = False
    progress: Progress = silent
    cancelled: Callable[[], bool] = never
    tracker: Tracker | None = None
    "where to borrow the device; None to run here"
    role: str = "builds"
    "of the child process that does it"

    @property
    def of_a_job(self) -> dict[str, Any]:
        """As `Worker.run` takes them."""
        return {
            "timeout": self.timeout,
            "memory": self.memory,
            "progress": self.progress,
            "cancelled": self.cancelled,
        }


@dataclass(frozen=True)
class Subject:
    """What is measured."""

    origin: Workload
    "what it should compute the same as"
    program: Workload
    "what is handed to the child"
    config: Config
    "as it was asked for"
    build: Config
    "what the child makes of the program: with the pipeline, where the child is to run that too"
    folder: Path | None = None
    "where an executor left the build"

    @staticmethod
    def of(workload: Workload, config: Config) -> Subject:
        """A workload that the child runs the configuration's passes on."""
        return Subject(workload, workload, config, config)


def measured(subject: Subject, target: str, how: Limits, row: dict[str, Any]) -> dict[str, Any]:
    """The row with all that could be found out; what ends early says in `status` and `message` how."""
    try:
        check(subject.origin, subject.config)
        missing = "" if how.tracker else no_device(subject.program, target, how)
        row = row | built(subject, target, how)
        if missing:
            raise NoDevice(missing)
        row = row | ran(subject, target, how)
    except WorkbenchError as error:
        return {**row, "status": status_of(error), "message": str(error)}
    return row


def built(subject: Subject, target: str, how: Limits) -> dict[str, Any]:
    """Compile in the child, which keeps the build: the columns of the counts.

    Raises
    ------
    MeasureError
        It does not compile.
    """
    if subject.folder is not None:
        return counted(from_result(counts_in(subject.folder), subject.config))
    arguments = {"target": target, "config": subject.build.to_data()}
    found = worker(how.role).run(f"{JOBS}:build", subject.program, arguments, **how.of_a_job)
    return counted(from_result(found, subject.config))


def ran(subject: Subject, target: str, how: Limits) -> dict[str, Any]:
    """Run what was built on its device: the columns of times and of the check.

    Raises
    ------
    NoDevice
        There is none here.
    MeasureError
        It does not run.
    """
    expected, why = reference(subject.origin, how.seed, **how.of_a_job) if how.check else (None, "check=False")
    arguments = {
        "target": target,
        "config": subject.build.to_data(),
        "budget": how.budget,
        "seed": how.seed,
        "reference": None if expected is None else str(expected),
        "per_kernel": how.per_kernel,
    }
    if subject.folder is None and how.tracker is None:
        return timed(worker(how.role).run(f"{JOBS}:run", subject.program, arguments, **how.of_a_job), why)
    limits = how.of_a_job
    arguments["folder"] = None if subject.folder is None else str(subject.folder)
    arguments["tracker"] = None
    if how.tracker is not None:
        arguments["tracker"] = how.tracker.for_job(how.timeout)
        limits["timeout"] = how.tracker.patience(how.timeout)
    answer = worker(how.role).run("workbench.measure.remote.jobs:run", subject.program, arguments, **limits)
    return {**timed(answer, why), **answer["conditions"]}


def no_device(workload: Workload, target: str, how: Limits) -> str:
    """Why code for a target cannot be run here; empty where it can, or where only trying tells."""
    if device_of(target) != "cuda":
        return ""
    found = worker().run(f"{JOBS}:cuda", workload, {}, **how.of_a_job)
    return why_not(CudaFacts.of(found), target)
