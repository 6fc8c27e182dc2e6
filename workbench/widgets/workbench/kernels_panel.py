"""The Kernels tab: every call of the current configuration, with its time and its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from workbench.debugging.schedule_steps import schedule_steps
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.kernels import Kernels, kernels_config
from workbench.measurement.machine import ceilings
from workbench.measurement.measure import measure_one
from workbench.measurement.overlay import joined, nodes_on, overlay_of
from workbench.measurement.tables import KERNEL
from workbench.pipeline.config import Config
from workbench.plots.rows import conditions
from workbench.quoting import python
from workbench.widgets.background import Task
from workbench.widgets.blocks import Block, TableParts, action, code, entry, heading, picture, table, words
from workbench.widgets.history import Newest
from workbench.widgets.messages import act, field, whole
from workbench.widgets.workbench.panel import Panel
from workbench.widgets.workbench.session import Session
from workbench.wording import counted, size

if TYPE_CHECKING:
    from workbench.dialects.base import Workload

PLOTS = {
    "op": "time by operator",
    "kernel": "time by kernel",
    "handovers": "bytes between kernels",
    "overhead": "launch overhead",
    "roofline": "roofline",
}
OVERLAYS = {
    "": "nothing on the graph",
    "bytes": "bytes on the graph",
    "flops": "FLOPs on the graph",
    "us": "times on the graph",
}
MOST = 400
"rows of the table on the page; the filter finds the others"


class KernelsPanel(Panel):
    """One row for each kernel; a click selects its nodes, and selected nodes mark their kernel."""

    name, trait = "kernels", "kernels_tab"
    doing = "Counting kernels"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.plot, self.laid, self.filter = "op", "", ""
        self.sort, self.down = "index", False
        self._times = Newest[Config, pd.DataFrame]()
        self._counts = Newest[Config, Kernels]()
        self._config: Config | None = None
        self._places: dict[int, list[int]] = {}
        self._picture: tuple[object, Block] | None = None
        self._schedule: tuple[Config, list[Block]] | None = None
        "the schedule of the kernel that was asked for last, and the configuration that it is of"

    # -- counts and times

    def make(self, task: Task) -> None:
        self._look(*self.session.chosen(), task)

    def _look(self, config: Config, program: Workload | None, task: Task) -> None:
        if program is None:
            raise WorkbenchError("the passes gave no module to compile")
        if config not in self._counts:
            progress = task.report_as(self.doing)
            self._counts[config] = kernels_config(
                program, config, self.session.target, progress=progress, cancelled=task.cancelled
            )
        if not task.wanted:
            return
        self._config = config
        found, graph = self._counts[config], self.session.graph_after()
        self._places = nodes_on(found, graph) if graph is not None else {}
        self._lay(graph)

    def _time(self, task: Task) -> None:
        config, program = self.session.chosen()
        self._look(config, program, task)
        assert program is not None
        progress = task.report_as("Timing kernels")
        options = MeasureOptions(budget=0.5, check=False, per_kernel=True, progress=progress, cancelled=task.cancelled)
        row = measure_one(program, config, self.session.target, options, store=False)
        if not row.per_kernel:
            raise WorkbenchError(f"the kernels were not timed: {row.message or row.status}")
        self._times[config] = pd.DataFrame([row.to_data()])
        if task.wanted:
            self._lay(self.session.graph_after())

    def _lay(self, graph: Graph | None) -> None:
        found = self._current_counts()
        times = self._times.get(self._config) if self._config else None
        if not self.laid or found is None or graph is None or (self.laid == "us" and times is None):
            self.page.overlay_after(None)
            return
        self.page.overlay_after(overlay_of(found, self.laid, times=times, onto=graph))

    def _current_counts(self) -> Kernels | None:
        return self._counts.get(self._config) if self._config else None

    # -- clicks and fields

    @act("time")
    def time(self) -> None:
        self.start(self._time)

    @act("sort")
    def sort_by(self, arg: str) -> None:
        place = whole(arg)
        if place is not None and place < len(KERNEL):
            column = list(KERNEL)[place]
            # numbers are sorted from the largest
            self.down = not self.down if column == self.sort else column not in ("index", "function", "op")
            self.sort = column
            self.show()

    @act("row")
    def select(self, arg: str) -> None:
        index = whole(arg)
        if index is not None and index in self._places:
            self.page.select(self._places[index])

    @act("schedule")
    def show_schedule(self, arg: str) -> None:
        """Show the primitives of a kernel's schedule beneath the table."""
        index, found = whole(arg), self._current_counts()
        if index is not None and found is not None and index < len(found.rows):
            self.start(lambda task: self._find_schedule(index, task))

    def _find_schedule(self, index: int, task: Task) -> None:
        config, program = self.session.chosen()
        self._look(config, program, task)
        assert program is not None
        kernel = str(self._counts[config].rows[index]["function"])
        target, context = self.session.target, config.context()
        limits = {"progress": task.report_as("Schedule"), "cancelled": task.cancelled}
        steps = schedule_steps(program, kernel, target, config=context, **limits)
        listed = "\n".join(step.text for step in steps if not step.pure)
        self._schedule = (
            config,
            [
                heading(f"{kernel}: {counted(len(steps), 'step')}, {steps.origin}"),
                code(listed, "kernels-steps"),
                words(
                    "To step through it and change its decisions, with the program that is compiled as `workload`:",
                    "small",
                ),
                code(f"wb.ScheduleStepper(workload, {python(kernel)}, {python(target)})", "kernels-stepper"),
            ],
        )

    @field("plot")
    def choose_plot(self, value: str) -> None:
        if value in PLOTS:
            self.plot = value
            self.show()

    @field("overlay")
    def lay(self, value: str) -> None:
        if value in OVERLAYS:
            self.laid = value
            self.start(lambda _: self._lay(self.session.graph_after()))

    @field("filter")
    def filter_by(self, value: str) -> None:
        self.filter = value
        self.show()

    # -- content

    def _table(self) -> pd.DataFrame:
        found, times = self._current_counts(), self._times.get(self._config) if self._config else None
        return pd.DataFrame() if found is None else joined(found, times)

    def _visible_rows(self) -> pd.DataFrame:
        rows: pd.DataFrame = self._table()
        wanted = self.filter.strip().lower()
        if wanted:
            texts = rows["function"].astype(str) + " " + rows["op"].astype(str)
            rows = rows.loc[texts.str.lower().str.contains(wanted, regex=False)]
        if self.sort in rows:
            rows = rows.sort_values(by=self.sort, ascending=not self.down, kind="stable", na_position="last")
        return rows.head(MOST)

    def blocks(self) -> list[Block]:
        found = self._current_counts()
        if found is None:
            return []
        timed = self._config in self._times
        label = "Time each kernel again" if timed else "Time each kernel"
        controls = [
            action(label, "kernels-time", title="Run each kernel by itself, in the background"),
            entry("select", "kernels-plot", "", self.plot, options=[list(pair) for pair in PLOTS.items()]),
            entry("select", "kernels-overlay", "", self.laid, options=[list(pair) for pair in OVERLAYS.items()]),
            entry("text", "kernels-filter", "", self.filter, hint="Filter"),
        ]
        rows = self._visible_rows()
        # no rule schedules a CPU's kernels
        shown = [column for name, column in KERNEL.items() if name != "rule" or ("rule" in rows and any(rows["rule"]))]
        lines = [[column.cell(row) for column in shown] for row in rows.to_dict("records")]
        chosen = self.page.selected()
        marked = [place for place, index in enumerate(rows["index"]) if chosen & set(self._places.get(int(index), ()))]
        button: TableParts = {"button": ("Schedule", "kernels-schedule")} if self._has_schedules() else {}
        return [
            *controls,
            words(self._summary(found, timed), name="kernels-summary"),
            *(words(note, "small") for note in found.notes),
            table(
                [column.heading for column in shown],
                lines,
                "kernels-table",
                act="kernels-row",
                sort=("kernels-sort", list(KERNEL).index(self.sort), self.down),
                marked=marked,
                args=map(str, rows["index"]),
                **button,
            ),
            *(self._schedule[1] if self._schedule and self._schedule[0] == self._config else []),
            self._plot_block(found),
        ]

    def _has_schedules(self) -> bool:
        """Whether kernels have a schedule on TIR."""
        return self.session.workload.dialect == "relax"

    def _summary(self, found: Kernels, timed: bool) -> str:
        launches = f"{'' if found.launches_exact else 'at least '}{counted(found.launches, 'launch')}"
        said = f"{counted(found.calls, 'call')} of {counted(found.functions, 'function')}, {launches}, {size(found.traffic_bytes)} read and written"
        if self.laid == "us" and not timed:
            said += ". Times are on the graph when the kernels were timed"
        return said

    def _plot_block(self, found: Kernels) -> Block:
        from workbench import plots

        times = self._times.get(self._config) if self._config else None
        key = (self.plot, self._config, id(times))
        if self._picture is not None and self._picture[0] == key:
            return self._picture[1]
        rows = self._table()
        if times is not None:
            rows.attrs = {"conditions": conditions(times), "method": times["kernel_method"].iloc[0]}
        if self.plot == "handovers":
            made = picture(plots.handovers, found.handovers, 2, "plot-kernels-tab")
        elif self.plot == "overhead":
            made = picture(plots.launch_overhead, pd.DataFrame() if times is None else times, 2, "plot-kernels-tab")
        elif self.plot == "roofline":
            roof = ceilings() if times is not None and times.iloc[0].get("device") == "cpu" else None
            made = picture(plots.roofline, rows, 8, "plot-kernels-tab", ceilings=roof)
        else:
            stacks = len(rows) if self.plot == "kernel" else rows["op"].nunique()
            made = picture(plots.kernel_times, rows, min(stacks, 12), "plot-kernels-tab", by=self.plot, most=12)
        self._picture = (key, made)
        return made
