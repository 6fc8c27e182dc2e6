"""The end of a search: whether the fastest candidates are faster than the default where both run in turn.

Of many medians the smallest is also the luckiest, so the one that measured best may lose. Then the next one has its turn, and
where all of them lose, the default stays. Each race has an interval of 95 %; of three, one may be wrong once in about ten times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workbench.errors import MeasureError, NoDevice, NoServer
from workbench.measure.timing.race import Race, race
from workbench.pipeline.config import Config
from workbench.tune.budget import Pace
from workbench.tune.evaluate import Clock, Evaluator
from workbench.tune.trial import Trial, front, key_of
from workbench.tune.trial_log import Book

RACED = 3
"candidates that are raced against the default at most, each after the one before it lost"


@dataclass(frozen=True)
class Verdict:
    """What the races say for one target."""

    races: tuple[tuple[int, Race], ...] = ()
    "number of the trial that ran against the default, and their race; the last one decided"
    winner: int | None = None
    "the trial that stands as the best; None where races decide nothing: time is not the first objective, or none was run"
    note: str = field(default="")
    "why there was no race, or no other one"

    @property
    def lost(self) -> frozenset[int]:
        """Trials that are slower than the default."""
        return frozenset(number for number, race in self.races if race.answer == "no")


def decided(
    trials: Sequence[Trial], target: str, objectives: Sequence[str], run: Callable[[Trial], Race]
) -> Verdict | None:
    """Race until one does not lose.

    Parameters
    ----------
    run
        Races the default against a trial.

    Returns
    -------
    Verdict or None
        None where there is nothing to race: time is no objective, nothing may win, or the default itself is the best.
    """
    default = next((trial for trial in trials if trial.key == key_of(target, Config())), None)
    challengers = _challengers(trials, target, objectives, default)
    if default is None or not challengers:
        return None
    if not default.ok:
        return Verdict(note=f"no race: the default itself may not win ({default.reason})")
    leads = objectives[0] == "time"
    races: list[tuple[int, Race]] = []
    try:
        for trial in challengers if leads else challengers[:1]:
            races.append((trial.number, run(trial)))
            if races[-1][1].answer != "no":
                break
    except MeasureError as error:
        if getattr(error, "status", "") == "cancelled":
            raise
        return Verdict(tuple(races), default.number if races else None, f"no {'other ' if races else ''}race: {error}")
    winner = races[-1][0] if races[-1][1].answer != "no" else default.number
    return Verdict(tuple(races), winner if leads else None)


def _challengers(trials: Sequence[Trial], target: str, objectives: Sequence[str], default: Trial | None) -> list[Trial]:
    """The best, then those that measured faster than the default, the fastest first; of equal programs one."""
    mine = [trial for trial in trials if trial.target == target]
    first = next(iter(front(mine, objectives)), None)
    if "time" not in objectives or first is None or default is None or first.number == default.number:
        return []
    usual = default.costs(("time",))
    timed = [(cost, trial) for trial in mine if (cost := trial.costs(("time",))) is not None]
    faster = [trial for cost, trial in sorted(timed, key=lambda each: each[0]) if usual is None or cost < usual]
    programs = {default.fingerprint or default.key: default}
    for trial in (first, *faster):
        programs.setdefault(trial.fingerprint or trial.key, trial)
    return [trial for trial in programs.values() if trial is not default][:RACED]


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
