"""One configuration for one target, from the build to the finished row: count, check, run."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, NoDevice, NotRepeatable, WorkbenchError, WorkerLost, check_seconds
from workbench.measurement.kernels import from_result
from workbench.measurement.remote.executor import awaited, counts_in
from workbench.measurement.remote.tracker import Tracker
from workbench.measurement.repeats import quartiles
from workbench.measurement.row import OK, WRONG, Row, device_of
from workbench.pipeline.config import Config, check_config
from workbench.temporary import new_folder
from workbench.worker.cuda import CudaFacts, why_not
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, silent, worker

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class TimeRequest:
    """A build to run and to time."""

    target: str
    config: Mapping[str, object]
    "a Config's data"
    budget: float
    "seconds"
    seed: int
    "of the random inputs"
    reference: str | None
    "the file with the expected outputs; None to compare nothing"
    per_kernel: bool
    folder: str | None = None
    "folder of a build that an executor made; None to build here"
    tracker: Mapping[str, Any] | None = None
    "the fields of a Tracker, and `wait`: seconds to wait for a free device; None to run here"


@dataclass(frozen=True)
class RaceRequest:
    """Two configurations to build and to run in turn."""

    target: str
    configs: Sequence[Mapping[str, object]]
    budget: float
    seed: int
    reference: str | None
    tracker: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """Limits of a measurement, and its options."""

    budget: float = 1.0
    timeout: float = TIMEOUT
    memory: int | None = None
    seed: int = 0
    check: bool = True
    per_kernel: bool = False
    progress: Progress = silent
    cancelled: Callable[[], bool] = never
    tracker: Tracker | None = None
    "where to borrow the device; None to run here"
    executor: Executor | None = None
    "compiles; None to build in the child that runs it"
    role: str = ""
    "of the child process that does the work, if it is not the usual one"

    def __post_init__(self) -> None:
        check_seconds(budget=self.budget, timeout=self.timeout)

    @property
    def of_a_job(self) -> JobOptions:
        return {
            "timeout": self.timeout,
            "memory": self.memory,
            "progress": self.progress,
            "cancelled": self.cancelled,
        }


@dataclass(frozen=True)
class Variant:
    """A configuration of a program to measure, and its row so far."""

    row: Row
    target: str
    origin: Workload
    "the program whose outputs it should have"
    program: Workload
    "the program that is sent to the child"
    config: Config
    "as requested"
    build: Config
    "the configuration of the child's build: with the pipeline, if the child runs that too"
    folder: Path | None = None
    "the build of an executor"


def measured(variant: Variant, limits: MeasureOptions, order: Future[Path] | None = None) -> Row:
    """Build, check and time; a failure is in the row's `status` and `message`. `order` is the build on an executor."""
    row = variant.row
    if row.status is not None:
        return row
    try:
        if limits.cancelled():
            raise WorkerLost("cancelled before it was measured", "cancelled")
        if order is not None:
            awaited(order, limits.progress, limits.cancelled)
            variant = replace(variant, folder=order.result())
        check_config(variant.origin, variant.config)
        missing = "" if limits.tracker else no_device(variant.program, variant.target, limits)
        row = _built(variant, limits)
        if missing:
            raise NoDevice(missing)
        return _run(replace(variant, row=row), limits)
    except WorkbenchError as error:
        return row.failed(error)


def _built(variant: Variant, limits: MeasureOptions) -> Row:
    """Compile in the child, which keeps the build, and return the row with its counts."""
    if variant.folder is not None:
        answer = counts_in(variant.folder)
    else:
        request = {"target": variant.target, "config": variant.build.to_data()}
        answer = worker(limits.role).run("build", variant.program, request, **limits.of_a_job)
    found = from_result(answer, variant.config)
    return replace(variant.row, kernels=found.calls, **{name: getattr(found, name) for name in _BUILT})


_BUILT = ("target", "functions", "launches", "noops", "traffic_bytes", "peak_bytes", "flops", "build_seconds")
"columns with the same names as in Kernels"
_TIMED = (
    *("samples", "number", "settled", "method", "max_abs_error", "max_rel_error", "per_kernel", "kernel_method"),
    *("threads", "gpu_clock_mhz"),
)
"columns with the same names as in the answer of the job `run`"


def _run(variant: Variant, limits: MeasureOptions) -> Row:
    expected, why = reference(variant.origin, limits.seed, **limits.of_a_job) if limits.check else (None, "check=False")
    tracker, of_a_job = limits.tracker, limits.of_a_job
    request = TimeRequest(
        target=variant.target,
        config=variant.build.to_data(),
        budget=limits.budget,
        seed=limits.seed,
        reference=None if expected is None else str(expected),
        per_kernel=limits.per_kernel,
        folder=None if variant.folder is None else str(variant.folder),
        tracker=None if tracker is None else tracker.for_job(limits.timeout),
    )
    if tracker is not None:
        of_a_job["timeout"] = tracker.patience(limits.timeout)
    job = "run" if variant.folder is None and tracker is None else "run_elsewhere"
    answer = worker(limits.role).run(job, variant.program, asdict(request), **of_a_job)
    low, middle, high = (1e6 * seconds for seconds in quartiles(answer["samples"]))
    known = {name: answer.get(name) for name in _TIMED} | answer.get("conditions", {})
    if answer.get("per_kernel") is not None:
        together = sum(kernel["median_us"] for kernel in answer["per_kernel"])
        known |= {"kernels_sum_us": together, "overhead_us": middle - together}
    same = answer.get("same")
    return replace(
        variant.row,
        **known,
        status=WRONG if same is False else OK,
        message=f"the outputs are not the reference's: {answer['said']}" if same is False else "",
        check=f"not checked: {why}" if same is None else OK if same else WRONG,
        median_us=middle,
        q1_us=low,
        q3_us=high,
    )


def no_device(workload: Workload, target: str, how: MeasureOptions) -> str:
    """Return the reason why code for a target cannot run here; empty if it can, or if only a run can decide."""
    if device_of(target) != "cuda":
        return ""
    found = worker().run("cuda", workload, {}, **how.of_a_job)
    return why_not(CudaFacts.of(found), target)


_found: weakref.WeakKeyDictionary[Workload, dict[int, Path | str]] = weakref.WeakKeyDictionary()
_making = threading.Lock()
"several devices request the same reference at the same time"
_folder = cache(new_folder)


def reference(workload: Workload, seed: int, **limits: Unpack[JobOptions]) -> tuple[Path | None, str]:
    """Return the file with the outputs for a seed's random inputs, or None and the reason; WorkerLost if it was cancelled."""
    with _making:
        known = _found.setdefault(workload, {})
        if seed not in known:
            known[seed] = _write_reference(workload, seed, limits)
        found = known[seed]
    return (None, found) if isinstance(found, str) else (found, "")


def _write_reference(workload: Workload, seed: int, limits: JobOptions) -> Path | str:
    path = _folder() / f"{id(workload)}-{seed}.npz"
    try:
        worker().run("reference", workload, {"seed": seed, "path": str(path)}, **limits)
    except MeasureError as error:
        cancelled: Callable[[], bool] = limits.get("cancelled", bool)
        if cancelled():
            raise
        # a second attempt would fail too and take as long
        if isinstance(error, NotRepeatable):
            return str(error)
        return f"the reference could not be computed: {error}"
    weakref.finalize(workload, path.unlink, missing_ok=True)
    return path
