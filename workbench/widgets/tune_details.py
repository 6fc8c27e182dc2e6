"""What a TunePanel says of one candidate: why, and what to type to have it again; and the picture of the whole search."""

from __future__ import annotations

import time
from typing import Any

from workbench.dialects.base import Workload
from workbench.plots import tuning_progress
from workbench.plots.tuning import ROWS
from workbench.tune.result import Result
from workbench.tune.run import Run
from workbench.tune.trial import OBJECTIVES, Trial
from workbench.widgets.blocks import Block, action, code, heading, picture, words
from workbench.widgets.tune_blocks import choice

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
        kernels = applied.graph().kernels()
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
