"""The end of a search: whether the fastest candidates are faster than the default where both run in turn.

Of many medians the smallest is also the luckiest, so the one that measured best may lose. Then the next one has its turn, and
where all of them lose, the default stays. Each race has an interval of 95 %; of three, one may be wrong once in about ten times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workbench.errors import MeasureError
from workbench.measure.timing.race import Race
from workbench.pipeline.config import Config
from workbench.tune.trial import Trial, front, key_of

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
