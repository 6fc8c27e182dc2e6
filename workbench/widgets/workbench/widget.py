"""The Workbench: switch passes on and off, with the effect on the graph, the kernel count and the time.

The widget owns the traits and the page's messages. Its `Session` has the choice of passes and all results, and works without
a widget; its panels are the tabs that Python fills.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from workbench.dialects.base import Workload, choose_entry
from workbench.errors import UnknownName
from workbench.measurement.overlay import Overlay
from workbench.measurement.row import UNDER_WAY
from workbench.pipeline.load import load
from workbench.pipeline.run import default_pipeline
from workbench.pipeline.spec import PassStep, Pipeline, parse_sample
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike, target_text
from workbench.widgets.background import Task
from workbench.widgets.base import SAVE_SECONDS, SAVED, Shown, View, json_trait
from workbench.widgets.blocks import Block
from workbench.widgets.graph.compare import MODES
from workbench.widgets.graph.ids import CollapsedSides, SideIds
from workbench.widgets.history import History
from workbench.widgets.host import Host
from workbench.widgets.memory.payload import PlanPayload
from workbench.widgets.messages import verb
from workbench.widgets.page_types import (
    SIDES,
    Catalog,
    CheckState,
    OverlayState,
    State,
    StepWindow,
    overlay_state,
    show_message,
)
from workbench.widgets.payload import DiffPayload, GraphPayload, packed
from workbench.widgets.stepper.trace_states import WHOLE, printed
from workbench.widgets.workbench import page
from workbench.widgets.workbench.drawing import NOT_RUN, RUNNING, Setup
from workbench.widgets.workbench.explore_panel import ExplorePanel
from workbench.widgets.workbench.kernels_panel import KernelsPanel
from workbench.widgets.workbench.measure_panel import MeasurePanel
from workbench.widgets.workbench.memory_panel import MemoryPanel
from workbench.widgets.workbench.page import Page
from workbench.widgets.workbench.panel import Panel
from workbench.widgets.workbench.pass_list import Catalog as PassCatalog
from workbench.widgets.workbench.pass_list import Choice
from workbench.widgets.workbench.passes_panels import AblationPanel, WaterfallPanel
from workbench.widgets.workbench.session import Session

if TYPE_CHECKING:
    import pandas as pd

    from workbench.experiments.explore import Exploration


SHORT = 200
"characters of a path or a text that the code of a choice repeats"


class Workbench(View):
    """A view to switch passes on and off, with the effect on the graph, the kernel count and the time.

    Parameters
    ----------
    workload
        A Workload, or anything `wb.load` takes.
    pipeline
        The passes to start with; the dialect's first preset by default.
    opt_level
        Opt level of the pipeline or of the PassContext.
    target
        The target of builds.
    auto_measure
        Build and time each configuration as it is chosen; otherwise on request.
    budget
        Seconds to time a configuration.
    """

    _view = traitlets.Unicode("workbench").tag(**SAVED)
    before = json_trait(GraphPayload)
    after = json_trait(GraphPayload)
    diff = json_trait(DiffPayload)
    titles = traitlets.List(traitlets.Unicode(), default_value=list(SIDES), minlen=2, maxlen=2).tag(**SAVED)
    seq = traitlets.Int(0, help="number of the picture").tag(sync=True)
    selection = SideIds().tag(**SAVED)
    hovered = SideIds().tag(sync=True)
    collapsed = CollapsedSides().tag(**SAVED)
    mode = traitlets.Enum(MODES, default_value="split").tag(**SAVED)
    hops = traitlets.Int(1, min=0, help="steps around a change that `changed` mode shows").tag(**SAVED)
    tab = traitlets.Unicode("measure", help="the tab that is open; empty for none").tag(**SAVED)
    overlay_state = json_trait(OverlayState)
    state = json_trait(State, "the choice, the passes, the rows, the work under way")
    catalog = json_trait(Catalog, "the passes and config keys that there are", saved=False)
    checks = json_trait(dict[str, CheckState], "place of a step, as text -> its status in trace.check")
    plots = json_trait(list[Block], "pictures of the measured rows")
    preset_form = json_trait(list[Block], "the form that saves and deletes presets", saved=False)
    measure_tab = json_trait(list[Block], "the measured rows")
    explore_tab = json_trait(list[Block], "the passes that were tried here")
    kernels_tab = json_trait(list[Block], "calls of the present configuration")
    memory_tab = json_trait(list[Block], "sizes of the memory plans")
    plans = json_trait(
        list[PlanPayload], "the memory plan of the present configuration, after the one that it is compared with"
    )
    memory_viewport = json_trait(StepWindow, "as MemoryView.viewport")
    waterfall_tab = json_trait(list[Block], "the effect of each pass")
    ablation_tab = json_trait(list[Block], "the loss without each pass")

    def __init__(
        self,
        workload: object,
        pipeline: Pipeline | str | Sequence[str | PassStep | Callable[..., object]] | None = None,
        *,
        opt_level: int = 3,
        target: TargetLike = "llvm",
        auto_measure: bool = True,
        budget: float = 0.5,
        **traits: object,
    ) -> None:
        super().__init__(**{"height": 760, **traits})
        self.auto_measure = auto_measure
        program = load(workload)
        names = program.entries()
        if names and names[0] != "main" and not program.entry:
            program = choose_entry(program, names[0])
        catalog = PassCatalog.of(program)
        first = default_pipeline(program) if pipeline is None else pipeline
        choice = Choice("pipeline", Pipeline([first] if isinstance(first, str) else first), opt_level)
        self.catalog = page.catalog(catalog.infos, catalog.settings)
        source = _source(workload, program)
        self._host = Host(self, self, trait="state", title="The workbench itself failed")
        self._open(Setup(program, target_text(target), catalog, History(choice), budget, source))
        self.session.start()
        self._measured.set_open(True)
        self.observe(self._show_again, ["selection", "seq"])
        self.observe(self._show_tab, "tab")

    def _open(self, setup: Setup) -> None:
        self._setup = setup
        self._page = Page(self._host, self._go_on)
        self.session = Session(setup, self._page)
        self._measured, self._explored = MeasurePanel(self.session), ExplorePanel(self.session)
        others = (panel(self.session) for panel in (KernelsPanel, MemoryPanel, WaterfallPanel, AblationPanel))
        self.panels: dict[str, Panel] = {panel.name: panel for panel in (self._measured, *others, self._explored)}
        self._host.verbs.add(self.session)
        self._host.verbs.add(self.session.drawing)
        self._host.verbs.add(self.session.presets, "preset-")
        for panel in self.panels.values():
            self._host.verbs.add(panel, f"{panel.name}-")

    # -- the Python interface

    @property
    def workload(self) -> Workload:
        """The workload, with the shown function as `main`."""
        return self.session.workload

    @property
    def target(self) -> str:
        """The target of builds."""
        return self.session.target

    @property
    def choice(self) -> Choice:
        """The chosen passes and opt level."""
        return self.session.choice

    @property
    def pipeline(self) -> Pipeline:
        """The passes, on and off; assign a Pipeline or its text to change them."""
        return self.choice.pipeline

    @pipeline.setter
    def pipeline(self, value: Pipeline | str) -> None:
        pipeline = value if isinstance(value, Pipeline) else Pipeline.parse(value)
        self.session.choose(replace(self.choice, mode="pipeline", pipeline=pipeline))

    @property
    def trace(self) -> Trace:
        """The newest trace; waits for one that is being made.

        Raises
        ------
        WorkbenchError
            The last run gave none; the message gives the reason.
        """
        return self.session.trace

    @property
    def kernels(self) -> int:
        """Kernels in the picture after the passes; waits for a picture that is being made.

        Raises
        ------
        WorkbenchError
            The passes gave no picture yet.
        """
        return self.session.kernels

    @property
    def presets(self) -> list[str]:
        """Names of the presets for `use_preset`; your own last."""
        return list(self.session.presets.starts())

    @property
    def rows(self) -> pd.DataFrame:
        """The measurements so far, one row for each configuration."""
        import pandas as pd

        rows = self.session.measurements.all().values()
        return pd.DataFrame([row.to_data() for row in rows if row.status not in UNDER_WAY])

    def toggle(self, name: str, enabled: bool | None = None) -> None:
        """Switch every pass of that name, in the pipeline or in the PassContext, by the current mode.

        Raises
        ------
        UnknownName
            There is no such pass here.
        """
        self.session.toggle(name, enabled)

    @verb("preset")
    def use_preset(self, name: str) -> None:
        """Choose the passes of a preset.

        Raises
        ------
        UnknownName
            There is no such preset.
        """
        self.session.choose(self.session.presets.start(name))

    def save_preset(self, name: str) -> None:
        """Save the choice under a name, in a file of your configuration folder, for every later Workbench.

        Raises
        ------
        WorkbenchError
            The name is empty or that of a preset which is not yours, a pass is a Python object, or the file cannot be written.
        """
        self.session.presets.save(name)

    def delete_preset(self, name: str) -> None:
        """Delete a preset of yours.

        Raises
        ------
        UnknownName
            You have no such preset.
        """
        self.session.presets.delete(name)

    @verb("entry")
    def use_entry(self, name: str) -> None:
        """Show another function of the module: the passes stay, the measurements of the other function are dropped.

        Raises
        ------
        UnknownName
            The module has no function of that name to run.
        """
        workload = choose_entry(self.workload, name)
        self.cancel()
        self._page.close()
        picture = self._page.picture
        was_open = {name for name, panel in self.panels.items() if panel.open}
        self._open(replace(self._setup, workload=workload))
        self._page.picture = picture
        for panel in self.panels.values():
            self.set_trait(panel.trait, [])
        self.overlay()
        self.plots, self.plans = [], []
        self.session.start()
        for panel in self.panels.values():
            panel.set_open(panel.name in was_open)

    def measure(self) -> None:
        """Build and time the chosen configuration, in a background thread."""
        self.session.measure(again=True)

    def race(self) -> None:
        """Race the chosen configuration against the first other one that was timed, in a background thread.

        Raises
        ------
        WorkbenchError
            One of them was not timed.
        """
        self.session.race()

    def explain_build(self) -> None:
        """List the passes that the compiler's own build runs beyond this pipeline, in `state["build"]["why"]`."""
        self.session.build.explain(self.pipeline, self.choice.opt_level)

    def check(self) -> None:
        """Find the passes that changed the outputs, as `trace.check` does, in a background thread; `checks` has the result."""
        self.session.check_trace(self.trace)

    def explore(self, step: int = WHOLE) -> None:
        """Try every pass after that step, or on the input for -1, in a background thread; `exploration` has the results.

        Raises
        ------
        WorkbenchError
            There is no such step, or a pass before it is a Python function.
        """
        self._explored.explore(step)

    @property
    def exploration(self) -> Exploration | None:
        """The results of the newest exploration so far, as `wb.explore` returns them; None before the first."""
        return self._explored.now

    @verb("cancel")
    def cancel(self) -> None:
        """Stop all work; the page stays as it is."""
        self.session.cancel()
        for panel in self.panels.values():
            panel.cancel()

    def open_tab(self, name: str) -> None:
        """Open a tab: "measure", "kernels", "memory", "waterfall", "ablation" or "explore"; as on the page, one at a time.

        Raises
        ------
        UnknownName
            There is no such tab.
        """
        if name not in self.panels:
            raise UnknownName("tab that Python fills", name, self.panels)
        if self.tab == name:
            self._show_tab()
        self.tab = name

    def overlay(self, before: Overlay | None = None, after: Overlay | None = None, title: str = "") -> None:
        """Colour kernels by a measured value, as `CompareView.overlay`."""
        self.overlay_state = overlay_state(before, after, title)

    def show(self, nodes: Iterable[int], side: str = "after") -> None:
        """Bring nodes of one side into view, as `CompareView.show`."""
        self.send(show_message(nodes, side))

    def wait(self, timeout: float = 120) -> bool:
        """Wait until all requests are done; return whether that happened in time."""
        return self._host.work.wait(timeout)

    # -- messages of the page

    @verb("build")
    def _explain_or_hide_build(self) -> None:
        if self.state.get("build", {}).keys() & {"listing", "why"}:
            self.session.build.count(self.choice.opt_level)
        else:
            self.explain_build()

    def _show_tab(self, _change: object = None) -> None:
        self._host.open_tab(self.tab)
        for panel in self.panels.values():
            panel.set_open(panel.name == self.tab)

    @verb("text")
    def _send_text(self, seq: int) -> None:
        """Send the text of both sides, unless the page has another picture by then; it sends a request for that one."""

        def send(_: Task) -> None:
            picture = self._page.picture_of(seq)
            if picture is not None:
                sides = [printed(state) for state in (picture.first, picture.last)]
                self.send(*packed({"type": "texts", "seq": seq, "sides": sides}))

        self._host.work.lane("texts").submit_last(send, seq)

    # -- after a picture, a race, a click

    def _go_on(self, *, complete: bool) -> None:
        if not self._still.picture:
            # no page has sent a picture: the notebook may run without a page
            self._still.update()
        if complete:
            for panel in self.panels.values():
                panel.refresh()
            if self.auto_measure:
                self.session.measure(again=False)

    def _show_again(self, change: dict[str, str]) -> None:
        """Mark the lines of the selected nodes, or of the shown preview."""
        panel = self.panels["kernels" if change["name"] == "selection" else "explore"]
        if panel.open:
            panel.show()

    # -- the saved page

    def shown_graphs(self) -> Shown | None:
        picture = self._page.picture
        return None if picture is None else (picture.first.graph, picture.last.graph, picture.changes)

    def _wait_for_picture(self) -> bool:
        # also with a picture, which is of an older choice while the passes of a newer one run
        return self.session.drawing.wait(SAVE_SECONDS) or self.shown_graphs() is not None

    def _traits_to_draw(self) -> dict[str, object]:
        with self._page.lock:
            at_rest = {
                "state": {**self.state, "busy": None},
                "titles": [NOT_RUN if title == RUNNING else title for title in self.titles],
                "measure_tab": self._measured.finished(),
            }
            return {**super()._traits_to_draw(), **at_rest}

    def _traits_to_save(self) -> dict[str, object]:
        picture = self._page.picture
        states = () if picture is None else (picture.first, picture.last)
        return {**super()._traits_to_save(), "texts": [printed(state) for state in states]}


def _source(given: object, program: Workload) -> str:
    """Return Python for a workload: by the notebook's own name for it, if it has one; `w` for an unknown one."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    names: dict[str, object] = {} if shell is None else dict(shell.user_ns)
    name = next((name for name, value in names.items() if value is given and not name.startswith("_")), "")
    if name:
        return name if isinstance(given, Workload) else f"wb.load({name})"
    if program.sample:
        sample, options = parse_sample(program.sample)
        return f"wb.samples.load({', '.join([repr(sample), *(f'{key}={value!r}' for key, value in options.items())])})"
    return f"wb.load({given!r})" if isinstance(given, (str, Path)) and len(str(given)) <= SHORT else "w"
