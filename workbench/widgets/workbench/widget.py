"""The whole thing: passes to toggle, the graph before and after, kernels and time of everything tried.

A person's `Choice` (session.py) is changed in choosing.py and becomes a trace and a picture in drawing.py. Here is what goes
on beside that: measuring, exploring, checking, each in a thread of its own. The page sends messages; each has a method `_on_*`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import traitlets

from workbench.dialects.base import Workload
from workbench.dialects.entries import chosen
from workbench.errors import UnknownName, WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.overlay import Overlay
from workbench.measurement.race import Race
from workbench.measurement.row import UNDER_WAY, failure
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.plots.configurations import headline
from workbench.targets import TargetLike
from workbench.widgets import messages
from workbench.widgets.graph.compare import Comparison
from workbench.widgets.output_checks import Checking
from workbench.widgets.workbench import page
from workbench.widgets.workbench.choice import Choice
from workbench.widgets.workbench.compiler_build import RealBuild
from workbench.widgets.workbench.drawing import WHOLE
from workbench.widgets.workbench.exploration import Exploring
from workbench.widgets.workbench.kernels_panel import KernelsPanel
from workbench.widgets.workbench.measurements import ROW, Measurements
from workbench.widgets.workbench.pass_list import Choosing
from workbench.widgets.workbench.passes_panels import AblationPanel, WaterfallPanel

if TYPE_CHECKING:
    import pandas as pd


class Workbench(Choosing):
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
    plots = traitlets.List(help="pictures of what was measured, as blocks").tag(sync=True)
    exploration = traitlets.Dict(help="what was tried here, a row each").tag(sync=True)
    kernels_tab = traitlets.List(help="calls of the present configuration, as blocks").tag(sync=True)
    waterfall_tab = traitlets.List(help="what each pass does, as blocks").tag(sync=True)
    ablation_tab = traitlets.List(help="what is lost without each pass, as blocks").tag(sync=True)
    saved_traits = (
        *Comparison.saved_traits,
        *("state", "plots", "checks", "exploration", "kernels_tab", "waterfall_tab", "ablation_tab"),
    )

    def __init__(
        self,
        workload: Any,
        pipeline: Pipeline | str | list[Any] | None = None,
        *,
        opt_level: int = 3,
        target: TargetLike = "llvm",
        auto_measure: bool = True,
        budget: float = 0.5,
        **traits: Any,
    ) -> None:
        super().__init__(workload, pipeline, opt_level, target, **traits)
        self.auto_measure = auto_measure
        self._plotted: Any = None
        "what the plots show"
        self._pushing = threading.RLock()
        self._budget = budget
        self._open()
        self.on_msg(self._on_message)
        self._begin()
        self.observe(self._selected, "selection")

    def _open(self) -> None:
        """Make the parts that work on the workload; late results of the workload before it are not shown."""
        self._opened = opened = object()

        def current(show: Callable[..., None]) -> Callable[..., None]:
            def shown(*given: Any) -> None:
                with self._lock:
                    if self._opened is opened:
                        show(*given)

            return shown

        busy, failed = current(self._busy), current(self._failed)
        self._runner = Runner(self.workload)
        rows = partial(self._push_rows, opened)
        self._measures = Measurements(self.workload, self.target, self._budget, rows, busy, failed)
        self._exploring = Exploring(self.workload, current(self._explored))
        build = current(lambda found: self._push(build=found))
        self._build = RealBuild(self.workload, self.target, self._presets, build, busy, failed)
        self._panels = {
            panel.name: panel(self, current(partial(self.set_trait, f"{panel.name}_tab")), busy)
            for panel in (KernelsPanel, WaterfallPanel, AblationPanel)
        }
        self._checking = Checking(current(self._checked), busy, current(self._fail))

    def _begin(self) -> None:
        """Show the workload without any result."""
        self._step = WHOLE
        names = self.workload.entries()
        self._push(
            title=self.workload.name,
            notes=list(self.workload.notes),
            dialect=self.workload.dialect,
            entries=list(names),
            entry=self.workload.entry or next(iter(names), ""),
            presets=self._preset_states(),
            busy=None,
            error=None,
            rows=[],
            headline={},
            build={},
            passes=[],
            counts={},
            step=WHOLE,
        )
        self._changed()

    # -- what a person can do from Python

    @property
    def rows(self) -> pd.DataFrame:
        """Everything measured so far, one row a configuration."""
        import pandas as pd

        return pd.DataFrame([row for row in self._measures.all().values() if row["status"] not in UNDER_WAY])

    def use_entry(self, name: str) -> None:
        """Look at another function of the module: the passes stay, the measurements of the other function are dropped.

        Raises
        ------
        UnknownName
            The module has no function of that name to run.
        """
        workload = chosen(self.workload, name)
        self.cancel()
        with self._pushing, self._lock:
            self.workload, self._trace, self._traced_choice = workload, None, None
            seen = {name: panel.open for name, panel in self._panels.items()}
            self._open()
            for name, panel in self._panels.items():
                panel.open = seen[name]
                self.set_trait(f"{name}_tab", [])
            self.overlay_after(None)
            self.exploration, self.plots, self._plotted = {}, [], []
            self._begin()

    def measure(self) -> None:
        """Build and time the configuration that is chosen, beside the notebook."""
        self._measure(again=True)

    def race(self) -> None:
        """Race the configuration that is chosen against the first other one that was timed, in a background thread.

        Raises
        ------
        WorkbenchError
            Not both of them were timed.
        """
        current = self.choice.config(self._presets)
        rival = self._measures.rival(current)
        if rival is None:
            raise WorkbenchError("a race needs two configurations that ran; measure this one and another first")
        ablation = self._panels["ablation"]
        self._measures.race(
            rival,
            current,
            lambda: ablation.withdraw(rival, current),
            lambda said: self._fail("There was no race", said),
        )

    def explain_build(self) -> None:
        """List the passes that the compiler's own build runs beyond this pipeline; `state["build"]["why"]` has them."""
        self._build.explain(self.pipeline, self.choice.opt_level)

    def check(self) -> None:
        """Find out which passes changed the answer, as `trace.check` does, beside the notebook; `checks` has what it found."""
        self._checking.start(self.trace)

    def explore(self, step: int = WHOLE) -> None:
        """Try every pass after that step, or on the input for -1, beside the notebook; `exploration` has what it found.

        Raises
        ------
        WorkbenchError
            There is no such step, or a pass before it is a Python function.
        """
        self._on_explore(step)

    def cancel(self) -> None:
        """Give up what is being made, measured, tried or checked; what is shown stays."""
        self._pictures.cancel()
        self._measures.cancel()
        self._checking.cancel()
        self._exploring.cancel()
        self._build.cancel()
        for panel in self._panels.values():
            panel.cancel()

    def open_tab(self, name: str) -> None:
        """Make what a tab shows: "kernels", "waterfall" or "ablation"; as on the page, one at a time.

        Raises
        ------
        UnknownName
            There is no such tab.
        """
        if name not in self._panels:
            raise UnknownName("tab that Python fills", name, self._panels)
        self._on_tab(name)

    def wait(self, timeout: float = 120) -> bool:
        """Wait until everything that was asked for is done; whether that was in time."""
        ends = time.monotonic() + timeout
        parts = (
            self._pictures,
            self._measures,
            self._checking,
            self._exploring,
            self._build,
            *self._panels.values(),
        )
        return all(part.wait(max(0.0, ends - time.monotonic())) for part in parts)

    # -- messages from the page

    def _on_message(self, _: Any, message: Any, __: Any) -> None:
        try:
            found = messages.read(message)
            if found is not None:
                getattr(self, f"_on_{found[0]}")(**found[1])
        except WorkbenchError as error:
            self._fail("That cannot be done", str(error))

    def _on_entry(self, name: str) -> None:
        self.use_entry(name)

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
        self._texts.submit_first({seq: lambda _task: self._send_text(seq)}, lambda _seq, error: self._failed(error))

    def _on_measure(self) -> None:
        self._measure(again=True)

    def _on_race(self) -> None:
        self.race()

    def _on_build(self) -> None:
        self.explain_build()

    def _on_tab(self, name: str) -> None:
        for panel in self._panels.values():
            panel.opened(name)

    def _on_act(self, what: str, arg: str) -> None:
        panel = self._panels.get(what.partition("-")[0])
        if panel is not None:
            panel.act(what, arg)

    def _on_set(self, name: str, value: str) -> None:
        panel = self._panels.get(name.partition("-")[0])
        if panel is not None:
            panel.enter(name, value)

    def _on_clear_rows(self) -> None:
        self._measures.clear()

    def _on_cancel(self) -> None:
        self.cancel()

    def _on_check(self) -> None:
        if self._trace is None or self._traced_choice != self.choice:
            raise WorkbenchError("the passes have not run yet; check the outputs when the picture is there")
        self._checking.start(self._trace)

    def _on_explore(self, index: int) -> None:
        choice = self.choice
        if choice.mode == "context" or index == WHOLE:
            self._exploring.start(Pipeline(), choice.opt_level, WHOLE, "at the start")
            return
        before = self.pipeline.steps[: self._place(index) + 1]
        after = Pipeline(step for step in before if step.enabled)
        self._exploring.start(after, choice.opt_level, index, f"after {before[-1].name}")

    def _explored(self, told: dict[str, Any]) -> None:
        self.exploration = told

    def _on_preview(self, name: str) -> None:
        found = self._exploring.now
        row = next((row for row in found.rows if row.name == name), None) if found is not None else None
        if found is None or row is None or not row.changed:
            raise WorkbenchError(f"{name[:80]!r} was not found to change the module here; explore first")
        after, level = found.after, found.opt_level
        self._pictures.submit(lambda _task: self._preview(after, Pipeline.parse(name), level))

    # -- checking and measuring what is chosen

    def _changed(self) -> None:
        self._checking.cancel()
        super()._changed()
        if self.choice.mode == "pipeline":
            self._build.count(self.choice.opt_level)
        else:
            self._push(build={})

    def _drawn(self) -> None:
        for panel in self._panels.values():
            panel.changed()
        if self.auto_measure:
            self._measure()

    def _measure(self, again: bool = False) -> None:
        choice = self.choice
        self._measures.ask(choice.config(self._presets), lambda: self._to_compile(choice), again)

    def _to_compile(self, choice: Choice) -> Workload | None:
        if choice.mode == "context":
            return self.workload
        if self._traced_choice != choice:
            self._pictures.wait(600)
        trace = self._trace
        return None if trace is None or self._traced_choice != choice else self._runner.workload_of(trace.end)

    # -- what the tabs ask

    def chosen(self) -> tuple[Config, Workload | None]:
        choice = self.choice
        return choice.config(self._presets), self._to_compile(choice)

    def switched(self) -> tuple[Pipeline | Config, int]:
        choice = self.choice
        if choice.mode == "context":
            return choice.config(self._presets), choice.opt_level
        return Pipeline(step for step in choice.pipeline if step.enabled), choice.opt_level

    def keep_race(self, a: Config, b: Config, found: Race) -> None:
        self._measures.keep_race(a, b, found)

    def drawn_after(self) -> Graph | None:
        trace = self._trace
        # the whole pipeline's graph is the one that is built; a step's is another program
        return (
            trace.end.graph
            if trace is not None and self._step == WHOLE and self._traced_choice == self.choice
            else None
        )

    def selected(self) -> set[int]:
        return set(self.selection["after"])

    def select(self, nodes: list[int]) -> None:
        self.selection = {"before": [], "after": nodes}
        self.show(nodes)

    def overlay_after(self, overlay: Overlay | None) -> None:
        self.overlay(after=overlay)

    def _selected(self, _: Any) -> None:
        panel = self._panels["kernels"]
        if panel.open:
            panel.show()

    def _push_rows(self, opened: object) -> None:
        # one thread at a time: two show rows, and what was read first may not be what is shown in the end
        with self._pushing:
            if self._opened is not opened:
                return
            current = self.choice.config(self._presets)
            found = self._measures.all()
            rows = [
                {
                    **{name: row.get(name) for name in ROW},
                    "said": failure(row["status"], row.get("message")),
                    "samples": len(row.get("samples") or ()),
                    "id": i,
                    "current": key == current,
                }
                for i, (key, row) in enumerate(found.items())
            ]
            measured = [row for row in found.values() if row["status"] == "ok"]
            rival, races = self._measures.rival(current), self._measures.races
            self._push(
                rows=rows,
                target=measured[-1]["target"] if measured else self.target,
                headline={
                    "text": headline(list(found.values()), races),
                    "rival": "" if rival is None else rival.label,
                    "raced": any({race.a, race.b} == {rival.label, current.label} for race in races if rival),
                },
            )
            # while a row is under way the plots stay as they are: a title speaks of data that is complete
            if found and not any(row["status"] in UNDER_WAY for row in found.values()):
                self._plot(list(found.values()), races)

    def _plot(self, rows: list[dict[str, Any]], races: list[Race]) -> None:
        figures = [(row["config"], row["status"], row.get("kernels"), row.get("median_us")) for row in rows]
        if (figures, races) != self._plotted:
            self._plotted = (figures, races)
            self.plots = page.plots(rows, races)
