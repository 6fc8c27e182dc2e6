"""The Memory tab: the memory plan of the current configuration, alone or beside that of another one."""

from __future__ import annotations

from workbench.experiments.switches import switches
from workbench.experiments.waterfall import START
from workbench.graph.model import Graph
from workbench.measurement.memory.plan import MemoryPlan, compared, finding
from workbench.measurement.memory.planning import memory_config
from workbench.measurement.overlay import carried, overlay_of
from workbench.pipeline.config import Config
from workbench.widgets.background import Task
from workbench.widgets.blocks import Block, action, entry, words
from workbench.widgets.history import Newest
from workbench.widgets.memory.payload import PlanPayload, encode_plan
from workbench.widgets.messages import act, field
from workbench.widgets.workbench.panel import Panel
from workbench.widgets.workbench.session import Session
from workbench.wording import size

ALONE = ""
OVERLAYS = {"": "nothing on the graph", "live": "live bytes on the graph"}


class MemoryPanel(Panel):
    """The plan of the current choice; a block selects its nodes on the graph."""

    name, trait = "memory", "memory_tab"
    doing = "Planning memory"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.rival, self.laid = ALONE, ""
        self._plans = Newest[Config, MemoryPlan]()
        self._config: Config | None = None
        self._graphs: tuple[Graph | None, Graph | None] = (None, None)

    # -- plans

    def refresh(self) -> None:
        """Plan the current choice if the tab is open; a closed tab shows the peak that it knows."""
        super().refresh()
        if not self.open:
            self._show_peak(self._plans.get(self.session.config))

    def _show_peak(self, plan: MemoryPlan | None) -> None:
        self.page.push(peak="" if plan is None else f"{size(plan.peak_bytes)} at the peak")

    def make(self, task: Task) -> None:
        config = self.session.chosen()[0]
        self._plan(config, task)
        if self.rival == START:
            self._plan(self._start(), task)
        if not task.wanted:
            return
        self._config = config
        self._graphs = self.session.graphs()
        self._show_peak(self._plans[config])
        self._lay()

    def _plan(self, config: Config, task: Task) -> None:
        if config not in self._plans:
            self._plans[config] = memory_config(
                self.session.workload,
                config,
                self.session.target,
                progress=task.report_as(self.doing),
                cancelled=task.cancelled,
            )

    def _start(self) -> Config:
        """Return the configuration without any pass that can be switched, as the first row of a waterfall."""
        pipeline, opt_level = self.session.switched()
        return switches(self.session.workload, pipeline, opt_level).with_only((), START)

    def _shown(self) -> dict[str, MemoryPlan]:
        """Return the plans on the page by their titles, that of the current choice last."""
        current = self._plans.get(self._config) if self._config else None
        if current is None or self._config is None:
            return {}
        others = {config.label: plan for config, plan in self._plans.items() if config != self._config}
        rival = {self.rival: others[self.rival]} if self.rival in others else {}
        return {**rival, self._config.label: current}

    def _lay(self) -> None:
        plan, graph = self._plans.get(self._config) if self._config else None, self._graphs[1]
        if not self.laid or plan is None or graph is None:
            self.page.overlay_after(None)
        else:
            self.page.overlay_after(overlay_of(plan, self.laid, onto=graph))

    # -- fields

    @act("fit")
    def fit(self) -> None:
        self.page.show(memory_viewport={})

    @field("overlay")
    def lay(self, value: str) -> None:
        if value in OVERLAYS:
            self.laid = value
            self.start(lambda _: self._lay())

    @field("rival")
    def compare(self, value: str) -> None:
        if value in self._rivals():
            self.rival = value
            self.start(self.make)

    def _rivals(self) -> list[str]:
        labels = [config.label for config in self._plans if config != self._config]
        return list(dict.fromkeys([ALONE, START, *labels]))

    # -- content

    def show(self) -> None:
        """Show the plans, and the content of the tab."""
        self.page.show(plans=self._payloads())
        super().show()

    def _payloads(self) -> list[PlanPayload]:
        shown = self._shown()
        if not shown:
            return []
        titles = list(shown) if len(shown) > 1 else [""]
        graphs = (self._graphs[0] if self.rival == START else None, self._graphs[1])[-len(shown) :]
        # without its graph on the page, a plan selects nothing
        places = [
            {} if graph is None else carried(plan.graph, graph)
            for plan, graph in zip(shown.values(), graphs, strict=True)
        ]
        return [encode_plan(*each) for each in zip(shown.values(), titles, places, strict=True)]

    def blocks(self) -> list[Block]:
        shown = self._shown()
        if not shown:
            return []
        plans = list(shown.values())
        rivals = [["", "this configuration alone"], *([each, f"beside {each}"] for each in self._rivals() if each)]
        said = compared(plans, list(shown)) if len(plans) > 1 else finding(plans[0])
        notes = dict.fromkeys(note for plan in plans for note in plan.notes)
        return [
            entry("select", "memory-rival", "", self.rival, options=rivals),
            entry("select", "memory-overlay", "", self.laid, options=[list(pair) for pair in OVERLAYS.items()]),
            action("Fit", "memory-fit", title="Show all kernels (f)"),
            words(said, name="memory-summary"),
            *(words(note, "small") for note in notes),
        ]
