"""A Workbench without its widget: the choice of passes and its history, the trace, the measured rows and the checks.

A choice becomes a trace and a picture in a background thread; the newest choice wins. Measuring, exploring, checking and
counting the compiler's build have a background thread each. Results are shown through a `Page`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.count import count_config
from workbench.measurement.measure import measure_one
from workbench.measurement.race import Race, race
from workbench.measurement.row import CANCELLED, FAILED, OK, PENDING, RUNNING, UNDER_WAY, Row
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.trace import Trace
from workbench.widgets.background import Task, Work, sentence
from workbench.widgets.messages import verb
from workbench.widgets.page_types import State
from workbench.widgets.stepper.trace_states import WHOLE, check_outputs
from workbench.widgets.workbench import pass_list
from workbench.widgets.workbench.compiler_build import CompilerBuild
from workbench.widgets.workbench.drawing import Drawing, Setup
from workbench.widgets.workbench.page import Page, code, context_state
from workbench.widgets.workbench.pass_list import Choice
from workbench.widgets.workbench.presets import Presets
from workbench.worker.parent import unasked


class Session:
    """The state of a Workbench on one function of a module. Its marked methods are the page's verbs."""

    def __init__(self, setup: Setup, page: Page) -> None:
        self._history, self.page = setup.history, page
        self.workload, self.target, self.catalog = setup.workload, setup.target, setup.catalog
        entry = f", entry={setup.workload.entry!r}" if setup.workload.entry else ""
        self._source = f"wb.load({setup.source}{entry})" if entry else setup.source
        lane = page.work.lane
        self.presets = Presets(setup.catalog, setup.history, page)
        self.drawing = Drawing(setup, page)
        self.measurements = Measurements(setup.workload, setup.target, setup.budget, page.work)
        self.build = CompilerBuild(setup.workload, setup.target, lambda known: page.push(build=known), lane("build"))
        self._checking = lane("checks", lambda error: page.fail("The check failed", sentence(error)))

    def start(self) -> None:
        """Show the workload without any result, and run the passes."""
        names = self.workload.entries()
        self.page.push(
            title=self.workload.name,
            notes=list(self.workload.notes),
            dialect=self.workload.dialect,
            entries=list(names),
            entry=self.workload.entry or next(iter(names), ""),
            busy=None,
            failed_row=None,
            build={},
            counts={},
        )
        self.presets.show()
        self._change()

    def cancel(self) -> None:
        """Stop all work; the page stays as it is."""
        for part in (self.drawing, self.measurements, self._checking, self.build):
            part.cancel()

    # -- the choice

    @property
    def choice(self) -> Choice:
        return self._history.current

    @property
    def config(self) -> Config:
        return self.choice.config(self.catalog.presets)

    def choose(self, choice: Choice) -> None:
        """Make a new choice, which can be undone."""
        if self._history.choose(choice):
            self._change()
        else:
            self.page.push(refused=None)

    @verb("undo")
    def undo(self) -> None:
        if self._history.undo():
            self._change()

    @verb("redo")
    def redo(self) -> None:
        if self._history.redo():
            self._change()

    def toggle(self, name: str, enabled: bool | None = None) -> None:
        self.choose(pass_list.toggle(self.catalog, self.choice, name, enabled))

    @verb("toggle")
    def switch(self, index: int, enabled: bool) -> None:
        self.choose(self.choice.toggled(index, enabled))

    @verb("toggle_context")
    def switch_context(self, name: str, enabled: bool) -> None:
        self.choose(self.choice.context_toggled(self.catalog.toggleable(name), enabled))

    @verb("add")
    def add(self, name: str, index: int) -> None:
        """Add a pass at that place, as `pass_list.add`."""
        choice, lacks = pass_list.add(self.catalog, self.choice, name, index)
        self.choose(choice)
        if lacks:
            step = choice.pass_at(index)
            self._refuse(f"pass {index}", lacks, f"{step.name} needs {lacks}: fill it in, then switch it on")

    @verb("move")
    def move(self, index: int, to: int) -> None:
        self.choose(self.choice.moved(index, to))

    @verb("duplicate")
    def duplicate(self, index: int) -> None:
        self.choose(self.choice.duplicated(index))

    @verb("remove")
    def remove(self, index: int) -> None:
        self.choose(self.choice.removed(index))

    @verb("mode")
    def set_mode(self, value: str) -> None:
        """Choose between our own pipeline ("pipeline") and the compiler's ("context")."""
        self.choose(self.choice.with_mode(value))

    @verb("opt_level")
    def set_opt_level(self, value: int) -> None:
        self.choose(self.choice.with_opt_level(value))

    @verb("option")
    def set_option(self, index: int, name: str, text: str) -> None:
        """Set an option of a pass, as typed; the form shows why a value is refused."""
        with self._form(f"pass {index}", name):
            self.choose(pass_list.set_option(self.catalog, self.choice, index, name, text))

    @verb("setting")
    def set_setting(self, name: str, text: str) -> None:
        """Set a key of PassContext's config, as typed; the form shows why a value is refused."""
        with self._form("setting", name):
            self.choose(pass_list.set_setting(self.catalog, self.choice, name, text))

    @contextmanager
    def _form(self, form: str, field: str) -> Iterator[None]:
        """Show an error in the field of a form; nothing else changes."""
        try:
            yield
        except WorkbenchError as error:
            self._refuse(form, field, str(error))

    def _refuse(self, form: str, field: str, text: str) -> None:
        self.page.push(refused={"form": form, "field": field, "text": text})

    # -- the trace

    @property
    def trace(self) -> Trace:
        self.drawing.wait(600)
        trace = self.drawing.newest
        if trace is None:
            raise WorkbenchError(self.page.error or "there is no trace yet")
        return trace

    @property
    def kernels(self) -> int:
        self.drawing.wait(600)
        picture = self.drawing.picture
        found = picture.counts.get("after_kernels") if picture else None
        if found is None:
            raise WorkbenchError("the passes gave no picture yet")
        return found

    def _change(self) -> None:
        """Show the current choice without results, and make its trace and picture."""
        choice, catalog = self.choice, self.catalog
        self._checking.cancel()
        state: State = {
            "mode": choice.mode,
            "context": context_state(choice, catalog.infos, catalog.dialect.passes.toggles(), catalog.settings),
            "presets": self.presets.states(),
            "pipeline_text": str(choice.pipeline),
            "code": code(choice, catalog.presets, self.target, self._source),
            "error": None,
            "refused": None,
        }
        self.drawing.draw(choice, state)
        if choice.mode == "pipeline":
            self.build.count(choice.opt_level)
        else:
            self.page.push(build={})

    # -- checking

    @verb("check")
    def check(self) -> None:
        """Find the steps that changed the outputs; refused before the passes have run."""
        trace = self.drawing.current
        if trace is None:
            raise WorkbenchError("the passes have not run yet; check the outputs when the picture is there")
        self.check_trace(trace)

    def check_trace(self, trace: Trace) -> None:
        failed = partial(self.page.fail, "The outputs cannot be checked")
        self._checking.submit(partial(check_outputs, trace, self.drawing.show_checks, failed))

    # -- measuring

    def measure(self, *, again: bool) -> None:
        """Build and time the chosen configuration, if it has no row or `again`."""
        choice = self.choice
        self.measurements.ask(self.config, lambda: self.drawing.program_of(choice), again)

    def race(self) -> None:
        """Race the chosen configuration against the first other one that was timed."""
        current = self.config
        rival = self.measurements.rival(current)
        if rival is None:
            raise WorkbenchError("a race needs two configurations that ran; measure this one and another first")
        self.measurements.race(rival, current, lambda text: self.page.fail("There was no race", text))

    # -- for the panels

    def chosen(self) -> tuple[Config, Workload | None]:
        """Return the current configuration and the workload to compile; waits for a trace that is being made."""
        choice = self.choice
        return choice.config(self.catalog.presets), self.drawing.program_of(choice)

    def switched(self) -> tuple[Pipeline | Config, int]:
        """Return the passes that are on, or the configuration of the compiler's own pipeline; and the opt level."""
        choice = self.choice
        if choice.mode == "context":
            return choice.config(self.catalog.presets), choice.opt_level
        return choice.running, choice.opt_level

    def graphs(self) -> tuple[Graph | None, Graph | None]:
        """Return the graphs before and after the whole pipeline, if they are on the page: a step's are other programs."""
        trace = self.drawing.current
        if trace is None or self.drawing.step != WHOLE:
            return None, None
        return trace.start.graph, trace.end.graph

    def graph_after(self) -> Graph | None:
        return self.graphs()[1]


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
