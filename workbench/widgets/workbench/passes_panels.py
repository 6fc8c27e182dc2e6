"""The Waterfall and Ablation tabs: the effect of the chosen passes one after the other, and the loss without each one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from workbench import plots
from workbench.experiments.ablation import AblationRequest, AblationRow, ablation_rows
from workbench.experiments.waterfall import WaterfallRequest, WaterfallRow, waterfall_rows
from workbench.measurement.race import Race
from workbench.measurement.row import COUNTED, failure
from workbench.measurement.tables import MEASURED, spread
from workbench.measurement.verdict import NOISE_COLUMNS, RACED, VERDICT, judge_row, ratio_of
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.plots.passes import headline
from workbench.widgets.background import Task
from workbench.widgets.blocks import Block, action, entry, picture, table, words
from workbench.widgets.messages import act, field
from workbench.widgets.workbench.panel import Panel
from workbench.widgets.workbench.session import Session

Rows = list[dict[str, Any]]
WHAT = {"kernels": "kernels", "traffic_bytes": "bytes", "median_us": "time"}
COUNTS, TIMES = False, True
OFTEN = 1.0
"seconds between two plots of rows that still come"
MOST_LISTED = 4
"stages whose kernels differ from the picture's that are named"
COUNTED_COLUMNS = (MEASURED["kernels"], MEASURED["traffic_bytes"])
HEADINGS = [column.heading for column in COUNTED_COLUMNS]
RACE_COLUMNS = ("ratio", "low", "high", "rounds", "verdict", *NOISE_COLUMNS)


class PassesPanel(Panel):
    """A tab of rows: the counts when the tab is opened, the times on request."""

    press = ""
    "the label of the button"
    hint = ""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.rows: Rows = []
        self.finished = True
        "whether all rows are complete; cancelled rows are not"
        self._of: object = None
        "the choice of the rows"
        self._plot: list[Block] = []
        self._drawn = 0.0
        "when the plot was drawn, or the rows began to fill"

    def make(self, task: Task) -> None:
        """Count, if that was not done for this choice."""
        choice = self.session.switched()
        if choice != self._of:
            self._fill(task, timed=COUNTS)

    @act("time")
    def time(self) -> None:
        self.start(lambda task: self._fill(task, timed=TIMES))

    def _fill(self, task: Task, *, timed: bool) -> None:
        choice = self.session.switched()
        self._drawn = time.monotonic()
        # the present rows stay until the first new one
        for rows in self.found(*choice, timed=timed, task=task):
            if not task.wanted:
                return
            if self.finished:
                self._plot = []
            self.rows, self._of, self.finished = self.kept([row.to_data() for row in rows]), choice, False
            self.show()
        self.finished = task.wanted

    def kept(self, rows: Rows) -> Rows:
        """Return the rows without the ratios that were withdrawn meanwhile."""
        return rows

    def found(
        self, pipeline: Pipeline | Config, opt_level: int, *, timed: bool, task: Task
    ) -> Iterator[Sequence[AblationRow | WaterfallRow]]:
        """Yield the rows as they fill."""
        raise NotImplementedError

    def _drawing(self, plot: Callable[..., object], rows: int, **options: object) -> list[Block]:
        """Return the plot. While rows come it is drawn once in OFTEN seconds: it takes longer than counting a row."""
        if self.finished or self.cancelled or time.monotonic() - self._drawn > OFTEN:
            made = picture(plot, pd.DataFrame(self.rows), rows, f"plot-{self.name}", finished=self.finished, **options)
            self._plot, self._drawn = [made], time.monotonic()
        return self._plot

    def _pressed(self) -> Block:
        return action(self.press, f"{self.name}-time", title=self.hint)


class WaterfallPanel(PassesPanel):
    """The kernels, bytes and time after each pass."""

    name, trait = "waterfall", "waterfall_tab"
    doing = "Counting kernels after each pass"
    press = "Time each stage"
    hint = "Build the program after each pass, and time it, in the background"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.what = "kernels"

    def found(
        self, pipeline: Pipeline | Config, opt_level: int, *, timed: bool, task: Task
    ) -> Iterator[Sequence[WaterfallRow]]:
        request = WaterfallRequest(
            workload=self.session.workload,
            target=self.session.target,
            pipeline=pipeline,
            opt_level=opt_level,
            timed=timed,
            budget=0.5,
            check=False,
            store=False,
            progress=task.report_as("Waterfall"),
            cancelled=lambda: not task.wanted,
            known=self.session.drawing.runner,
        )
        return waterfall_rows(request)

    @act("time")
    def time(self) -> None:
        self.what = "median_us"
        super().time()

    @field("what")
    def choose(self, value: str) -> None:
        if value in WHAT:
            self.what = value
            self.show()

    def blocks(self) -> list[Block]:
        if not self.rows:
            return []
        data = pd.DataFrame(self.rows)
        chooser = entry("select", "waterfall-what", "", self.what, options=[list(pair) for pair in WHAT.items()])
        lines = [
            [
                str(row["pass"]),
                *(column.cell(row) for column in COUNTED_COLUMNS),
                spread(row),
                failure(row.get("status"), row.get("message")),
            ]
            for row in self.rows
        ]
        changes = data[self.what].nunique() if self.what in data else 1
        return [
            self._pressed(),
            chooser,
            *self._beside(),
            words("Each row is the program after that pass, built as it is then.", "small"),
            table(["After", *HEADINGS, "Time", ""], lines, "waterfall-table"),
            *self._drawing(plots.waterfall, min(max(changes, 1) + 2, 14), what=self.what),
        ]

    def _beside(self) -> Iterator[Block]:
        """Yield a sentence where a build has other kernels than the picture of the same stage."""
        trace = self.session.drawing.current
        if trace is None:
            return
        states = [trace.start, *(step.state_after for step in trace.steps if step.status != "off")]
        pairs = list(zip(self.rows, states, strict=False))
        if len(self.rows) != len(states):
            # the compiler's own passes: those that are switched are not all of its steps
            pairs = [(self.rows[0], trace.start)]
        differing = [
            f"{row['kernels']} instead of {state.graph.kernel_count} after {row['pass']}"
            for row, state in pairs
            if row.get("kernels") not in (None, state.graph.kernel_count)
        ]
        if differing:
            listed = ", ".join([*differing[:MOST_LISTED], *(["..."] if differing[MOST_LISTED:] else [])])
            yield words(
                f"A build also runs the passes that it always needs, so its kernels differ from those of the picture: {listed}.",
                "small",
                "waterfall-beside",
            )


class AblationPanel(PassesPanel):
    """The kernels, bytes and time without each pass."""

    name, trait = "ablation", "ablation_tab"
    doing = "Counting kernels without each pass"
    press = "Race without each pass"
    hint = "Build without each pass in turn, and run it against the whole pipeline, in the background"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._races: dict[int, tuple[Config, Config, Race]] = {}
        "place of a row -> the two builds that it raced"
        session.measurements.listeners.append(self._withdraw)

    def found(
        self, pipeline: Pipeline | Config, opt_level: int, *, timed: bool, task: Task
    ) -> Iterator[Sequence[AblationRow]]:
        self._races = {}
        request = AblationRequest(
            workload=self.session.workload,
            target=self.session.target,
            pipeline=pipeline,
            opt_level=opt_level,
            timed=timed,
            budget=1.0,
            progress=task.report_as("Ablation"),
            cancelled=lambda: not task.wanted,
            known=self.session.drawing.runner,
            raced=lambda *found: self._keep(*found) if task.wanted else None,
        )
        return ablation_rows(request)

    def _keep(self, place: int, config: Config, whole: Config, found: Race) -> None:
        self._races[place] = config, whole, found
        self.session.measurements.keep_race(config, whole, found)

    def _withdraw(self) -> None:
        """Remove the ratio of a pair that was raced again in another tab, so that a pair has one answer."""
        kept = self.kept(self.rows)
        if kept != self.rows:
            self.rows = kept
            self.show()

    def kept(self, rows: Rows) -> Rows:
        return [_unraced(row) if self._raced_again(place) else row for place, row in enumerate(rows)]

    def _raced_again(self, place: int) -> bool:
        if place not in self._races:
            return False
        config, whole, _ = self._races[place]
        newest = self.session.measurements.race_of(config, whole)
        # a pass that is twice in the pipeline has two rows of one pair, each with its own race
        return newest is not None and all(newest is not found for *_, found in self._races.values())

    def blocks(self) -> list[Block]:
        if not self.rows:
            return []
        lines = [
            [
                "all passes, against themselves"
                if row["direction"] == "control"
                else f"{row['direction']} {row['pass']}",
                *(column.cell(row) for column in COUNTED_COLUMNS),
                *self._raced(row),
            ]
            for row in self.rows
        ]
        return [
            self._pressed(),
            words(headline(self.rows, finished=self.finished), "strong", "ablation-headline"),
            words(
                "Each row ran in turn with all passes. If its interval holds 1, neither is shown to be faster.", "small"
            ),
            table(["", *HEADINGS, "Time / all", ""], lines, "ablation-table"),
            *self._drawing(plots.ablation, max(len(self.rows) - 1, 2)),
        ]

    def _pressed(self) -> Block:
        raced = any(ratio_of(row) for row in self.rows)
        return action("Race again" if raced else self.press, "ablation-time", title=self.hint)

    def _raced(self, row: dict[str, object]) -> tuple[str, str]:
        """Return the ratio with its interval, if the race allows a claim; and the verdict, or the reason for none."""
        if ratio_of(row) is None:
            again = str(row.get("message") or "") if row.get("status") == COUNTED else ""
            return "", again or failure(row.get("status"), row.get("message"))
        found = judge_row(row, self.rows[0])
        if found.reason != RACED:
            # the headline has the figures of the noise
            return "", found.reason
        return f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})", VERDICT[found.answer]


def _unraced(row: dict[str, object]) -> dict[str, object]:
    kept = {name: value for name, value in row.items() if name not in RACE_COLUMNS}
    return {**kept, "status": COUNTED, "message": "raced again in the Measure tab"}
