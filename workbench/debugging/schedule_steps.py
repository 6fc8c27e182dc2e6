"""The primitives of one kernel's schedule, with the state after each; `wb.ScheduleStepper` shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.debugging.schedules import build_of, scheduled_module
from workbench.dialects.base import Shapes, Workload
from workbench.dialects.compiler.results import CheckedSchedule, KernelCode, ScheduleState, ScheduleStep, restored
from workbench.dialects.trust import allowed
from workbench.errors import MeasureError, UnknownName, WorkbenchError
from workbench.experiments.symptoms import ROLE
from workbench.pipeline.config import Config, context_of
from workbench.target_text import TargetLike, kind_of
from workbench.worker.parent import worker

SECONDS = 0.2
"for each of the two timings of a check"


@dataclass(frozen=True)
class ScheduleSteps(Sequence[ScheduleStep]):
    """The steps of a kernel's schedule. `states[step.state]` is the state after a step, and `states[0]` that before all."""

    kernel: str
    kernels: tuple[str, ...] = field(repr=False)
    "of the program"
    target: str
    origin: str
    "where the schedule comes from, in words"
    steps: tuple[ScheduleStep, ...] = field(repr=False)
    states: tuple[ScheduleState, ...] = field(repr=False)
    forms: tuple[str, ...] = field(repr=False)
    "of generated code, the target's own first"
    printed: str = field(repr=False)
    "the schedule as Python; empty if TVM does not print it"
    unprinted: str = field(repr=False)
    "the reason why"
    edits: Mapping[int, Sequence[int | None]]
    "the decisions that were changed, by step"
    _program: Workload = field(repr=False)
    _asked: Mapping[str, Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, place: Any) -> Any:
        return self.steps[place]

    @property
    def error(self) -> str:
        """TVM's error, of the step that failed; empty if none did."""
        return next((step.error for step in self.steps if step.error), "")

    @property
    def checkable(self) -> bool:
        """Return whether the kernel can be run on this machine's CPU."""
        return kind_of(self.target) == "llvm"

    def decide(self, step: int, *value: int | None, **limits: Any) -> ScheduleSteps:
        """Return the steps with another decision: the factors of a split or tile, None for the one that TVM computes.

        Without a value the step decides again as at first.

        Raises
        ------
        MeasureError
            The step decides nothing, or no tile has these factors. Factors that a later step does not take are an error of that step.
        """
        edits = {place: each for place, each in self.edits.items() if place != step}
        return self._with({**edits, step: value} if value else edits, limits)

    def undo(self, **limits: Any) -> ScheduleSteps:
        """Return the steps with all decisions as at first."""
        return self._with({}, limits)

    def _with(self, edits: Mapping[int, Sequence[int | None]], limits: Mapping[str, Any]) -> ScheduleSteps:
        return _steps(self._program, self._asked, self.kernels, edits, limits)

    def code(self, form: str = "", **limits: Any) -> str:
        """Return the generated code of the scheduled kernel: a form of `forms`.

        Raises
        ------
        MeasureError
            TVM does not compile it.
        """
        return self._code(form, False, limits).text

    def linked_code(self, form: str = "", **limits: Any) -> KernelCode:
        """Return the generated code, with the loop or block that each line comes from. Raises MeasureError: TVM does not compile it."""
        return self._code(form, True, limits)

    def _code(self, form: str, linked: bool, limits: Mapping[str, Any]) -> KernelCode:
        asked = {**self._asked, "form": form or self.forms[0], "linked": linked}
        answer = worker(ROLE).run("schedule_code", self._program, asked, **limits)
        return restored(KernelCode, answer)

    def lines(self, row: int | str, form: str = "", **limits: Any) -> list[int]:
        """Return the numbers, from 0, of the lines of generated code that come from a loop or block, and from those in it.

        `row`: its place in `states[-1].rows`, or the name of one or more.

        Raises
        ------
        MeasureError
            TVM does not compile it, or it is not known where the lines come from.
        """
        code, rows = self.linked_code(form, **limits), self.states[-1].rows
        if code.unlinked:
            raise MeasureError(code.unlinked)
        names = {place: each.name for place, each in enumerate(rows) if each.kind != "buffer"}
        found = [place for place, name in names.items() if row in (place, name)]
        if not found:
            raise UnknownName("loop or block", str(row), list(names.values()))
        wanted = set[int | None]()
        for place in found:
            after = (n for n in range(place + 1, len(rows)) if rows[n].depth <= rows[place].depth)
            wanted.update(range(place, next(after, len(rows))))
        return [line for line, place in enumerate(code.rows) if place in wanted]

    def check(self, sizes: Mapping[str, int] | None = None, **limits: Any) -> CheckedSchedule:
        """Run the kernel with its schedule and without on this CPU, with random inputs; compare and time both.

        `sizes`: of symbolic dimensions, 33 where there is none.

        Raises
        ------
        MeasureError
            TVM does not compile one of the two.
        WorkbenchError
            The target is not this machine's CPU.
        """
        if not self.checkable:
            raise WorkbenchError(f"a kernel for {self.target} is not run here: only one for `llvm` is")
        asked = {**self._asked, "sizes": dict(sizes or {}), "budget": SECONDS}
        answer = worker(ROLE).run("run_schedule", self._program, asked, **limits)
        return restored(CheckedSchedule, answer)

    def python(self) -> str:
        """Return a script that makes the scheduled kernel with TVM alone. Raises WorkbenchError: TVM does not print it as Python."""
        if self.unprinted:
            raise WorkbenchError(self.unprinted)
        return self.printed


def schedule_steps(
    workload: object,
    kernel: str | None = None,
    target: TargetLike = "cuda",
    schedule: str | Callable[[Any], object] | None = None,
    config: Mapping[str, Any] | Config | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    **limits: Any,
) -> ScheduleSteps:
    """Return the steps of the schedule of one kernel; `wb.ScheduleStepper` has the parameters."""
    if type(workload).__name__ == "PrimFunc":
        # the caller has imported TVM to make one
        module = sys.modules["tvm"].IRModule({"main": workload})
        workload = Workload(module, {}, "main", "relax", trusted=True)
    build = build_of(workload, "ScheduleStepper", target, None, context_of(3, (), (), config), entry, shapes)
    scheduled = scheduled_module(build.program.dialect)
    if schedule is None or isinstance(schedule, str):
        found = replace(build, rules=(schedule,) if schedule else ()).kernels([kernel or ""], **limits)
        (given,), names = found["kernels"], found["names"]
    else:
        if not callable(schedule):
            raise WorkbenchError(f"schedule is a rule's name or a function of a TVM Schedule, not {schedule!r:.80}")
        with allowed(build.program.trusted):
            kernels = scheduled.scheduled_kernels(build.program, build.target, build.config.to_data())
            given = scheduled.chosen(kernels, kernel or "").by(schedule).to_data()
        names = kernels
    return _steps(build.program, {"target": build.target, "kernel": given}, tuple(names), {}, limits)


def _steps(
    program: Workload,
    asked: Mapping[str, Any],
    kernels: tuple[str, ...],
    edits: Mapping[int, Sequence[int | None]],
    limits: Mapping[str, Any],
) -> ScheduleSteps:
    asked = {**asked, "changed": [[place, list(value)] for place, value in edits.items()]}
    answer = worker(ROLE).run("schedule_steps", program, asked, **limits)
    more = {"target": asked["target"], "kernels": kernels, "edits": dict(edits), "_program": program, "_asked": asked}
    return restored(ScheduleSteps, answer, **more)
