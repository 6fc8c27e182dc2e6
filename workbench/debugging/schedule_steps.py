"""The primitives of one kernel's schedule, with the state after each; `wb.ScheduleStepper` shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.debugging.schedules import scheduled_module
from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.dialects.compiler.results import (
    CheckedSchedule,
    Decision,
    KernelCode,
    LoopRow,
    ScheduleState,
    ScheduleStep,
)
from workbench.dialects.trust import allowed
from workbench.errors import MeasureError, UnknownName, WorkbenchError
from workbench.experiments.symptoms import ROLE
from workbench.pipeline.config import AS_IS, Config, check_config, context_of
from workbench.target_text import TargetLike, kind_of, target_text
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, worker

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
    edits: Mapping[int, Sequence[int | None]]
    "the decisions that were changed, by step"
    _program: Workload = field(repr=False)
    _asked: Mapping[str, Any] = field(repr=False)
    _python: tuple[str, str] = field(repr=False)

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
        return _steps(self._program, self._asked, {**edits, step: value} if value else edits, limits)

    def undo(self, **limits: Any) -> ScheduleSteps:
        """Return the steps with all decisions as at first."""
        return _steps(self._program, self._asked, {}, limits)

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
        answer = worker(ROLE).run("schedule_code", self._program, asked, **_options(limits))
        return KernelCode(**{**answer, "rows": tuple(answer["rows"])})

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
        answer = worker(ROLE).run("run_schedule", self._program, asked, **_options(limits))
        return CheckedSchedule(**{**answer, "plain": tuple(answer["plain"]), "scheduled": tuple(answer["scheduled"])})

    def python(self) -> str:
        """Return a script that makes the scheduled kernel with TVM alone. Raises WorkbenchError: TVM does not print it as Python."""
        if self._python[1]:
            raise WorkbenchError(self._python[1])
        return self._python[0]


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
    program = choose_entry(_program_of(workload), entry, shapes)
    how = context_of(3, (), (), config)
    if how.disabled != AS_IS:  # which names passes of both dialects
        check_config(program, how)
    asked: dict[str, Any] = {"target": target_text(target), "config": how.to_data(), "rules": [], "given": None}
    asked["kernel"] = kernel or ""
    scheduled = scheduled_module(program.dialect)
    if isinstance(schedule, str):
        asked["rules"] = [schedule]
    elif schedule is not None:
        if not callable(schedule):
            raise WorkbenchError(f"schedule is a rule's name or a function of a TVM Schedule, not {schedule!r:.80}")
        with allowed(program.trusted):
            kernels = scheduled.scheduled_kernels(program, asked["target"], how.context().to_data())
            asked["given"] = scheduled.chosen(kernels, asked["kernel"]).by(schedule).to_data()
    return _steps(program, asked, {}, limits)


def _program_of(source: object) -> Workload:
    if type(source).__name__ == "PrimFunc":
        # the caller has imported TVM to make one
        module = sys.modules["tvm"].IRModule({"main": source})
        return Workload(module, {}, "main", "relax", trusted=True)
    return workload_of(source, "ScheduleStepper")


def _options(limits: Mapping[str, Any]) -> JobOptions:
    options: JobOptions = {"timeout": TIMEOUT, **limits}  # pyright: ignore[reportAssignmentType]  the names are those of JobOptions
    return options


def _steps(
    program: Workload, asked: Mapping[str, Any], edits: Mapping[int, Sequence[int | None]], limits: Mapping[str, Any]
) -> ScheduleSteps:
    asked = {**asked, "changed": [[place, list(value)] for place, value in edits.items()]}
    answer = worker(ROLE).run("schedule_steps", program, asked, **_options(limits))
    return ScheduleSteps(
        answer["kernel"],
        tuple(answer["kernels"]),
        asked["target"],
        answer["origin"],
        tuple(_step(each) for each in answer["steps"]),
        tuple(
            replace(ScheduleState(**each), rows=tuple(LoopRow(**row) for row in each["rows"]))
            for each in answer["states"]
        ),
        tuple(answer["forms"]),
        dict(edits),
        program,
        {**asked, "kernel": answer["kernel"]},
        tuple(answer["python"]),
    )


def _step(row: Mapping[str, Any]) -> ScheduleStep:
    found = row["decision"]
    decision = found and Decision(tuple(found["value"]), tuple(map(tuple, found["options"])))
    return ScheduleStep(**{**row, "decision": decision})
