"""Final step of a search: check the winners, and race the fastest against the default.

The smallest of many medians is partly luck, so the candidate that measured best may lose its race. Then the next one
is raced, and if all of them lose, the default stays. Each race has an interval of 95 %; of three, one is wrong about once in
ten times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workbench.errors import MeasureError, NoDevice, NoServer
from workbench.experiments.tuning.evaluate import Clock
from workbench.experiments.tuning.scheduler import SearchContext
from workbench.experiments.tuning.trial import Trial, front, key_of
from workbench.measurement.race import Race, race
from workbench.pipeline.config import Config

RACED = 3
"most candidates that are raced against the default; each is raced after the one before it lost"


@dataclass(frozen=True)
class Verdict:
    """The result of the races for one target."""

    races: tuple[tuple[int, Race], ...] = ()
    "(number of the trial that ran against the default, its race); the last race decided"
    winner: int | None = None
    "the number of the best trial; None where time is not the first objective, or no race was run"
    note: str = field(default="")
    "why there was no race, or no further race"

    @property
    def lost(self) -> frozenset[int]:
        """Trials that are slower than the default."""
        return frozenset(number for number, race in self.races if race.answer == "no")


def decide(
    trials: Sequence[Trial], target: str, objectives: Sequence[str], run: Callable[[Trial], Race]
) -> Verdict | None:
    """Race candidates against the default until one does not lose.

    Parameters
    ----------
    run
        Races the default against a trial.

    Returns
    -------
    Verdict or None
        None where there is no race: time is not an objective, no trial may win, or the default is the best.
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
    """Return the best, then trials that measured faster than the default, the fastest first; one of equal programs."""
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


class FinalRace:
    """The check of the winners of each target, and the race of the best against the default.

    Parameters
    ----------
    race
        Seconds of a race; 0 for none.
    report
        Called with a sentence before each step.
    """

    def __init__(self, context: SearchContext, race: float, report: Callable[[str], None]) -> None:
        self._evaluator, self._trials, self._budget = context.evaluator, context.trials, context.budget
        self._race_seconds, self._report = race, report
        self.seconds = 0.0
        "seconds of checks and races"
        self.verdicts: dict[str, Verdict] = {}
        "target -> the result of its races"

    def run(self, target: str) -> None:
        """Check the winners of a target and race the best.

        Raises
        ------
        WorkerLost
            The run was stopped.
        """
        self._check_winners(target)
        self._race(target)

    def _check_winners(self, target: str) -> None:
        """Build and check trials that win by their counts alone, until the winner is correct."""
        while self._evaluator.effort.check and self._budget.wait():
            winners = front(self._trials.of(target), self._evaluator.objectives)
            doubtful = next((trial for trial in winners if not trial.checked), None)
            if doubtful is None or not self._check(doubtful):
                return

    def _check(self, doubtful: Trial) -> bool:
        """Build a trial and check its outputs; return whether that was possible."""
        self._report(f"Checking trial {doubtful.number}: {doubtful.config.label}")
        clock = Clock()
        try:
            found, could = self._evaluator.build(doubtful, clock), True
        except (NoDevice, NoServer) as missing:
            # the counts are right; the outputs cannot be checked here
            found, could = replace(doubtful, reason=f"not checked: {missing}"), False
        self.seconds += clock.working
        self._trials.keep(replace(found, seconds=doubtful.seconds + clock.working, working=clock.working))
        return could

    def _race(self, target: str) -> None:
        if not self._race_seconds or not self._budget.wait():
            return
        begun = time.perf_counter()
        found = decide(self._trials.of(target), target, self._evaluator.objectives, self._race_default)
        self.seconds += time.perf_counter() - begun
        if found is not None:
            self.verdicts[target] = found

    def _race_default(self, trial: Trial) -> Race:
        """Race the default against a trial."""
        self._report(f"Racing trial {trial.number} against the default")
        return race(
            self._evaluator.workload,
            Config(),
            trial.config,
            trial.target,
            budget=self._race_seconds,
            cancelled=self._evaluator.cancelled,
            **self._evaluator.effort.of_a_run,
        )
