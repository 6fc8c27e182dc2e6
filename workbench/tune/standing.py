"""How a search stands: the best so far, trial by trial, and why others may not win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tune.trial import PRUNED, Trial


@dataclass(frozen=True)
class Best:
    """The best so far after a trial."""

    seconds: float
    "that all trials up to it took"
    trial: int
    value: float
    "of the first objective"


def best_of(trials: Sequence[Trial], target: str, objectives: Sequence[str]) -> tuple[Best, ...]:
    """Each time that the first objective became better for a target."""
    found: list[Best] = []
    spent = 0.0
    for trial in trials:
        spent += trial.seconds
        costs = trial.costs(objectives[:1]) if trial.target == target else None
        if costs is not None and (not found or costs[0] < found[-1].value):
            found.append(Best(spent, trial.number, costs[0]))
    return tuple(found)


def failures(trials: Sequence[Trial]) -> dict[str, int]:
    """How many trials may not win, by status and reason, the most frequent first."""
    reasons = Counter(
        trial.status if trial.status == PRUNED else f"{trial.status}: {trial.reason}"
        for trial in trials
        if not trial.ok
    )
    return dict(reasons.most_common())
