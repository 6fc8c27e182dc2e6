"""The candidate shown in a TunePanel: the order of the table, the picked candidate and its code, the curve of the search."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.pipeline.build_code import build_code
from workbench.plots import tuning_progress
from workbench.plots.tuning import ROWS
from workbench.tune.result import Result
from workbench.tune.run import Run
from workbench.tune.trial import OBJECTIVES, Trial
from workbench.widgets.background import Background
from workbench.widgets.blocks import Block, action, code, heading, picture, words
from workbench.widgets.tuning import blocks
from workbench.widgets.tuning.blocks import choice

FIRST_OBJECTIVE = 2
"the column by which the table is ordered until somebody chooses another"


class Looking:
    """Changed by clicks; nothing in it changes the search.

    Parameters
    ----------
    workload, target
        What the shown candidates are of.
    show
        Called when a candidate's code was made.
    """

    def __init__(self, workload: Workload, target: str, show: Callable[[], None]) -> None:
        self.workload, self.target, self._show = workload, target, show
        self.all, self.code = False, False
        self._column: int | None = None
        self._down = False
        self._picked: int | None = None
        self._codes: dict[int, str] = {}
        self._trouble = ""
        # in a thread of its own: it must not take the place of something that is to be done to the search
        self._writing = Background("workbench-tune-code", self._failed)

    def sort(self, column: int) -> None:
        """Order the table by a column; the second time, the other way round."""
        self._down = not self._down if column == self._column else False
        self._column = column

    def pick(self, number: int | None) -> None:
        """Look at a candidate; at the winner for None."""
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
        """Another search begins."""
        self._picked = None

    def tried(self, run: Run | None) -> list[Trial]:
        """The candidates for the target that is shown."""
        return [] if run is None else [trial for trial in run.trials if trial.target == self.target]

    def listed(self, run: Run) -> list[Trial]:
        """The rows of the table."""
        column = FIRST_OBJECTIVE if self._column is None else self._column
        found = blocks.ordered(self.tried(run), run.objectives, column, self._down, run.space)
        return found[: blocks.MOST if self.all else blocks.FEW]

    def at(self, run: Run | None) -> tuple[Trial | None, bool]:
        """The candidate that was picked, else the winner; and whether it was picked."""
        tried = self.tried(run)
        picked = next((trial for trial in tried if trial.number == self._picked), None)
        if picked is not None or run is None:
            return picked, picked is not None
        return next(iter(run.known.pareto_for(self.target)), None), False

    def python(self, trial: Trial) -> str:
        """The candidate's code without the workbench; empty while it is not asked for or being made."""
        return self._codes.get(trial.number, self._trouble) if self.code else ""

    def write(self, run: Run | None) -> None:
        """Make the code of what is looked at. A pipeline's passes are run for this, so that it is made beside the notebook."""
        trial, _ = self.at(run)
        if self.code and trial is not None and trial.number not in self._codes:
            self._writing.submit(lambda _: self._write(trial))

    def wait(self, timeout: float) -> bool:
        """Wait until the code is there; whether that was in time."""
        return self._writing.wait(timeout)

    def _write(self, trial: Trial) -> None:
        try:
            self._codes[trial.number] = build_code(self.workload, trial.config, self.target)
        except WorkbenchError as error:
            self._codes[trial.number] = f"# {error}"
        self._show()

    def _failed(self, error: Exception) -> None:
        self._trouble = f"# The workbench itself failed: {type(error).__name__}: {error}"
        self._show()


DRAWING = 0.03
"the part of the time that may go into drawing the curve while a search is at work"


def details(run: Run, trial: Trial, *, picked: bool, applied: Workload | None) -> list[Block]:
    """The winner, or a candidate that was picked."""
    title = f"Candidate {trial.number}" if picked else f"The winner, candidate {trial.number}"
    said = [heading(f"{title}: {choice(trial, run.space)}")]
    if trial.reason:
        said.append(words(f"{trial.status}: {trial.reason}", "small", "tune-reason"))
    if not picked:
        said += _of_the_winner(run, trial.target, applied)
    return [*said, code(rerun(trial), "tune-config")]


def rerun(trial: Trial) -> str:
    """What to type for a candidate: its pipeline, or its Config with what is not as usual."""
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
    """A button for the candidate's code, and the code if it is wanted and made."""
    press = action("Hide the code" if wanted else "Code without the workbench", "tune-code")
    return [press, *([code(text, "tune-python")] if text else [])]


class Curve:
    """The best so far, drawn again when there is more to show and the last drawing has been paid for."""

    def __init__(self) -> None:
        self._drawn: tuple[Any, Block] | None = None
        self._rests_until = 0.0

    def block(self, known: Result, target: str, status: str) -> Block:
        """A picture for light pages and one for dark ones."""
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
