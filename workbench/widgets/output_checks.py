"""Checks of the outputs of a trace's steps in a background thread, for the Workbench and the PassStepper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.pipeline.trace import Trace
from workbench.widgets.background import Background, Busy, Task
from workbench.widgets.page_types import CheckState

if TYPE_CHECKING:
    from workbench.pipeline.checks import StepCheck

Checked = dict[str, CheckState]
"by the place of the step, as text"


class OutputChecks:
    """A runner of `trace.check` on the steps that changed something, which shows each result.

    Parameters
    ----------
    found
        Called with all results so far.
    busy
        Called with the progress, and with None at the end.
    failed
        Called with a title and a sentence.
    """

    def __init__(
        self,
        found: Callable[[Checked], None],
        busy: Callable[[Busy | None], None],
        failed: Callable[[str, str], None],
    ) -> None:
        self._found = found
        self._failed = failed
        self._work = Background("workbench-checks", lambda error: failed("The check failed", f"{error}"), busy)

    def start(self, trace: Trace) -> None:
        """Check a trace, instead of the one that is being checked."""
        self._work.submit(lambda task: self._check(trace, task))

    def cancel(self) -> None:
        """Stop; the results stay."""
        self._work.cancel()

    def wait(self, timeout: float) -> bool:
        """Wait until everything is checked; return whether that was in time."""
        return self._work.wait(timeout)

    def _check(self, trace: Trace, task: Task) -> None:
        places = [place for place, step in enumerate(trace.steps) if step.changed]
        checked: Checked = {}

        def found(row: StepCheck) -> None:
            done = places.index(row.step) + 1
            first = None if row.first is None else (row.first.before, row.first.after)
            checked[str(row.step)] = {"status": row.status, "text": row.message, "first": first}
            if task.wanted:
                self._found(dict(checked))
                share = done / len(places)
                task.report(f"Checking outputs: {row.name} ({done} of {len(places)})", share, at_once=True)

        self._found({})
        task.report("Checking outputs", 0.0, at_once=True)
        try:
            trace.check(places, progress=found, cancelled=lambda: not task.wanted)
        except WorkbenchError as error:
            if task.wanted:
                self._failed("The outputs cannot be checked", str(error))
