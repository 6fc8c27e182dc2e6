"""The trials of a run, numbered and found again: on the disk first, since what is not there did not happen."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from workbench.pipeline.config import Config
from workbench.tune.evaluate import Evaluator
from workbench.tune.log import Log
from workbench.tune.trial import Trial, key_of


class Book:
    """Written by the run's thread, read by any.

    Parameters
    ----------
    log
        None to keep trials in memory only.
    trials
        Those of the log.
    evaluator
        Is told of each.
    """

    def __init__(self, log: Log | None, trials: Sequence[Trial], evaluator: Evaluator) -> None:
        self._log, self._evaluator = log, evaluator
        self._lock = threading.Lock()
        self._trials = {trial.number: trial for trial in trials}
        self._by_key = {trial.key: trial for trial in trials}
        self._next = max(self._trials, default=-1) + 1
        for trial in trials:
            evaluator.learn(trial)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All so far, in the order in which they were begun."""
        with self._lock:
            return tuple(self._trials[number] for number in sorted(self._trials))

    def of(self, target: str) -> list[Trial]:
        """Those of one target."""
        return [trial for trial in self.trials if trial.target == target]

    def number(self) -> int:
        """One that no candidate had."""
        self._next += 1
        return self._next - 1

    def known(self, target: str, config: Config) -> Trial | None:
        """What is known of a configuration, if it is enough for what is asked now."""
        found = self._by_key.get(key_of(target, config))
        return found if found is not None and self._evaluator.enough(found) else None

    def keep(self, trial: Trial) -> None:
        """Write a trial down; in the place of another one of that number."""
        if self._log is not None:
            self._log.append(trial)
        with self._lock:
            self._trials[trial.number] = trial
        self._by_key[trial.key] = trial
        self._evaluator.learn(trial)
