"""What candidates have in common: which final modules are known, which are being built, and the best so far."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from workbench.tune.trial import PRUNED, Trial

MEASURED = ("median_us", "q1_us", "q3_us", "build_seconds")
"values that trials with equal final modules share"


class InFlight(Exception):
    """Another trial that is not over yet has the same final module."""

    def __init__(self, trial: Trial, other: int) -> None:
        super().__init__(f"trial {other} builds the same")
        self.trial, self.other = trial, other


@dataclass
class Memory:
    """Asked by any thread. A final module is claimed before it is built, so that two threads never build the same."""

    best: dict[str, Trial] = field(default_factory=dict)
    "target -> the best that was built, by the objectives in their order"
    _built: dict[tuple[str, str], Trial] = field(default_factory=dict)
    "target and fingerprint -> the trial that was built for them"
    _claims: dict[tuple[str, str], int] = field(default_factory=dict)
    "target and fingerprint -> the trial that builds it now"
    _costs: dict[str, tuple[float, ...]] = field(default_factory=dict)
    "target -> what the best costs"
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, trial: Trial, costs: tuple[float, ...] | None) -> None:
        """Remember a trial that is over.

        Parameters
        ----------
        costs
            None for one that may not win.
        """
        with self._lock:
            self._release(trial.number)
            if trial.like is not None or trial.status == PRUNED or not trial.fingerprint:
                return
            self._built[trial.target, trial.fingerprint] = trial
            if costs is not None and costs < self._costs.get(trial.target, (float("inf"),)):
                self.best[trial.target], self._costs[trial.target] = trial, costs

    def like(self, trial: Trial) -> Trial | None:
        """What is known of a trial from another one with the same final module."""
        twin = self._built.get((trial.target, trial.fingerprint))
        if twin is None:
            return None
        known = {name: twin.values.get(name) for name in MEASURED}
        values = {**trial.values, **known}
        return replace(
            trial, status=twin.status, reason=twin.reason, values=values, like=twin.number, checked=twin.checked
        )

    def claim(self, trial: Trial) -> Trial | int | None:
        """Take a final module to build it.

        Returns
        -------
        Trial, int or None
            None if it is taken. Else what `like` says, or the number of the trial that builds it now.
        """
        place = (trial.target, trial.fingerprint)
        with self._lock:
            if place in self._built:
                return self.like(trial)
            other = self._claims.setdefault(place, trial.number)
            return None if other == trial.number else other

    def release(self, number: int) -> None:
        """Give up what a trial took, because it ended without a result."""
        with self._lock:
            self._release(number)

    def _release(self, number: int) -> None:
        self._claims = {place: taker for place, taker in self._claims.items() if taker != number}
