"""The ScheduleStepper: the primitives of a kernel's schedule, its loops and its TVMScript after each, and other decisions.

The page has all states, so a step needs no request to the kernel. A decision that is changed there is replayed by TVM in the child.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import traitlets

from workbench.debugging.schedule_steps import ScheduleSteps, schedule_steps
from workbench.dialects.base import Shapes, Workload
from workbench.dialects.compiler.results import CheckedSchedule
from workbench.dialects.compiler.results import ScheduleState as StateValue
from workbench.errors import UnknownKeyword, UnknownName, WorkbenchError
from workbench.measurement.machine import GPUS, Ceilings
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike
from workbench.widgets.background import Task
from workbench.widgets.base import SAVED, TextView, json_trait, page, saved_traits
from workbench.widgets.blocks import Block, action, code, entry, sendable, words
from workbench.widgets.host import Host
from workbench.widgets.messages import act, field, verb
from workbench.widgets.page_types import LoopRow, ScheduleList, ScheduleSource, ScheduleState, ScheduleStepState, Status
from workbench.widgets.pictures import write
from workbench.widgets.still import AGAIN
from workbench.wording import counted, duration

FORMS = {"llvm": "LLVM IR", "asm": "Assembly", "c": "C", "cuda": "CUDA C", "ptx": "PTX", "tir": "TIR"}
START = -1
"the step before all"


class ScheduleStepper(TextView):
    """A view that steps through the schedule of one kernel: its primitives, loops, TVMScript, and the decisions among them.

    Every UI action has a Python equivalent. `stepper.steps` has the steps and the states as values; `stepper.steps.code("cuda")` is the
    generated code, `stepper.steps.lines("matmul", "cuda")` the lines of it that come from a block, and `stepper.steps.python()` a script that makes the kernel with TVM alone.

    Parameters
    ----------
    workload
        A Workload of Relax, or a PrimFunc.
    kernel
        The name of a kernel, as `wb.schedules` and `wb.kernels` list it; the first one by default.
    target
        As TVM writes it. TVM's pipeline for a CPU has no rules.
    schedule
        The name of a rule of dlight, `"GEMV"` or `"gpu.GEMV"`; or a function that is called with a TVM Schedule of the kernel and
        changes it. By default the schedule that TVM's pipeline gives the kernel, or the record of the config's database.
    config
        PassContext config, or a whole Config; with a database of schedules its record of the kernel is shown.
    gpu
        A GPU whose limits the kernel is compared with: "A100", "H100", "RTX 4090", or a `Ceilings` of your own; `wb.ceilings()`
        for this CPU.
    step
        The number of the shown step, -1 for the kernel without a schedule; the last one by default.
    lookups
        Whether primitives that only look something up are listed.
    height
        In CSS pixels.

    Raises
    ------
    MeasureError
        There is no such kernel or rule, or TVM's pipeline failed before it came to the kernels.

    Examples
    --------
    >>> stepper = wb.ScheduleStepper(wb.samples.load("mlp"), "fused_matmul_add_relu", "cuda -arch=sm_80")
    >>> split = next(place for place, step in enumerate(stepper.steps) if step.decision)
    >>> stepper.decide(None, 32, step=split)
    >>> print(stepper.steps[split].decision.value)
    (None, 32)
    """

    _view = traitlets.Unicode("schedule").tag(**SAVED)
    schedule = json_trait(ScheduleList, "the steps, and the states between them")
    step = traitlets.Int(START, help="number of the shown step; -1: before all").tag(**SAVED)
    lookups = traitlets.Bool(False, help="list primitives that only look something up").tag(**SAVED)
    headline = traitlets.Unicode(help="the kernel, its target, and where its schedule comes from").tag(**SAVED)
    blocks = json_trait(list[Block], "the check, and the Python of the schedule")
    source = json_trait(ScheduleSource, "the generated code that was asked for")
    status = json_trait(Status, "what is being done, and what failed", saved=False)
    gpu = traitlets.Any(None, help="the limits that the kernel is compared with: the name of a GPU, or Ceilings")
    height = traitlets.Int(560, min=240, help="height in CSS pixels").tag(**SAVED)

    def __init__(
        self,
        workload: Workload | Any,
        kernel: str | None = None,
        target: TargetLike = "cuda",
        schedule: str | Callable[[Any], object] | None = None,
        *,
        config: Mapping[str, Any] | Config | None = None,
        entry: str | None = None,
        shapes: Shapes | None = None,
        **traits: object,
    ) -> None:
        known = ["step", "lookups", "gpu", "height", "layout"]
        UnknownKeyword.refuse("ScheduleStepper", (name for name in traits if name not in known), known)
        self.steps = schedule_steps(workload, kernel, target, schedule, config, entry=entry, shapes=shapes)
        self.checked: CheckedSchedule | None = None
        "the result of the last check of these decisions"
        self._first: CheckedSchedule | None = None
        self._python = False
        failed = next((place for place, step in enumerate(self.steps) if step.error), len(self.steps) - 1)
        self._host = Host(self, self, title="That failed", in_order=True)
        super().__init__(**{"step": failed, **traits})
        self._show()

    # -- the Python interface

    def decide(self, *value: int | None, step: int | None = None) -> None:
        """Change the decision of a step, the shown one by default: `decide(None, 32)` the factors of a split.

        Without a value the step decides as at first.

        Raises
        ------
        MeasureError
            The step decides nothing, or no tile has these factors. Factors that a later step does not take are an error of that step.
        """
        self._put(self.steps.decide(self._shown(step), *value))

    def check(self, sizes: Mapping[str, int] | None = None) -> CheckedSchedule:
        """Run the kernel with its schedule and without on this CPU; compare and time both. `sizes`: of symbolic dimensions.

        Raises
        ------
        WorkbenchError
            The target is not this machine's CPU, or TVM does not compile the kernel.
        """
        self._keep(self.steps.check(sizes))
        assert self.checked is not None
        return self.checked

    def wait(self, timeout: float = 120) -> bool:
        """Wait until the page's requests are done; return whether that happened in time."""
        return self._host.work.wait(timeout)

    def save(self, path: str | Path) -> Path:
        """Save the view as one `.html` file. Raises WorkbenchError: another suffix."""
        path = Path(path).expanduser()
        if path.suffix.lower() != ".html":
            raise WorkbenchError(f"{path.name!r} was not written: a ScheduleStepper is saved as .html")
        return write(path, page(saved_traits(self), f"{self.steps.kernel[:80]} - tvm-workbench"))

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        return self._shown(proposal["value"])

    def _shown(self, step: int | None) -> int:
        place = self.step if step is None else step
        if not START <= place < len(self.steps):
            raise WorkbenchError(f"there is no step {place}; the steps are -1 (before all) to {len(self.steps) - 1}")
        return place

    # -- messages of the page

    @field("schedule-decision")
    def _decide(self, value: str) -> None:
        decision = self.steps[self.step].decision if self.step >= 0 else None
        chosen = next((each for each in decision.options if _factors(each) == value), None) if decision else None
        if chosen is not None:
            self.decide(*chosen)

    @act("schedule-undo")
    def _undo(self) -> None:
        self._put(self.steps.undo())

    @act("schedule-check")
    def _check(self) -> None:
        self._later("check", "Running the kernel", lambda limits: self._keep(self.steps.check(**limits)))

    @act("schedule-code")
    def _generate(self, arg: str) -> None:
        if arg not in self.steps.forms:
            return
        steps = self.steps

        def put(limits: Mapping[str, Any]) -> None:
            made = steps.linked_code(arg, **limits)
            with self.hold_sync():
                self.step = len(steps) - 1
                self.source = {"form": FORMS[arg], "text": made.text, "rows": list(made.rows), "note": made.unlinked}

        self._later("code", "Compiling the kernel", put)

    def _later(self, lane: str, what: str, work: Callable[[Mapping[str, Any]], object]) -> None:
        """Call a function with the limits of its jobs in the background, and show its error."""

        def run(task: Task) -> None:
            self._host.push(error=None)
            work({"progress": task.report, "cancelled": task.cancelled})

        self._host.work.lane(lane, self._host.refuse).submit(run, what)

    @act("schedule-python")
    def _toggle_python(self) -> None:
        self._python = not self._python
        self._show()

    @verb("cancel")
    def cancel(self) -> None:
        """Stop the background work."""
        self._host.work.cancel()

    # -- the content

    def _put(self, steps: ScheduleSteps) -> None:
        with self.hold_sync():
            self.steps, self.checked, self.source = steps, None, {}
            self.step = min(self.step, len(steps) - 1)
            self._show()

    @traitlets.validate("gpu")
    def _known_gpu(self, proposal: dict[str, object]) -> str | Ceilings | None:
        given = proposal["value"]
        if given is None or isinstance(given, Ceilings) or given in GPUS:
            return given  # pyright: ignore[reportReturnType]  a text is a name of GPUS
        raise UnknownName("GPU", str(given), GPUS)

    @traitlets.observe("gpu")
    def _other_gpu(self, _: object) -> None:
        self.schedule = self._list()

    def _keep(self, checked: CheckedSchedule) -> None:
        self.checked = checked
        if not self.steps.edits:
            self._first = checked
        self._show()

    def _show(self) -> None:
        steps = self.steps
        with self.hold_sync():
            self.schedule = self._list()
            self.headline = f"{steps.kernel} for {steps.target}: {counted(len(steps), 'step')}, {steps.origin}"
            self.blocks = sendable(self._blocks())

    def _list(self) -> ScheduleList:
        states: list[ScheduleState] = [
            {
                "script": state.script,
                "rows": [LoopRow(**vars(row)) for row in state.rows],
                "facts": [f"{name}: {value}" for name, value in {**state.facts, **dict(self._roofline(state))}.items()],
            }
            for state in self.steps.states
        ]
        return {"steps": [self._step(place) for place in range(len(self.steps))], "states": states}

    def _roofline(self, state: StateValue) -> Iterator[tuple[str, str]]:
        """Yield the arithmetic intensity of the kernel, and the least time that the GPU's limits allow."""
        if not state.flops or not state.bytes:
            return
        said = f"{state.flops / state.bytes:.3g} FLOP a byte of the arguments"
        limits = GPUS[self.gpu] if isinstance(self.gpu, str) else self.gpu
        name = self.gpu if isinstance(self.gpu, str) else "a machine of these limits"
        if limits is not None:
            times = {
                "memory": state.bytes / limits.bytes_per_second,
                "arithmetic": state.flops / limits.flops_per_second,
            }
            slowest = max(times, key=lambda each: times[each])
            said += f"; at least {duration(times[slowest] * 1e6)} on {name}, by {slowest} ({limits.method})"
        yield "intensity", said

    def _step(self, place: int) -> ScheduleStepState:
        step = self.steps[place]
        made: ScheduleStepState = {
            "text": step.text,
            "names": dict(step.names),
            "state": step.state,
            "pure": step.pure,
            "error": step.error,
        }
        if step.decision is not None:
            options = [_factors(each) for each in step.decision.options]
            label = "Changed to" if place in self.steps.edits else "Decides"
            shown = "? is computed by TVM" if None in step.decision.value else ""
            value = _factors(step.decision.value)
            made["entry"] = entry("select", "schedule-decision", label, value, options=options, show=shown)
        return made

    def _blocks(self) -> list[Block]:
        steps, made = self.steps, list[Block]()
        if steps.edits:
            made.append(action("Undo all changes", "schedule-undo", title="All decisions as at first"))
        off = "" if steps.checkable else "a kernel for a GPU is not run here; wb.check_schedule checks its values"
        made.append(action("Check and time", "schedule-check", title="With the schedule and without", off=off))
        made += [
            action(FORMS[form], "schedule-code", arg=form, title=f"Generated code: {FORMS[form]}")
            for form in steps.forms
            if form != "tir"
        ]
        made.append(action("Python", "schedule-python", title="A script that makes this kernel with TVM alone"))
        made += self._result()
        if self._python:
            try:
                made.append(code(steps.python(), "schedule-script"))
            except WorkbenchError as error:
                made.append(words(str(error), "bad"))
        return made

    def _result(self) -> list[Block]:
        found = self.checked
        if found is None:
            return []
        said = (
            f"Different: {found.different}."
            if found.different
            else "The values are those of the kernel without a schedule."
        )
        times = {"without a schedule": found.plain, "with this schedule": found.scheduled}
        if self.steps.edits and self._first is not None:
            times["with its decisions as at first"] = self._first.scheduled
        listed = ", ".join(f"{duration(1e6 * median(each))} {name}" for name, each in times.items())
        return [
            words(said, "bad" if found.different else "strong", "schedule-checked"),
            words(
                f"One run takes {listed}: medians of {counted(len(found.plain), 'sample')} on this CPU, random inputs.",
                "small",
            ),
        ]

    def _still_words(self, *, drawn: bool) -> str:  # noqa: ARG002  it has no picture
        steps = "".join(f"<li><code>{html.escape(step.text)}</code></li>" for step in self.steps if not step.pure)
        error = f"<p>{html.escape(self.steps.error)}</p>" if self.steps.error else ""
        return f"<p>{html.escape(self.headline)}. {AGAIN}</p>{error}<ol>{steps}</ol>"


def _factors(value: tuple[int | None, ...]) -> str:
    return ", ".join("?" if each is None else str(each) for each in value)
