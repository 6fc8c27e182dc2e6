"""The Explore tab: the passes that would change the module here, a row each, as they are tried."""

from __future__ import annotations

import time

from workbench.errors import WorkbenchError
from workbench.experiments.explore import Effect, Exploration, explore
from workbench.pipeline.spec import Pipeline
from workbench.widgets.background import Task
from workbench.widgets.blocks import Block, action, entry, table, words
from workbench.widgets.history import Newest
from workbench.widgets.messages import act, field
from workbench.widgets.stepper.trace_states import WHOLE
from workbench.widgets.workbench.panel import Panel
from workbench.widgets.workbench.session import Session
from workbench.wording import duration

ORDER = ("changed", "error", "untried", "same")
USUAL_LEVEL = 3
"the opt level up to which a pass does not have its own shown"
OFTEN_SECONDS = 0.25
"seconds between two updates of the rows on the page"


class ExplorePanel(Panel):
    """`wb.explore` after a pass; started again at the same place, it continues where it stopped."""

    name, trait = "explore", "explore_tab"
    doing = "Trying passes"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.now: Exploration | None = None
        "the newest"
        self._known = Newest[tuple[Pipeline, int], Exploration]()
        self._all, self._running = False, False
        self._tried_at, self._where = WHOLE, ""
        self._chosen: tuple[object, int] | None = None
        "the picture's place when the user chose another one, and that one"

    def refresh(self) -> None:
        """Show the content of the open tab; it tries nothing by itself."""
        if self.open:
            self.show()

    def cancel(self) -> None:
        self._running = False
        if self.now is not None:
            self.now.cancel()
        super().cancel()

    # -- the place

    def _here(self) -> tuple[object, int]:
        """Return the picture's place: the passes, and the step that is shown."""
        choice = self.session.choice
        step = WHOLE if choice.mode == "context" else self.session.drawing.step
        return (choice.mode, choice.pipeline), step

    def _place(self) -> int:
        here = self._here()
        return self._chosen[1] if self._chosen is not None and self._chosen[0] == here else here[1]

    def _places(self) -> list[str]:
        """Return the words of the places, the start first."""
        choice = self.session.choice
        passes = () if choice.mode == "context" else choice.pipeline
        return ["at the start", *(f"after {place} {step.name}" for place, step in enumerate(passes, 1))]

    # -- clicks and fields

    @act("try")
    def _try(self) -> None:
        self.explore(self._place())

    def explore(self, index: int) -> None:
        """Try every pass after the pass at that place, or on the input for -1; refused after a pass that is a Python function."""
        choice = self.session.choice
        if choice.mode == "context" or index == WHOLE:
            index, after = WHOLE, Pipeline()
        else:
            choice.pass_at(index)
            after = Pipeline(step for step in choice.pipeline.steps[: index + 1] if step.enabled)
        key = (after, choice.opt_level)
        found = self._known.get(key) or explore(self.session.workload, after=after, opt_level=choice.opt_level)
        if self._running and found is self.now:
            return
        if self.now is not None:
            self.now.cancel()
        self._known[key] = self.now = found
        self._tried_at, self._where, self._running = index, self._places()[index + 1], True
        self.start(lambda task: self._try_passes(found, task))
        self.show()

    def _try_passes(self, found: Exploration, task: Task) -> None:
        shown_at = time.monotonic()

        def progress(_: Exploration) -> None:
            nonlocal shown_at
            if not task.wanted:
                found.cancel()
            elif time.monotonic() - shown_at >= OFTEN_SECONDS:
                shown_at = time.monotonic()
                task.report(f"{self.doing} ({len(found.rows)} of {found.total})", len(found.rows) / found.total)
                self.show()

        task.report(self.doing, at_once=True)
        try:
            found.run(progress)
        finally:
            self._running = self._running and found is not self.now

    @act("preview")
    def preview(self, name: str) -> None:
        """Show the module with a pass that was found to change it; the choice stays as it is."""
        found = self.now
        if found is None or not any(row.name == name and row.changed for row in found.rows):
            raise WorkbenchError(f"{name[:80]!r} was not found to change the module here; explore first")
        self.session.drawing.preview(found.after, name, found.opt_level)

    @act("add")
    def add(self, name: str) -> None:
        self.session.add(name, self._tried_at + 1)

    @field("place")
    def _choose_place(self, value: str) -> None:
        places = [str(place) for place in range(WHOLE, len(self._places()) - 1)]
        if value in places:
            self._chosen = self._here(), int(value)
            self.show()

    @field("all")
    def _show_all(self, value: str) -> None:
        self._all = value == "true"
        self.show()

    # -- content

    def blocks(self) -> list[Block]:
        places = [[str(place), text] for place, text in enumerate(self._places(), WHOLE)]
        tip = "Try each pass that TVM has on the module here, one at a time, in a process of its own"
        made = [
            action("Try every pass", "explore-try", title=tip),
            entry("select", "explore-place", "", str(self._place()), options=places),
            entry("check", "explore-all", "also passes without effect", self._all),
        ]
        found = self.now
        return [*made, *self._found(found)] if found is not None else made

    def _found(self, found: Exploration) -> list[Block]:
        rows = list(found.rows)
        listed = sorted(rows, key=lambda row: (ORDER.index(row.status), row.rank))
        listed = [row for row in listed if self._all or row.status != "same"]
        picture = self.session.drawing.picture
        shown = None if picture is None else picture.preview
        left = f" tried, {found.total - len(rows)} to go" if len(rows) < found.total else ""
        # only Relay has passes above the usual level
        leveled = any(row.changed and _level(row) for row in listed)
        said = f"{self._where}: {sum(row.changed for row in rows)} of {len(rows)}{left} would change it"
        return [
            words(said, "note", "explore-words"),
            table(
                ["Pass", "Kernels", "Ops", "Nodes", "Time", *(["Opt level"] if leveled else [])],
                (_line(row, leveled) for row in listed),
                "explore-rows",
                act="explore-preview",
                marked=(place for place, row in enumerate(listed) if row.name == shown),
                args=(row.name if row.changed else "" for row in listed),
                hints=["", "Kernels that fusion would make of the module then"],
                button=("+ add", "explore-add"),
            ),
        ]


def _line(row: Effect, leveled: bool) -> list[str]:
    if not row.changed:
        said = {"error": f"! {row.message}", "same": "changes nothing"}
        return [row.name, said.get(row.status, row.message)]
    deltas = (_signed(row.delta(what)) for what in ("kernels", "ops", "nodes"))
    return [row.name, *deltas, duration(row.seconds * 1e6), *([_level(row)] if leveled else [])]


def _level(row: Effect) -> str:
    return f"from {row.opt_level} on" if (row.opt_level or 0) > USUAL_LEVEL else ""


def _signed(count: int | None) -> str:
    return "?" if count is None else "·" if count == 0 else f"{count:+}".replace("-", "\u2212")
