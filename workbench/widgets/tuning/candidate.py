"""The candidate shown in a TunePanel: the order of the table, the picked candidate and its code, the curve of the search."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.experiments.tuning.result import Result
from workbench.experiments.tuning.run import Run
from workbench.experiments.tuning.trial import OBJECTIVES, Trial
from workbench.pipeline.build import build_code
from workbench.pipeline.config import Config
from workbench.plots import tuning_progress
from workbench.plots.tuning import ROWS
from workbench.quoting import comment
from workbench.widgets.background import Background
from workbench.widgets.blocks import Block, action, code, heading, picture, words
from workbench.widgets.history import Newest
from workbench.widgets.tuning import blocks
from workbench.widgets.tuning.blocks import choice

FIRST_OBJECTIVE = 2
"the column by which the table is ordered at first"


class Looking:
    """The view of the candidates, which clicks change; it does not change the search.

    Parameters
    ----------
    workload, target
        The workload and the target of the shown candidates.
    show
        Called when a candidate's code is ready.
    """

    def __init__(self, workload: Workload, target: str, show: Callable[[], None]) -> None:
        self.workload, self.target, self._show = workload, target, show
        self.all, self.code = False, False
        self._column: int | None = None
        self._down = False
        self._picked: int | None = None
        self._codes = Newest[Config, str]()
        self._trouble = ""
        # in a thread of its own, so that it does not replace a request to the search
        self._writing = Background("workbench-tune-code", self._failed)

    def sort(self, column: int) -> None:
        """Order the table by a column; the second time in reverse."""
        self._down = not self._down if column == self._column else False
        self._column = column

    @property
    def order(self) -> tuple[int, bool]:
        """Return the column that orders the table, and whether its largest value is first."""
        return FIRST_OBJECTIVE if self._column is None else self._column, self._down

    def pick(self, number: int | None) -> None:
        """Show a candidate; the winner for None."""
        self._picked = number

    def toggle_all(self) -> None:
        """Show every row of the table, or the first ones only."""
        self.all = not self.all

    def toggle_code(self) -> None:
        """Show the candidate's code, or hide it."""
        self.code = not self.code

    def reorder(self) -> None:
        """Order the table by the first objective again."""
        self._column = None

    def forget(self) -> None:
        """Reset the view for another search."""
        self._picked = None

    def tried(self, run: Run | None) -> list[Trial]:
        """Return the candidates for the shown target."""
        return [] if run is None else [trial for trial in run.trials if trial.target == self.target]

    def listed(self, run: Run) -> list[Trial]:
        """Return the rows of the table."""
        found = blocks.ordered(self.tried(run), run.objectives, *self.order, run.space)
        return found[: blocks.MOST if self.all else blocks.FEW]

    def at(self, run: Run | None) -> tuple[Trial | None, bool]:
        """Return the picked candidate, else the winner; and whether it was picked."""
        tried = self.tried(run)
        picked = next((trial for trial in tried if trial.number == self._picked), None)
        if picked is not None or run is None:
            return picked, picked is not None
        return next(iter(run.known.pareto_for(self.target)), None), False

    def python(self, trial: Trial) -> str:
        """Return the candidate's code without the workbench; empty if not requested or not ready."""
        return self._codes.get(trial.config, self._trouble) if self.code else ""

    def write(self, run: Run | None) -> None:
        """Generate the shown candidate's code in a background thread, because this runs a pipeline's passes."""
        trial, _ = self.at(run)
        if self.code and trial is not None and trial.config not in self._codes:
            self._writing.submit(lambda _: self._write(trial))

    def wait(self, timeout: float) -> bool:
        """Wait until the code is ready; return whether that happened in time."""
        return self._writing.wait(timeout)

    def _write(self, trial: Trial) -> None:
        try:
            self._codes[trial.config] = build_code(self.workload, trial.config, self.target)
        except WorkbenchError as error:
            self._codes[trial.config] = f"# {comment(error)}"
        self._show()

    def _failed(self, error: Exception) -> None:
        self._trouble = f"# {comment(f'The workbench itself failed: {type(error).__name__}: {error}')}"
        self._show()


DRAWING = 0.03
"the share of time for drawing the curve during a search"


def details(run: Run, trial: Trial, *, picked: bool, applied: Workload | None) -> list[Block]:
    """Return the blocks about the winner, or about a picked candidate."""
    title = f"Candidate {trial.number}" if picked else f"The winner, candidate {trial.number}"
    said = [heading(f"{title}: {choice(trial, run.space)}")]
    if trial.reason:
        said.append(words(f"{trial.status}: {trial.reason}", "small", "tune-reason"))
    if not picked:
        said += _of_the_winner(run, trial.target, applied)
    return [*said, code(rerun(trial), "tune-config")]


def rerun(trial: Trial) -> str:
    """Return the Python for a candidate: its pipeline, or its Config with the fields that are not defaults."""
    config = {name: value for name, value in trial.config.to_data().items() if value not in ("", (), {}, [])}
    return trial.config.pipeline or f"wb.Config(**{config!r})"


def _of_the_winner(run: Run, target: str, applied: Workload | None) -> list[Block]:
    said = []
    raced = run.result().races.get(target) if run.status == "done" else None
    if raced is not None:
        said.append(words(f"Default against winner, run in turn: {raced}", name="tune-race"))
    if applied is not None:
        kernels = applied.graph.kernel_count
        told = f"Applied: panel.applied has {kernels} kernel{'s' * (kernels != 1)}; panel.compare() shows both graphs."
        said.append(words(told, name="tune-applied"))
    return said


def python(text: str, *, wanted: bool) -> list[Block]:
    """Return a button for the candidate's code, and the code if it is requested and ready."""
    press = action("Hide the code" if wanted else "Code without the workbench", "tune-code")
    return [press, *([code(text, "tune-python")] if text else [])]


class Curve:
    """The curve of the best value, drawn again if it has changed and the drawing's share of time allows it."""

    def __init__(self) -> None:
        self._drawn: tuple[object, Block] | None = None
        self._rests_until = 0.0

    def block(self, known: Result, target: str, status: str) -> Block:
        """Return a picture for light pages and one for dark ones."""
        key = (len(known.trials), known.objectives, status == "running")
        begun = time.monotonic()
        if self._drawn is not None:
            was, block = self._drawn
            if was == key or (status == "running" and begun < self._rests_until):
                return block
        table = known.table
        value = OBJECTIVES[known.objectives[0]]
        made = picture(tuning_progress, table[table["target"] == target], ROWS, "tune-curve", value=value)
        now = time.monotonic()
        self._drawn, self._rests_until = (key, made), now + (now - begun) / DRAWING
        return made
