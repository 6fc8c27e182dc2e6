"""The Measure tab: a row for each configuration that was tried, with its time; the newest race is the headline."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.measurement.race import Race
from workbench.measurement.row import CANCELLED, NOT_MEASURED, OK, PENDING, RUNNING, UNDER_WAY, Row, failure
from workbench.measurement.tables import MEASURED, spread
from workbench.pipeline.config import Config
from workbench.plots.configurations import headline
from workbench.widgets.blocks import Bars, Block, action, picture, sendable, table, words
from workbench.widgets.messages import act, whole
from workbench.widgets.page_types import FailedRow
from workbench.widgets.workbench.panel import Panel
from workbench.widgets.workbench.session import Session
from workbench.wording import counted, one_line

SHOWN = [MEASURED[name] for name in ("config", "kernels", "functions", "peak_bytes", "median_us")]
TARGET = MEASURED["target"]
"the last column, if the rows have several targets"
CALM = (*UNDER_WAY, CANCELLED, NOT_MEASURED)
"statuses that are not a fault"
NOTHING = "Nothing measured yet. Switch a pass on or off, then measure: each configuration becomes a row."


class MeasurePanel(Panel):
    """The measured rows and their plots, which are shown whether the tab is open or not."""

    name, trait = "measure", "measure_tab"
    doing = "Measuring"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._opened: set[Config] = set()
        "configurations whose details are shown"
        self._sort: tuple[int, bool] | None = None
        "the column that orders the rows, and whether its largest value is first"
        self._plotting = self.page.work.lane("plots")
        self._plotted: object = None
        "the figures and races of the plots on the page"
        self._listing = threading.Lock()
        "held while the rows are shown, so that older rows are not shown after newer ones"
        session.measurements.listeners.append(self.show)

    def refresh(self) -> None:
        self.show()

    # -- clicks

    @act("run")
    def _measure(self) -> None:
        """Measure the configuration; a click while that runs does not begin it again."""
        known = self.session.measurements.all().get(self.session.config)
        self.session.measure(again=known is None or known.status != RUNNING)

    @act("race")
    def _race(self) -> None:
        self.session.race()

    @act("clear")
    def _clear(self) -> None:
        self.session.measurements.clear()
        self._opened.intersection_update(self.session.measurements.all())

    @act("sort")
    def _sort_by(self, arg: str) -> None:
        """Order the rows by a column: up, then down, then as they were measured."""
        column, was = whole(arg), self._sort
        if column is not None and column <= len(SHOWN):
            self._sort = (column, False) if was is None or was[0] != column else None if was[1] else (column, True)
            self.show()

    @act("row")
    def _open_row(self, arg: str) -> None:
        place, rows = whole(arg), list(self.session.measurements.all())
        if place is not None and place < len(rows):
            self._opened ^= {rows[place]}
            self.show()

    # -- content

    def show(self) -> None:
        """Show the rows and their headline; and the plots, once no row is under way."""
        with self._listing:
            rows, races = self.session.measurements.all(), self.session.measurements.races
            measured = [row.target for row in rows.values() if row.status == OK]
            self.page.push(
                target=measured[-1] if measured else self.session.target,
                failed_row=_failed(rows.get(self.session.config)),
            )
            super().show()
        # plots are not updated while a row is being measured: a title needs complete data
        if rows and not any(row.status in UNDER_WAY for row in rows.values()):
            self._plotting.submit(lambda _task: self._plot(list(rows.values()), races))

    def _plot(self, rows: list[Row], races: list[Race]) -> None:
        figures = [(row.config, row.status, row.kernels, row.median_us) for row in rows]
        if (figures, races) != self._plotted:
            self._plotted = (figures, races)
            self.page.show(plots=_plots(rows, races))

    def blocks(self) -> list[Block]:
        return self._content(self.session.measurements.all())

    def finished(self) -> list[Block]:
        """Return the content for a saved page, in which no work is under way."""
        rows = self.session.measurements.all()
        return sendable(self._content({key: row for key, row in rows.items() if row.status not in UNDER_WAY}))

    def _content(self, rows: dict[Config, Row]) -> list[Block]:
        races, current = self.session.measurements.races, self.session.config
        rival = self.session.measurements.rival(current)
        buttons = [
            action("Measure this configuration", "measure-run", title="Build and time the present configuration")
        ]
        if rival is not None:
            raced = any({race.a, race.b} == {rival.label, current.label} for race in races)
            label = "Race again" if raced else f"Race against {one_line(rival.label, 60)}"
            buttons.append(action(label, "measure-race", title="A difference is reported only after a race."))
        if not rows:
            return [*buttons, words(NOTHING, "small", "measure-empty")]
        targets = list(dict.fromkeys(row.target for row in rows.values() if row.target))
        said = "Rows of different targets are not comparable." if len(targets) > 1 else "".join(targets)
        found = headline([row.to_data() for row in rows.values()], races)
        return [
            *buttons,
            action("Clear", "measure-clear", title="Forget all rows"),
            words(said, "note"),
            *([words(found, "strong", "headline")] if found else []),
            self._table(rows, current, several=len(targets) > 1),
        ]

    def _table(self, rows: dict[Config, Row], current: Config, *, several: bool) -> Block:
        slowest = max((row.q3_us or row.median_us or 0.0 for row in rows.values()), default=0.0)
        lines: list[tuple[str, list[str], list[float], bool, str]] = []
        ordered = self._ordered(rows)
        for place, config, row in ordered:
            cells = [f"● {row.config}" if config == current else row.config, *_numbers(row), _time(row)]
            cells += [row.target] if several else []
            details = _details(config, row)
            lines.append((str(place), cells, _bar(row, slowest), config == current, details))
            if said := failure(row.status, row.message):
                lines.append(("", [said if row.status in CALM else f"! {said}"], [], False, ""))
            if config in self._opened:
                lines.append(("", [details], [], False, ""))
        args, texts, spans, marked, tips = zip(*lines, strict=True)
        column, down = self._sort or (-1, False)
        bars: Bars = {"column": len(SHOWN) - 1, "spans": list(spans)}
        return table(
            [column.heading for column in (*SHOWN, *([TARGET] if several else []))],
            texts,
            "rows",
            act="measure-row",
            sort=("measure-sort", column, down),
            marked=(place for place, each in enumerate(marked) if each),
            args=args,
            hints=[column.hint for column in SHOWN],
            bars=bars,
            tips=list(tips),
            opened=[str(place) for place, config, _ in ordered if config in self._opened],
        )

    def _ordered(self, rows: dict[Config, Row]) -> list[tuple[int, Config, Row]]:
        """Return the rows with their places, in the order of a column; those without a value are last or first."""
        placed = [(place, config, row) for place, (config, row) in enumerate(rows.items())]
        if self._sort is None:
            return placed
        column, down = self._sort

        def key(each: tuple[int, Config, Row]) -> tuple[bool, Any]:
            value = getattr(each[2], [*SHOWN, TARGET][column].name)
            return value is None, value.casefold() if isinstance(value, str) else value or 0

        return sorted(placed, key=key, reverse=down)


def _details(config: Config, row: Row) -> str:
    """Return what the columns leave out; a saved page, where no line can be opened, has it as the line's tooltip."""
    facts = [
        config.whole if config.whole != row.config else "",
        spread(row.to_data()),
        f"{counted(len(row.samples), 'sample')} after warm-up" if row.samples else "",
        f"target {row.target}" if row.target else "",
        row.message,
    ]
    return " · ".join(filter(None, facts))


def _failed(row: Row | None) -> FailedRow | None:
    if row is None or row.status in CALM or not failure(row.status, row.message):
        return None
    return {"config": row.config, "status": row.status or "", "message": row.message}


def _numbers(row: Row) -> Iterator[str]:
    data = row.to_data()
    return (column.cell(data) or "\u2013" for column in SHOWN[1:-1])


def _time(row: Row) -> str:
    """Return the time of a row, or its status in a word: the sentence is beneath it."""
    if row.status == OK:
        return SHOWN[-1].cell(row.to_data()) or row.message or NOT_MEASURED
    waits = {RUNNING: "measuring…", PENDING: "waiting"}
    if row.status in waits:
        return row.message or waits[row.status]
    return row.status or "" if row.status in CALM else f"! {row.status}"


def _bar(row: Row, slowest: float) -> list[float]:
    if row.status != OK or row.median_us is None or not slowest:
        return []
    low, high = (row.median_us if each is None else each for each in (row.q1_us, row.q3_us))
    return [each / slowest for each in (low, row.median_us, high)]


def _plots(rows: Sequence[Row], races: Sequence[Race]) -> list[Block]:
    import pandas as pd

    from workbench.plots import kernel_count, runtime

    data = pd.DataFrame([row.to_data() for row in rows])
    return [
        picture(kernel_count, data, len(data), "plot-kernels"),
        picture(runtime, data, len(data), "plot-runtime", races=races),
    ]
