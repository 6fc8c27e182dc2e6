"""What a search ends with: those that would win are checked, and raced against the default."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from workbench.errors import NoDevice, NoServer
from workbench.measure.timing.race import Race, race
from workbench.pipeline.config import Config
from workbench.tune.book import Book
from workbench.tune.evaluate import Clock, Evaluator
from workbench.tune.pace import Pace
from workbench.tune.racing import Verdict, decided
from workbench.tune.trial import Trial, front


class Finish:
    """The end of the search for each target.

    Parameters
    ----------
    race
        Seconds of a race; 0 for none.
    says
        Is told what is done next.
    """

    def __init__(self, evaluator: Evaluator, book: Book, pace: Pace, race: float, says: Callable[[str], None]) -> None:
        self._workload, self._objectives = evaluator.workload, evaluator.objectives
        self._evaluator, self._effort = evaluator, evaluator.effort
        self._book, self._pace, self._race_seconds, self._says = book, pace, race, says
        self.seconds = 0.0
        "that checking and racing took"
        self.verdicts: dict[str, Verdict] = {}
        "target -> what its races say"

    def of(self, target: str) -> None:
        """Check, and race.

        Raises
        ------
        WorkerLost
            It was stopped.
        """
        self._confirm(target)
        self._race(target)

    def _confirm(self, target: str) -> None:
        """Build and check what would win by its counts alone, until what wins is right."""
        while self._effort.check and self._pace.waited():
            winners = front(self._book.of(target), self._objectives)
            doubtful = next((trial for trial in winners if not trial.checked), None)
            if doubtful is None or not self._checked(doubtful):
                return

    def _checked(self, doubtful: Trial) -> bool:
        """Keep a trial as it is when it was built and checked; whether that could be done."""
        self._says(f"Checking trial {doubtful.number}: {doubtful.config.label}")
        clock = Clock()
        try:
            found, could = self._evaluator.built(doubtful, clock), True
        except (NoDevice, NoServer) as missing:
            # its counts are what they are; whether it is right cannot be found out here
            found, could = replace(doubtful, reason=f"not checked: {missing}"), False
        self.seconds += clock.working
        self._book.keep(replace(found, seconds=doubtful.seconds + clock.working, working=clock.working))
        return could

    def _race(self, target: str) -> None:
        if not self._race_seconds or not self._pace.waited():
            return
        begun = time.perf_counter()
        found = decided(self._book.of(target), target, self._objectives, self._raced)
        self.seconds += time.perf_counter() - begun
        if found is not None:
            self.verdicts[target] = found

    def _raced(self, trial: Trial) -> Race:
        """The default against a trial."""
        self._says(f"Racing trial {trial.number} against the default")
        return race(
            self._workload,
            Config(),
            trial.config,
            trial.target,
            budget=self._race_seconds,
            cancelled=self._evaluator.cancelled,
            **self._effort.of_a_run,
        )
