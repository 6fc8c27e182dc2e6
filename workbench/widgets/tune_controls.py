"""The TunePanel's first line: begin, pause, stop, apply, and what is searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tune.run import Run
from workbench.tune.trial import OBJECTIVES
from workbench.widgets.blocks import Block, action, entry
from workbench.widgets.tune_searching import AT_WORK, OVER

Objective = str | Sequence[str]


@dataclass(frozen=True)
class Wish:
    """What the page may change of a search before it begins."""

    objective: Objective
    budget: float
    "seconds"
    given: Objective
    "the objective that the panel was made with: one choice on the page even if it is several"

    @property
    def choices(self) -> dict[str, Objective]:
        """What the page says -> the objective that it stands for."""
        return {**{name: name for name in OBJECTIVES}, together(self.given): self.given}


def together(objective: Objective) -> str:
    """One objective or several, in words.

    >>> together(["time", "kernels"])
    'time, kernels'
    """
    return objective if isinstance(objective, str) else ", ".join(objective)


def controls(run: Run | None, wish: Wish, busy: str, *, applies: bool) -> list[Block]:
    """The buttons that do something now, and the fields. `applies`: there is a candidate to apply."""
    status = "none" if run is None else run.status
    if status in AT_WORK:
        return [
            *_begin_or_pause(run, busy),
            action("Stop", "tune-stop", title="Give up the candidate in flight, and end"),
        ]
    hint = "Make the workload with the winner's passes: panel.applied"
    return [
        *_begin_or_pause(run, busy),
        *([action("Apply", "tune-apply", title=hint)] if applies else []),
        entry(
            "select", "tune-objective", "for", together(wish.objective), options=[[name] * 2 for name in wish.choices]
        ),
        entry("number", "tune-budget", "seconds", f"{wish.budget:g}", min=1),
    ]


def _begin_or_pause(run: Run | None, busy: str) -> list[Block]:
    if run is not None and run.status == "running":
        return [action("Pause", "tune-pause", title="Finish the candidate in flight, and begin no other")]
    return [
        action(
            _begin(run),
            "tune-start",
            off=busy if run is not None else "",
            title="Beside the notebook, which stays free",
        )
    ]


def _begin(run: Run | None) -> str:
    """What beginning means now."""
    if run is None:
        return "Start"
    if run.status == "paused":
        return "Resume"
    if run.status in OVER:
        return "Go on"
    return "Resume from the log" if run.resumed else "Start"
