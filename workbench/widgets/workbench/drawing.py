"""From what is chosen to what is on the screen: a trace and a picture, made beside the notebook.

The newest choice wins, and the picture before stays until the new one is ready.
"""

from __future__ import annotations

import threading
from typing import Any

import traitlets

from workbench.dialects.base import Workload, dialect_of
from workbench.dialects.entries import chosen
from workbench.errors import WorkbenchError
from workbench.graph.diff import GraphDiff, diff
from workbench.graph.model import Graph
from workbench.pipeline.build_trace import trace_build
from workbench.pipeline.load import load
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import State
from workbench.pipeline.trace import Trace
from workbench.targets import TargetLike, target_text
from workbench.widgets.background import Background, Busy, Task
from workbench.widgets.base import Shown
from workbench.widgets.graph.compare import Comparison
from workbench.widgets.output_checks import Checked
from workbench.widgets.payload import packed
from workbench.widgets.stepper.trace_states import printed
from workbench.widgets.workbench import page
from workbench.widgets.workbench.choice import Choice, History
from workbench.widgets.workbench.compiler_build import binds, first_preset

WHOLE = -1
"the step number of the whole pipeline: its input against its result"
RUNNING, NOT_RUN = "passes are running", "not run"
"titles of the side after while it shows the input"
LEVEL = 4
"the opt level at which TVM runs every pass"


def _with_main(workload: Workload) -> Workload:
    """Return the workload with a function to run: the first where there is no `main`."""
    names = workload.entries()
    return chosen(workload, names[0]) if names and names[0] != "main" and not workload.entry else workload


class Drawing(Comparison):
    """A Choice of passes over a workload, and the picture of what they do."""

    state = traitlets.Dict(help="what the page shows, as small JSON").tag(sync=True)
    catalog = traitlets.Dict(help="the passes and config keys that there are").tag(sync=True)
    checks = traitlets.Dict(help="place of a step, as text -> its status in trace.check, and what differs").tag(
        sync=True
    )
    seq = traitlets.Int(0, help="number of the picture").tag(sync=True)

    def __init__(self, workload: Any, pipeline: Any, opt_level: int, target: TargetLike, **traits: Any) -> None:
        super().__init__(**{"height": 760, **traits})
        self.workload = _with_main(load(workload))
        self.target = target_text(target)
        self._dialect = dialect_of(self.workload)
        from workbench.dialects.settings import settings  # it loads TVM, which this module must not

        # TVM 0.17 has the keys of both
        other = "relax." if self.workload.dialect == "relay" else "relay."
        self._settings = {name: type for name, type in settings().items() if not name.startswith(other)}
        self._runner = Runner(self.workload)
        self._infos = {info.name: info for info in self._dialect.passes()}
        self._presets = self._dialect.presets()
        first = first_preset(self.workload, self._presets).pipeline if pipeline is None else pipeline
        self._history = History(Choice("pipeline", Pipeline([first] if isinstance(first, str) else first), opt_level))
        self._lock = threading.RLock()
        self._trace: Trace | None = None
        self._traced_choice: Choice | None = None
        "whose trace `_trace` is: a newer choice's is still being made"
        self._shown: tuple[Graph, Graph, GraphDiff] | None = None
        self._states: tuple[State, State] | None = None
        "the states whose graphs are shown"
        self._step = WHOLE
        self._pictures = Background("workbench-pictures", self._failed, self._busy)
        self._texts = Background("workbench-texts", self._failed)
        self.catalog = page.catalog(self._infos, self._settings)

    @property
    def choice(self) -> Choice:
        """What is chosen now."""
        return self._history.current

    @property
    def trace(self) -> Trace:
        """The newest trace; waits for the one being made.

        Raises
        ------
        WorkbenchError
            The last run gave none; the message says why.
        """
        self._pictures.wait(600)
        if self._trace is None:
            error = self.state.get("error") or {}
            raise WorkbenchError(error.get("text") or "there is no trace yet")
        return self._trace

    @property
    def kernels(self) -> int:
        """Kernels in the picture after the passes; waits for the picture being made.

        Raises
        ------
        WorkbenchError
            The passes gave no picture yet.
        """
        self._pictures.wait(600)
        found = self.state["counts"].get("after_kernels")
        if found is None:
            raise WorkbenchError("the passes gave no picture yet")
        return int(found)

    # -- from a choice to a picture

    def _choose(self, choice: Choice) -> None:
        if self._history.choose(choice):
            self._changed()
        else:
            self._push(refused=None)

    def _changed(self) -> None:
        choice = self.choice
        if choice.mode != self.state.get("mode", choice.mode):
            # the steps of the other mode are others
            self._step = WHOLE
        self._checked({})
        self._push(
            mode=choice.mode,
            context=page.context_state(choice, self._infos, self._dialect.toggles(), self._settings),
            pipeline_text=str(choice.pipeline),
            code=page.code(choice, self._presets, self.target),
            passes=page.pass_states(choice, None, self._infos),
            step=self._step,
            error=None,
            refused=None,
        )
        self._pictures.submit(lambda task: self._draw(choice, task))

    def _draw(self, choice: Choice, task: Task) -> None:
        """Make the trace of a choice and show it; a choice that gives none leaves the last picture in place."""
        try:
            self._show_input(choice)
            trace = self._traced(choice, task)
        except WorkbenchError as error:
            self._trace = None
            self._retitle(RUNNING, NOT_RUN)
            if task.wanted:
                self._fail("The passes were not run", str(error))
            return
        with self._lock:
            # another function of the module takes both away when it has cancelled this
            if not task.wanted:
                self._retitle(RUNNING, NOT_RUN)
                return
            self._trace, self._traced_choice = trace, choice
        self._step = min(self._step, len(trace.steps) - 1)
        self._draw_step()
        # how much each pass changed takes longer than the picture, and a newer choice's list is not to be overwritten
        passes = page.pass_states(choice, trace, self._infos)
        with self._lock:
            if self.choice != choice or not task.wanted:
                return
            self._push(passes=passes)
        if not self._picture_of_page:
            # no page has sent a picture: the notebook may run without one
            self._show_still()
        if trace.failed is not None:
            self._fail(f"{trace.failed.name} failed", trace.failed.error)
        else:
            self._drawn()

    def _drawn(self) -> None:
        """What follows a picture of a choice whose passes all ran."""

    def _traced(self, choice: Choice, task: Task) -> Trace:
        if choice.mode == "context":
            return trace_build(
                self.workload,
                self.target,
                choice.opt_level,
                choice.disabled,
                choice.required,
                choice.options,
                whole=False,
                progress=task.report,
                cancelled=task.cancelled,
            )
        total = len(choice.pipeline)
        return self._runner.run(
            choice.pipeline,
            choice.opt_level,
            cancelled=task.cancelled,
            progress=lambda done: task.report(f"Running passes ({done} of {total})", done / max(total, 1)),
        )

    def _show_input(self, choice: Choice) -> None:
        """Show the input alone where nothing is shown yet: TVM folds the constants of a large model for a minute."""
        if self._shown is None and choice.mode == "pipeline" and binds(choice.pipeline):
            start = self._runner.run(Pipeline(), choice.opt_level).start
            self._show(start, start, ("before", RUNNING), finished=False)
        self._retitle(NOT_RUN, RUNNING)

    def _retitle(self, old: str, new: str) -> None:
        """Give the side after another title, where it has that one."""
        with self._lock:
            if list(self.titles[1:]) == [old]:
                self.titles = [self.titles[0], new]

    def _draw_step(self) -> None:
        trace = self._trace
        if trace is None:
            return
        if self._step == WHOLE:
            self._show(trace.start, trace.end, ("before", "after"))
        else:
            step = trace.steps[self._step]
            titles = (f"before {step.name}", f"after {step.name}")
            self._show(step.state_before, step.state_after, titles, changes=step.diff)
            self._point()

    def _preview(self, after: Pipeline, step: Pipeline, opt_level: int) -> None:
        """What one more pass would make of the module after a pipeline; the choice stays as it is."""
        here = self._runner.run(after, opt_level).end
        tried = Runner(self._runner.workload_of(here)).run(step, max(opt_level, LEVEL))
        if tried.failed is not None:
            raise WorkbenchError(tried.failed.error)
        self._show(tried.start, tried.end, (f"before {step}", f"after {step} (preview)"), str(step))

    def _show(
        self,
        first: State,
        last: State,
        titles: tuple[str, str],
        preview: str | None = None,
        changes: GraphDiff | None = None,
        *,
        finished: bool = True,
    ) -> None:
        before, after = first.graph, last.graph
        if changes is None:
            changes = diff(before, after)
        counts = {
            "before_kernels": before.kernel_count,
            "after_kernels": after.kernel_count if finished else None,
            "before_nodes": len(before.nodes),
            "after_nodes": len(after.nodes) if finished else None,
            **changes.counts,
        }
        with self._lock, self.hold_sync():
            self._shown, self._states = (before, after, changes), (first, last)
            self._put(before, after, changes)
            self.titles = list(titles)
            self.state = {**self.state, "counts": counts, "step": self._step, "preview": preview}
            self.seq += 1

    # -- checks

    def _checked(self, found: Checked) -> None:
        self.checks = found
        self._point()

    def _point(self) -> None:
        """Select the first node that differs, where the step that is shown changed the answer."""
        first = self.checks.get(str(self._step), {}).get("first")
        if first and self.state.get("preview") is None:
            self.selection = {"before": [first[0]], "after": [first[1]]}

    # -- text

    def _send_text(self, seq: int) -> None:
        with self._lock:
            # the page asks again when the picture that it did not know of yet is there
            states = self._states if seq == self.seq else None
        if states is not None:
            sides = [printed(state) for state in states]
            self.send(*packed({"type": "text", "seq": seq, "sides": sides}))

    # -- the state that the page shows

    def _push(self, **changes: Any) -> None:
        with self._lock:
            self.state = {**self.state, **changes}

    def _busy(self, what: Busy | None) -> None:
        self._push(busy=what)

    def _fail(self, title: str, text: str) -> None:
        self._push(error={"title": title, "text": text}, busy=None)

    def _failed(self, error: Exception) -> None:
        self._fail("The workbench itself failed", f"{type(error).__name__}: {error}")

    # -- what lasts

    def _shown_graphs(self) -> Shown | None:
        return self._shown

    def _kept(self) -> dict[str, Any]:
        """A saved page has nothing under way: what is being made or measured is not in it."""
        with self._lock:
            kept = super()._kept()
        rows = [row for row in kept["state"]["rows"] if row["status"] not in ("pending", "running")]
        return {**kept, "state": {**kept["state"], "busy": None, "rows": rows}}

    def _saved(self) -> dict[str, Any]:
        return {**super()._saved(), "texts": [printed(state) for state in self._states or ()]}
