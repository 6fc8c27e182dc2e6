"""From a choice of passes to a trace and a picture, in a background thread.

The newest choice wins, and the previous picture stays until the new one is ready.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError, check_seconds
from workbench.graph.diff import diff
from workbench.pipeline.build import trace_build
from workbench.pipeline.run import Runner, binds
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import State
from workbench.pipeline.trace import Trace
from workbench.widgets import page_types
from workbench.widgets.background import Task
from workbench.widgets.history import History
from workbench.widgets.messages import verb
from workbench.widgets.stepper.trace_states import WHOLE, Checked
from workbench.widgets.workbench.page import Page, Picture, pass_states
from workbench.widgets.workbench.pass_list import Catalog, Choice

RUNNING, NOT_RUN = "passes are running", "not run"
"titles of the right side while it shows the input"
ALL_LEVELS = 4
"the opt level at which TVM runs every pass"


@dataclass(frozen=True)
class Setup:
    """The workload and settings of a session; another function of the module changes only the workload."""

    workload: Workload
    target: str
    catalog: Catalog
    history: History[Choice]
    budget: float
    "seconds to time a configuration"
    source: str = "w"
    "Python for the workload, in the code of the choice"

    def __post_init__(self) -> None:
        check_seconds(budget=self.budget)


class Drawing:
    """The trace of the newest choice, and the picture of one of its steps or of the whole."""

    def __init__(self, setup: Setup, page: Page) -> None:
        self._setup, self._page = setup, page
        self.step = WHOLE
        self.picture: Picture | None = None
        "the picture on the page"
        self.checks: Checked = {}
        self._traced: tuple[Choice, Trace] | None = None
        "the newest trace, and its choice; the trace of a newer choice may still be being made"
        self._mode = setup.history.current.mode
        self._listing = threading.Lock()
        "held while a list of passes is shown, so that an older choice's list is not shown after a newer one's"
        self.runner = Runner(setup.workload)
        # the same for every function of the module: passes run in this process, one after the other
        self._work = page.work.lane("passes")
        self.cancel, self.wait = self._work.cancel, self._work.wait

    # -- the trace

    @property
    def newest(self) -> Trace | None:
        return self._traced[1] if self._traced else None

    @property
    def current(self) -> Trace | None:
        """The trace of the current choice; None while it is being made."""
        traced = self._traced
        return traced[1] if traced is not None and traced[0] == self._setup.history.current else None

    def program_of(self, choice: Choice) -> Workload | None:
        """Return the workload that is compiled for a choice; wait for its trace, return None without one."""
        if choice.mode == "context":
            return self._setup.workload
        traced = self._traced
        if traced is None or traced[0] != choice:
            self.wait(600)
            traced = self._traced
        return self.runner.workload_of(traced[1].end) if traced is not None and traced[0] == choice else None

    # -- requests

    def draw(self, choice: Choice, state: page_types.State) -> None:
        """Show that state and the passes of a choice; make and show its trace, instead of the one that is being made."""
        if choice.mode != self._mode:
            # the other mode has other steps
            self._mode, self.step = choice.mode, WHOLE
        self.show_checks({})
        passes = pass_states(choice, None, self._setup.catalog.infos)
        with self._listing:
            self._page.push(**{**state, "passes": passes, "step": self.step})
        self._work.submit(lambda task: self._draw(choice, task))

    @verb("step")
    def show_step(self, index: int) -> None:
        """Show one pass, or the whole pipeline for -1."""
        trace = self.current
        choice = self._setup.history.current
        listed = len(choice.pipeline) if choice.mode == "pipeline" else 0
        steps = listed if trace is None else len(trace.steps)
        if not WHOLE <= index < steps:
            raise WorkbenchError(f"there is no step {index}; the steps are {WHOLE} (all of them) to {steps - 1}")
        self.step = index
        self._page.push(step=index)
        # a choice whose picture is still being made is drawn at this step when it is ready; a request now would replace it
        if trace is not None:
            self._work.submit(lambda _task: self._draw_step(trace))

    def preview(self, after: Pipeline, name: str, opt_level: int) -> None:
        """Show the module after a pipeline with one more pass; the choice stays as it is."""
        step = Pipeline.parse(name)

        def show(_: Task) -> None:
            here = self.runner.run(after, opt_level).end
            tried = Runner(self.runner.workload_of(here), start=here).run(step, max(opt_level, ALL_LEVELS))
            if tried.failed is not None:
                raise WorkbenchError(tried.failed.error)
            self._show(tried.start, tried.end, (f"before {step}", f"after {step} (preview)"), preview=str(step))

        self._work.submit(show)

    def show_checks(self, checks: Checked) -> None:
        """Show the steps that changed the outputs, and the first node that differs in the step on the page."""
        self.checks = checks
        self._page.show(checks=checks)
        if first := self._first():
            self._page.show(selection=first)

    # -- work

    def _draw(self, choice: Choice, task: Task) -> None:
        """Make the trace of a choice and show it; without a trace the last picture stays."""
        try:
            if self.picture is None and choice.mode == "pipeline" and binds(choice.pipeline):
                # nothing is shown yet, and TVM folds the constants of a large model for a minute
                start = self.runner.run(Pipeline(), choice.opt_level).start
                self._show(start, start, ("before", RUNNING), finished=False)
            self._page.retitle(NOT_RUN, RUNNING)
            trace = self._trace(choice, task)
        except WorkbenchError as error:
            self._traced = None
            self._page.retitle(RUNNING, NOT_RUN)
            if task.wanted:
                self._page.fail("The passes were not run", str(error))
            return
        if not task.wanted:
            self._page.retitle(RUNNING, NOT_RUN)
            return
        self._traced = (choice, trace)
        self.step = min(self.step, len(trace.steps) - 1)
        self._draw_step(trace)
        # the counts of changes take longer than the picture, and a newer choice's list must not be overwritten
        passes = pass_states(choice, trace, self._setup.catalog.infos)
        with self._listing:
            if self._setup.history.current != choice or not task.wanted:
                return
            self._page.push(passes=passes)
        if trace.failed is not None:
            self._page.fail(f"{trace.failed.name} failed", trace.failed.error)
        self._page.drawn(complete=trace.failed is None)

    def _trace(self, choice: Choice, task: Task) -> Trace:
        if choice.mode == "context":
            trace = trace_build(
                self._setup.workload,
                self._setup.target,
                choice.opt_level,
                choice.disabled,
                choice.required,
                choice.options,
                whole=False,
                progress=task.report,
                cancelled=task.cancelled,
            )
            # the graph of each pass comes from the child process: the picture needs all of them
            for place, transition in enumerate(trace.transitions):
                if not task.wanted:
                    break
                task.report("Comparing the passes", place / len(trace.transitions))
                _ = transition.diff
            return trace
        total = len(choice.pipeline)
        return self.runner.run(
            choice.pipeline,
            choice.opt_level,
            cancelled=task.cancelled,
            progress=lambda done: task.report(f"Running passes ({done} of {total})", done / max(total, 1)),
        )

    def _draw_step(self, trace: Trace) -> None:
        if self.step == WHOLE:
            self._show(trace.start, trace.end, ("before", "after"))
        else:
            step = trace.steps[self.step]
            titles = (f"before {step.name}", f"after {step.name}")
            self._show(step.state_before, step.state_after, titles)

    def _show(
        self, first: State, last: State, titles: tuple[str, str], *, preview: str | None = None, finished: bool = True
    ) -> None:
        self.picture = Picture(first, last, titles, diff(first.graph, last.graph), self.step, preview, finished)
        self._page.draw(self.picture, self._first())

    def _first(self) -> dict[str, list[int]] | None:
        """Return the first node that differs, if the shown step changed the outputs."""
        first = self.checks.get(str(self.step), {}).get("first")
        if not first or (self.picture is not None and self.picture.preview is not None):
            return None
        return {"before": [first[0]], "after": [first[1]]}
