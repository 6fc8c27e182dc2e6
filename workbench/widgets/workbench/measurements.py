"""The measured configurations of a Workbench, one row each, measured one at a time in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.count import count_config
from workbench.measurement.measure import measure_one
from workbench.measurement.race import Race, race
from workbench.measurement.row import CANCELLED, FAILED, OK, PENDING, RUNNING, UNDER_WAY, Row
from workbench.pipeline.config import Config
from workbench.widgets.background import Task, Work
from workbench.worker.parent import unasked


class Measurements:
    """Rows by configuration; every one should have the outputs of `origin`."""

    def __init__(self, origin: Workload, target: str, budget: float, work: Work) -> None:
        self.origin, self.target, self.budget = origin, target, budget
        self.listeners: list[Callable[[], None]] = []
        "called when a row or a race has changed"
        self._lock = threading.RLock()
        self._rows: dict[Config, Row] = {}
        self._before: dict[Config, Row] = {}
        "the row of a pending request, as it was before the request"
        self._races: dict[frozenset[Config], tuple[Config, Config, Race]] = {}
        self._work, self._racing = work.lane("measures"), work.lane("races")

    def ask(self, config: Config, module: Callable[[], Workload | None], again: bool) -> None:
        """Measure a configuration that has no row yet, or if `again`; `module` returns the workload to compile.

        Waiting requests are withdrawn; the running one continues if it is this configuration.
        """
        with self._lock:
            self._work.withdraw()
            self.forget_pending()
            known = self._rows.get(config)
            under_way = known is not None and known.status in UNDER_WAY
            wanted = again or known is None or known.status == CANCELLED or (under_way and not self._work.resume())
            if wanted:
                self._before.pop(config, None)
                if known is not None and not under_way:
                    self._before[config] = known
                self._rows[config] = replace(known or self._empty(config), status=PENDING, message="")
        self._changed()
        if wanted:

            def measure(task: Task) -> None:
                with unasked(not again):
                    self._measure(config, module, task)

            self._work.submit(measure)

    def forget_pending(self) -> None:
        """Put back the row of a request that a newer one replaces, or that is cancelled."""
        with self._lock:
            for key in [key for key, row in self._rows.items() if row.status == PENDING]:
                before = self._before.pop(key, None)
                if before is None:
                    del self._rows[key]
                else:
                    self._rows[key] = before

    def race(self, a: Config, b: Config, fail: Callable[[str], None]) -> None:
        """Race two configurations, and keep the race; call `fail` with the reason if there was none."""
        self._racing.submit(lambda task: self._race(a, b, fail, task))

    @property
    def races(self) -> list[Race]:
        """Return the races of two rows, by the rows' names, the newest last."""
        with self._lock:
            labels = {config.same_build(): config.label for config in self._rows}
            known = [(a, b, race) for a, b, race in self._races.values() if a in labels and b in labels and a != b]
        return [replace(race, a=labels[a], b=labels[b]) for a, b, race in known if not race.wrong]

    def keep_race(self, a: Config, b: Config, found: Race) -> None:
        """Keep a race that was run here or in another tab, instead of the older one of the pair."""
        first, second = a.same_build(), b.same_build()
        pair = frozenset((first, second))
        with self._lock:
            self._races.pop(pair, None)
            self._races[pair] = (first, second, found)
        self._changed()

    def race_of(self, a: Config, b: Config) -> Race | None:
        """Return the newest race of two configurations."""
        with self._lock:
            known = self._races.get(frozenset((a.same_build(), b.same_build())))
        return known and known[2]

    def rival(self, current: Config) -> Config | None:
        """Return the configuration to race the current one against: the first that ran and is another build, or None."""
        rows = self.all()
        if current not in rows or rows[current].status != OK:
            return None
        build = current.same_build()
        others = (config for config, row in rows.items() if row.status == OK and config.same_build() != build)
        return next(others, None)

    def cancel(self) -> None:
        """Stop the running measurement, and drop the waiting ones."""
        self._work.cancel()
        self._racing.cancel()
        self.forget_pending()
        self._changed()

    def clear(self) -> None:
        """Drop all rows but running and waiting ones."""
        with self._lock:
            self._rows = {key: row for key, row in self._rows.items() if row.status in UNDER_WAY}
            self._races = {}
        self._changed()

    def all(self) -> dict[Config, Row]:
        """Return a copy of the rows."""
        with self._lock:
            return dict(self._rows)

    def _measure(self, config: Config, module: Callable[[], Workload | None], task: Task) -> None:
        workload = module()
        if workload is None or task.cancelled():
            gone = replace(self._empty(config), status=CANCELLED, message="the passes gave no module")
            self._set(config, gone)
            return
        running = replace(self.all().get(config) or self._empty(config), status=RUNNING, message="")
        self._set(config, running)
        self._set(config, self._counted(running, workload, config, task))
        options = MeasureOptions(
            budget=self.budget,
            progress=lambda what, fraction: task.report(f"{what}: {config.label}", fraction),
            cancelled=task.cancelled,
        )
        self._set(config, measure_one(workload, config, self.target, options, origin=self.origin))

    def _race(self, a: Config, b: Config, fail: Callable[[str], None], task: Task) -> None:
        try:
            found = race(
                self.origin,
                a,
                b,
                self.target,
                budget=2 * self.budget,
                progress=lambda what, fraction=None: task.report(f"{what}: {a.label}, {b.label}", fraction),
                cancelled=task.cancelled,
            )
        except WorkbenchError as error:
            if not task.cancelled():
                fail(str(error))
            return
        self.keep_race(a, b, found)

    def _counted(self, row: Row, workload: Workload, config: Config, task: Task) -> Row:
        """Return the row with its counts, which are ready long before the build; if counting fails, the build has the reason."""
        try:
            found = count_config(workload, config, self.target, cancelled=task.cancelled)
        except WorkbenchError:
            return row
        counts = {"kernels": found.calls, "functions": found.functions}
        sizes = {"traffic_bytes": found.traffic_bytes, "peak_bytes": found.peak_bytes}
        return row if found.status == FAILED else replace(row, **counts, **sizes)

    def _empty(self, config: Config) -> Row:
        return Row(config.label, self.target, self.target, config.pipeline)

    def _changed(self) -> None:
        for listen in self.listeners:
            listen()

    def _set(self, config: Config, row: Row) -> None:
        with self._lock:
            self._rows[config] = row
        self._changed()
