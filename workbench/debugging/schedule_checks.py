"""`wb.check_schedule`: whether GPU schedules give the right values, found on the CPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.debugging.schedules import ByKernel, build_of, scheduled_module
from workbench.dialects.base import Shapes, Workload
from workbench.dialects.compiler.results import ScheduleCheck, restored
from workbench.dialects.trust import allowed, ask
from workbench.errors import OutOfMemory, WorkerLost
from workbench.experiments.symptoms import ROLE
from workbench.pipeline.config import Config, context_of
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted, one_line
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

WRONG = ("different", "race", "outside")
"verdicts on a schedule that must not be used"


@dataclass(frozen=True)
class ScheduleChecks(ByKernel[ScheduleCheck]):
    """The verdict on the schedule of each kernel."""

    @property
    def wrong(self) -> tuple[ScheduleCheck, ...]:
        """The kernels with other values, with a race, or with an access outside of a buffer."""
        return tuple(check for check in self if check.verdict in WRONG)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a kernel: its verdict, the reason, the first wrong step, the runs, the sizes, and the part of the blocks that was run."""
        import pandas as pd

        columns = ["kernel", "verdict", "because", "step", "primitive", "runs", "sizes", "share"]
        return pd.DataFrame(map(vars, self), columns=columns).astype({"step": "Int64"})

    @property
    def _title(self) -> str:
        known = Counter(check.verdict for check in self)
        parts = ", ".join(f"{number} {verdict}" for verdict, number in known.most_common())
        return f"{counted(len(self), 'kernel')} for {self.target}" + (f": {parts}" if parts else "")

    def __str__(self) -> str:
        return visible("\n".join([self._title, *map(said, self)]))

    def _repr_html_(self) -> str:
        rows = (
            {
                "kernel": check.kernel,
                "verdict": check.verdict,
                "because": check.because,
                "first after": at(check),
                "compared": compared(check),
            }
            for check in self
        )
        return html_table(self._title, rows)


def check_schedule(
    workload: Any,
    target: TargetLike = "cuda",
    kernels: Iterable[str] | None = None,
    rules: Iterable[object] | None = None,
    schedule: Any = None,
    opt_level: int = 3,
    disabled: Sequence[str] = (),
    required: Sequence[str] = (),
    config: Mapping[str, Any] | Config | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    seed: int = 0,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> ScheduleChecks:
    """Check on the CPU that the GPU schedules of kernels give the values of the kernels without a schedule, and have no race.

    TVM lowers each kernel for the target until its barriers are placed. Then blocks and threads become loops, LLVM compiles it, and it
    runs on random and on special values; symbolic sizes are 1, 7, the tile of the grid and the tile + 1. Relax only.

    A reduction over threads is that of a GPU without warps, vectors and unrolled loops are loops, and a tensor core's intrinsic is its own description. A
    kernel that has no such form is "not checked". The code that TVM generates for the GPU is not checked.

    Parameters
    ----------
    workload
        A program; or with `schedule` a PrimFunc or a module of one.
    kernels
        The names of the kernels to check; all of them if None.
    rules
        As for `wb.schedules`.
    schedule
        For one kernel: a function that is given TVM's Schedule of it, a Schedule, or the function after a schedule. It runs in this process.

    Raises
    ------
    Untrusted
        The program brings kernels, and the user does not trust its author: to check a kernel is to run it.
    MeasureError, WorkerLost
        TVM's pipeline or a rule failed, or ended its process. A check that ends its process, or is longer than `timeout`, is "not checked".

    Examples
    --------
    >>> w = wb.samples.load("mlp")
    >>> print(wb.check_schedule(w, "cuda -arch=sm_80"))
    2 kernels for cuda -arch=sm_80: 2 equal
      fused_matmul_add_relu: equal in 2 runs
      transpose: equal in 2 runs
    """
    limits: JobOptions = {"timeout": timeout, "cancelled": cancelled}
    if schedule is not None:
        if isinstance(workload, Workload):
            with allowed(workload.trusted):
                ask()
            workload = workload.module
        kernel = scheduled_module("relax", newest=True).scheduled_by_hand(workload, schedule)
        with showing_progress(progress, f"Checking the schedule of {kernel.name}") as report:
            return _checked([kernel.to_data()], target_text(target), seed, report, limits)
    how = context_of(opt_level, disabled, required, config)
    build = build_of(workload, "check_schedule", target, rules, how, entry, shapes)
    scheduled_module(build.program.dialect, newest=True)
    with allowed(build.program.trusted):
        ask()
    with showing_progress(progress, f"Checking the schedules of {build.program.name}") as report:
        found = build.kernels(kernels, **{**limits, "progress": report})
        return _checked(found["kernels"], build.target, seed, report, limits)


def _checked(
    kernels: Sequence[Mapping[str, Any]], target: str, seed: int, report: Progress, limits: JobOptions
) -> ScheduleChecks:
    """Check kernels, each by a job of its own: a process that ends does not end the other checks."""
    checks: dict[str, ScheduleCheck] = {}
    for place, kernel in enumerate(kernels):
        name = str(kernel["name"])
        report(f"Checking {name}", place / len(kernels))
        try:
            asked = {"kernel": kernel, "target": target, "seed": seed}
            answer = worker(ROLE).run("check_schedule", None, asked, **limits)
            target, checks[name] = answer["target"], restored(ScheduleCheck, answer["check"])
        except (OutOfMemory, WorkerLost) as error:
            if error.status == "cancelled":
                raise
            ended = getattr(error, "crash", "") or error
            checks[name] = ScheduleCheck(name, "not checked", one_line(f"TVM ended the check: {ended}", 300))
    return ScheduleChecks(checks, target)


def at(check: ScheduleCheck) -> str:
    """Return the first step of the schedule after which a kernel is wrong; empty if that is not known."""
    if check.step is None:
        return ""
    return f"step {check.step}, `{check.primitive}`" if check.step else "no step: the kernel itself is so"


def compared(check: ScheduleCheck) -> str:
    """Return how much of a kernel was run."""
    if not check.runs:
        return ""
    part = "" if check.share == 1 else f", {check.share:.0%} of the blocks"
    return counted(check.runs, "run") + part + (f" with {check.sizes}" if check.sizes else "")


def said(check: ScheduleCheck) -> str:
    """Return a verdict as one line."""
    if check.verdict == "equal":
        return f"  {check.kernel}: equal in {compared(check)}"
    first = f"; first after {at(check)}" if check.step else ""
    return f"  {check.kernel}: {check.verdict}: {check.because}{first}"
