"""The whole thing: passes to toggle, the graph before and after, kernels and time of everything tried.

Three parts share the state: the person's `Choice` (session.py), the newest `Trace` (pipeline), and the rows measured. The
page sends messages; each becomes a new Choice or a new picture. Pictures and measurements are made beside the notebook
(background.py), the newest wins, and the picture before stays until the new one is ready.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import traitlets

from workbench.dialects.base import PassInfo, Workload, dialect_of
from workbench.dialects.registry import load
from workbench.errors import UnknownName, WorkbenchError
from workbench.graph.diff import GraphDiff, diff
from workbench.graph.model import Graph
from workbench.measure.local import failed_row, measure_one
from workbench.pipeline.build_trace import trace_build
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.trace import State, Trace
from workbench.widgets import messages, page
from workbench.widgets.background import Background, Task, Throttle
from workbench.widgets.bundle import Shown
from workbench.widgets.compare_view import Comparison
from workbench.widgets.packing import packed
from workbench.widgets.session import Choice, History
from workbench.widgets.states import printed
from workbench.widgets.supply import Supply, Wish

if TYPE_CHECKING:
    import pandas as pd

OPT_LEVELS = range(5)
WHOLE = -1
"the step number of the whole pipeline: its input against its result"


class Workbench(Comparison):
    """Toggle passes and see the graph, the kernel count and the time change.

    Parameters
    ----------
    workload
        A Workload, or anything `wb.load` takes.
    pipeline
        The passes to start with; the dialect's first preset by default.
    opt_level
        Opt level of the pipeline or of the PassContext.
    target
        Where code is built for.
    auto_measure
        Build and time each configuration as it is chosen; otherwise on request.
    budget
        Seconds of timing a configuration.
    """

    _view = traitlets.Unicode("workbench").tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    plots = traitlets.Dict().tag(sync=True)
    seq = traitlets.Int(0).tag(sync=True)
    saved_traits = (*Comparison.saved_traits, "state", "plots")

    def __init__(
        self,
        workload: Any,
        pipeline: Pipeline | str | list[Any] | None = None,
        *,
        opt_level: int = 3,
        target: str = "llvm",
        auto_measure: bool = True,
        budget: float = 0.5,
        **traits: Any,
    ) -> None:
        super().__init__(**{"height": 760, **traits})
        self.workload = load(workload)
        self.target = target
        self.auto_measure = auto_measure
        self.budget = budget
        self._dialect = dialect_of(self.workload)
        self._runner = Runner(self.workload)
        self._infos = {info.name: info for info in self._dialect.passes()}
        self._presets = self._dialect.presets()
        first = self._presets[0].pipeline if pipeline is None else pipeline
        self._history = History(Choice("pipeline", Pipeline([first] if isinstance(first, str) else first), opt_level))
        self._lock = threading.RLock()
        self._trace: Trace | None = None
        self._traced_choice: Choice | None = None
        "whose trace `_trace` is: a newer choice's is still being made"
        self._shown: tuple[Graph, Graph, GraphDiff] | None = None
        self._states: tuple[State, State] | None = None
        "the states whose graphs are shown"
        self._step = WHOLE
        self._rows: dict[Config, dict[str, Any]] = {}
        self._pictures = Background("workbench-pictures", self._failed)
        self._measures = Background("workbench-measures", self._failed)
        self._texts = Supply("workbench-texts", self._send_text, lambda _, error: self._failed(error))
        self.on_msg(self._on_message)
        self._push(
            title=self.workload.name,
            dialect=self.workload.dialect,
            presets=[{"name": preset.name, "doc": preset.doc} for preset in self._presets],
            busy=None,
            error=None,
            rows=[],
            passes=[],
            counts={},
            step=WHOLE,
        )
        self._changed()

    # -- what a person can do from Python

    @property
    def choice(self) -> Choice:
        """What is chosen now."""
        return self._history.current

    @property
    def pipeline(self) -> Pipeline:
        """The passes, on and off; assign a Pipeline or its text to change them."""
        return self.choice.pipeline

    @pipeline.setter
    def pipeline(self, value: Pipeline | str) -> None:
        made = value if isinstance(value, Pipeline) else Pipeline.parse(value)
        self._choose(replace(self.choice, mode="pipeline", pipeline=made))

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
        """Kernels in the picture after the passes; waits for the picture being made."""
        self._pictures.wait(600)
        return int(self.state["counts"]["after_kernels"])

    @property
    def rows(self) -> pd.DataFrame:
        """Everything measured so far, one row a configuration."""
        import pandas as pd

        with self._lock:
            return pd.DataFrame([row for row in self._rows.values() if row["status"] in ("ok", "failed")])

    def toggle(self, name: str, enabled: bool | None = None) -> None:
        """Switch every pass of that name, in the pipeline or in the PassContext, whichever is shown.

        Raises
        ------
        UnknownName
            There is no such pass here.
        """
        if self.choice.mode == "context":
            info = self._toggleable(name)
            self._choose(self.choice.context_toggled(info, not self.choice.runs(info) if enabled is None else enabled))
            return
        places = [place for place, step in enumerate(self.pipeline) if name in (step.name, step.text)]
        if not places:
            raise UnknownName("pass in this pipeline", name, [step.name for step in self.pipeline])
        pipeline = self.pipeline
        for place in places:
            pipeline = pipeline.toggled(place, enabled)
        self._choose(replace(self.choice, pipeline=pipeline))

    def measure(self) -> None:
        """Build and time the configuration that is chosen, beside the notebook."""
        self._measure(again=True)

    def cancel(self) -> None:
        """Give up what is being made or measured; what is shown stays."""
        self._pictures.cancel()
        self._measures.cancel()
        self._forget_pending()
        self._push_rows()

    def wait(self, timeout: float = 120) -> bool:
        """Wait until pictures and measurements are done; whether they were in time."""
        ends = time.monotonic() + timeout
        return self._pictures.wait(timeout) and self._measures.wait(max(0.0, ends - time.monotonic()))

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

    # -- messages from the page

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        try:
            found = messages.read(message)
            if found is not None:
                getattr(self, f"_on_{found[0]}")(**found[1])
        except WorkbenchError as error:
            self._fail("That cannot be done", str(error))

    def _on_toggle(self, index: int, enabled: bool) -> None:
        pipeline = self.pipeline.toggled(self._place(index), enabled)
        self._choose(replace(self.choice, pipeline=pipeline))

    def _on_toggle_context(self, name: str, enabled: bool) -> None:
        self._choose(self.choice.context_toggled(self._toggleable(name), enabled))

    def _on_opt_level(self, value: int) -> None:
        if value not in OPT_LEVELS:
            raise WorkbenchError(f"there is no opt level {value}; TVM's run from {OPT_LEVELS[0]} to {OPT_LEVELS[-1]}")
        self._choose(replace(self.choice, opt_level=value))

    def _on_mode(self, value: str) -> None:
        if value not in ("pipeline", "context"):
            raise UnknownName("mode", value, ("pipeline", "context"))
        self._choose(replace(self.choice, mode=value))

    def _on_preset(self, name: str) -> None:
        named = {preset.name: preset for preset in self._presets}
        if name not in named:
            raise UnknownName("preset", name, named)
        preset = named[name]
        self._choose(Choice("pipeline", Pipeline.parse(preset.pipeline), preset.opt_level))

    def _on_move(self, index: int, to: int) -> None:
        self._choose(replace(self.choice, pipeline=self.pipeline.moved(self._place(index), self._place(to))))

    def _on_step(self, index: int) -> None:
        steps = len(self.state["passes"])
        if not WHOLE <= index < steps:
            raise WorkbenchError(f"there is no step {index}; the steps are {WHOLE} (all of them) to {steps - 1}")
        self._step = index
        self._push(step=index)
        # a choice whose picture is still being made is drawn at this step when it is ready; asking now would replace it
        if self._traced_choice == self.choice:
            self._pictures.submit(lambda _task: self._draw_step())

    def _on_text(self, seq: int) -> None:
        self._texts.want([("text", seq)])

    def _send_text(self, wish: Wish) -> None:
        with self._lock:
            # the page asks again when the picture that it did not know of yet is there
            states = self._states if wish == ("text", self.seq) else None
        if states is not None:
            sides = [printed(state) for state in states]
            self.send(*packed({"type": "text", "seq": wish[1], "sides": sides}))

    def _on_measure(self) -> None:
        self._measure(again=True)

    def _on_cancel(self) -> None:
        self.cancel()

    def _on_undo(self) -> None:
        if self._history.undo():
            self._changed()

    def _on_redo(self) -> None:
        if self._history.redo():
            self._changed()

    def _on_clear_rows(self) -> None:
        with self._lock:
            self._rows = {key: row for key, row in self._rows.items() if row["status"] in ("pending", "running")}
        self._push_rows()

    def _place(self, index: int) -> int:
        if not 0 <= index < len(self.pipeline):
            raise WorkbenchError(f"there is no pass {index}; the passes are 0 to {len(self.pipeline) - 1}")
        return index

    # -- from a choice to a picture

    def _choose(self, choice: Choice) -> None:
        if self._history.choose(choice):
            self._changed()

    def _changed(self) -> None:
        choice = self.choice
        self._push(
            mode=choice.mode,
            context=page.context_state(choice, self._infos, self._dialect.toggles()),
            pipeline_text=str(choice.pipeline),
            code=page.code(choice, self._presets, self.target),
            passes=page.pass_states(choice, None, self._infos),
            error=None,
        )
        self._pictures.submit(lambda task: self._draw(choice, task))

    def _draw(self, choice: Choice, task: Task) -> None:
        """Make the trace of a choice and show it; a choice that gives none leaves the last picture in place."""
        try:
            trace = self._traced(choice, task)
        except WorkbenchError as error:
            self._trace = None
            if task.wanted:
                self._fail("The passes were not run", str(error))
            else:
                self._push(busy=None)
            return
        if not task.wanted:
            self._push(busy=None)
            return
        self._trace, self._traced_choice = trace, choice
        self._step = min(self._step, len(trace.steps) - 1)
        self._draw_step()
        self._push(passes=page.pass_states(choice, trace, self._infos), busy=None)
        if trace.failed is not None:
            self._fail(f"{trace.failed.name} failed", trace.failed.error)
        elif self.auto_measure:
            self._measure()

    def _traced(self, choice: Choice, task: Task) -> Trace:
        if choice.mode == "context":
            return trace_build(
                self.workload,
                self.target,
                choice.opt_level,
                choice.disabled,
                choice.required,
                whole=False,
                progress=lambda what, fraction: self._push(busy=page.busy(what, fraction)),
                cancelled=task.cancelled,
            )
        total = len(choice.pipeline)
        busy = Throttle(
            lambda done: self._push(busy=page.busy(f"Running passes ({done} of {total})", done / max(total, 1)))
        )
        return self._runner.run(choice.pipeline, choice.opt_level, cancelled=task.cancelled, progress=busy)

    def _draw_step(self) -> None:
        trace = self._trace
        if trace is None:
            return
        if self._step == WHOLE:
            self._show(trace.start, trace.end, ("before", "after"))
        else:
            step = trace.steps[self._step]
            self._show(step.state_before, step.state_after, (f"before {step.name}", f"after {step.name}"))

    def _show(self, first: State, last: State, titles: tuple[str, str]) -> None:
        before, after = first.graph, last.graph
        changes = diff(before, after)
        counts = {
            "before_kernels": before.kernels(),
            "after_kernels": after.kernels(),
            "before_nodes": len(before.nodes),
            "after_nodes": len(after.nodes),
            **changes.counts(),
        }
        with self._lock, self.hold_sync():
            self._shown, self._states = (before, after, changes), (first, last)
            self._put(before, after, changes)
            self.titles = list(titles)
            self.state = {**self.state, "counts": counts, "step": self._step}
            self.seq += 1

    # -- measuring

    def _measure(self, again: bool = False) -> None:
        choice = self.choice
        config = choice.config(self._presets)
        with self._lock:
            self._forget_pending()
            known = self._rows.get(config)
            wanted = known is None or again or known["status"] == "cancelled"
            if wanted:
                self._rows[config] = {**(known or {}), "config": config.label, "status": "pending", "message": ""}
        self._push_rows()
        if wanted:
            self._measures.submit(lambda task: self._measure_now(choice, config, task))

    def _forget_pending(self) -> None:
        """A request that a newer one replaces, or that is cancelled, leaves its row as it was before."""
        with self._lock:
            waiting = {key: row for key, row in self._rows.items() if row["status"] == "pending"}
            for key, row in waiting.items():
                if "samples" in row:
                    self._rows[key] = {**row, "status": "ok"}
                else:
                    del self._rows[key]

    def _measure_now(self, choice: Choice, config: Config, task: Task) -> None:
        workload = self._to_compile(choice)
        if workload is None or task.cancelled():
            self._set_row(
                config, failed_row(config, self.target, "the passes gave no module") | {"status": "cancelled"}
            )
            return
        known = self._rows.get(config, {"config": config.label})
        self._set_row(config, {**known, "status": "running", "message": ""})
        row = measure_one(
            workload,
            config,
            self.target,
            budget=self.budget,
            progress=Throttle(lambda what, fraction: self._push(busy=page.busy(f"{what}: {config.label}", fraction))),
            cancelled=task.cancelled,
        )
        if row["status"] == "failed" and task.cancelled():
            row = {**row, "status": "cancelled", "message": "cancelled"}
        self._set_row(config, row)
        self._push(busy=None)

    def _to_compile(self, choice: Choice) -> Workload | None:
        if choice.mode == "context":
            return self.workload
        if self._traced_choice != choice:
            self._pictures.wait(600)
        trace = self._trace
        return None if trace is None or self._traced_choice != choice else self._runner.workload_of(trace.end)

    def _set_row(self, config: Config, row: dict[str, Any]) -> None:
        with self._lock:
            self._rows[config] = row
        self._push_rows()

    def _push_rows(self) -> None:
        current = self.choice.config(self._presets)
        with self._lock:
            rows = [
                {
                    **{k: v for k, v in row.items() if k != "samples"},
                    "samples": len(row.get("samples", ())),
                    "id": i,
                    "current": key == current,
                }
                for i, (key, row) in enumerate(self._rows.items())
            ]
            measured = [row for row in self._rows.values() if row["status"] == "ok"]
        self._push(rows=rows, target=measured[-1]["target"] if measured else self.target)
        if measured:
            self.plots = page.plots(measured)

    # -- the state that the page shows

    def _push(self, **changes: Any) -> None:
        with self._lock:
            self.state = {**self.state, **changes}

    def _fail(self, title: str, text: str) -> None:
        self._push(error={"title": title, "text": text}, busy=None)

    def _failed(self, error: Exception) -> None:
        self._fail("The workbench itself failed", f"{type(error).__name__}: {error}")

    def _toggleable(self, name: str) -> PassInfo:
        names = self._dialect.toggles()
        if name not in names:
            raise UnknownName("pass to switch in a PassContext", name, names)
        info = self._infos[name]
        if info.locked:
            raise WorkbenchError(f"{name} cannot be switched off: {info.locked}")
        return info
