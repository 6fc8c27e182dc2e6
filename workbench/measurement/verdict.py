"""The rule for every claim about the times of two configurations. Plain values, no TVM.

Headlines, titles, tables and sentences about a difference all come from `judge`. A difference needs a race, and a race
needs a machine on which a program is as fast as itself: the program is raced against itself in the same rounds (A/A).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, floor, inf, isinf, sqrt
from typing import Any

import numpy as np

from workbench.measurement.row import COUNTED, OK, UNDER_WAY, failure

NEUTRAL = 0.02
"""Differences below 2 % are ignored: the addresses of two equal programs in memory can make half of that, and repeats in one
process do not average it out."""
NAME_LENGTH = 30
"characters of a name that is written again in a sentence"
_Z = 1.96
"95 % of a normal distribution is within so many standard deviations"
_SURE = 3.29
"the same for 99.9 %: of a race that is looked at after each heat (Haybittle and Peto's rule)"


@dataclass(frozen=True)
class Ratio:
    """The ratio of the time of the first to the time of the second."""

    ratio: float
    "median over the rounds"
    low: float
    high: float
    "of its 95 % interval; 0 and infinity if there are too few rounds"

    @property
    def answer(self) -> str:
        """Return whether the second is faster: `yes`, `no` or `can't tell`."""
        if self.low > 1 + NEUTRAL:
            return "yes"
        return "no" if self.high < 1 / (1 + NEUTRAL) else "can't tell"

    @property
    def excludes_slower(self) -> bool:
        """Return whether the second is at most NEUTRAL slower than the first, with the certainty of the interval."""
        return self.low > 1 / (1 + NEUTRAL)


def compared(first: Sequence[float], second: Sequence[float], deviations: float = _Z) -> Ratio:
    """Return the ratio of two lists of times whose entries belong together.

    >>> compared([2.0] * 10, [1.0] * 10).answer
    'yes'
    """
    apart = np.sort(differences := np.log(np.asarray(first)) - np.log(np.asarray(second)))
    middle = float(np.median(apart))
    rounds = len(apart)
    # a conservative half step makes the normal approximation hold for ten rounds too
    below = floor((rounds - deviations * sqrt(rounds * repetition(differences))) / 2 - 0.5)
    if below < 0:
        return Ratio(exp(middle), 0.0, inf)
    return Ratio(exp(middle), exp(apart[below]), exp(apart[rounds - 1 - below]))


def is_decided(a: Sequence[float], b: Sequence[float], again: Sequence[float]) -> bool:
    """Return whether more rounds of a race would not change its verdict, nor its ratio by more than NEUTRAL.

    That is so if, with 99.9 % each, `a` is as fast as itself and `b` is as fast, or is not, in an interval as narrow.
    """
    race, noise = (compared(a, other, _SURE) for other in (b, again))
    is_apart = race.answer != UNKNOWN and race.high <= race.low * (1 + NEUTRAL) ** 2
    return _is_neutral(noise) and (is_apart or _is_neutral(race))


def _is_neutral(race: Ratio) -> bool:
    return race.low >= 1 / (1 + NEUTRAL) and race.high <= 1 + NEUTRAL


def repetition(values: np.ndarray) -> float:
    """Return the number of successive rounds that count as one: 1 if each is independent of those before it.

    It is the integrated autocorrelation time of the side of the median, summed up to the first lag without correlation.
    """
    signs = np.sign(values - np.median(values))
    power = float(np.dot(signs, signs))
    total = 1.0
    for lag in range(1, len(signs) // 2):
        here = float(np.dot(signs[:-lag], signs[lag:])) / power if power else 0.0
        if here < _Z / sqrt(len(signs)) / 2:
            break
        total += 2 * here
    return total


Row = Mapping[str, Any]
YES, NO, UNKNOWN = "yes", "no", "can't tell"
"whether the second is faster"
RACED, NOISE, NOT_RACED, WAITING, FAILED = "raced", "too noisy", "not raced", "under way", "failed"
"reasons for an answer"
VERDICT = {YES: "slower", NO: "not slower", UNKNOWN: UNKNOWN}
"answer of a race against the whole pipeline -> verdict of the row"


@dataclass(frozen=True)
class Side:
    """One of the two configurations."""

    name: str
    status: str = OK
    message: str = ""


@dataclass(frozen=True)
class Outcome:
    """The answer for a pair, and the sentence for it."""

    answer: str
    "whether the second is faster: `yes`, `no` or `can't tell`"
    reason: str
    "`raced`, `too noisy`, `not raced`, `under way` or `failed`; only `raced` has a ratio in its sentence"
    sentence: str


def judge(
    a: Side, b: Side, race: Ratio | None = None, noise: Iterable[Ratio | None] = (), *, facts: str = "", again: str = ""
) -> Outcome:
    """Return the claim that the times of two configurations allow.

    Parameters
    ----------
    race
        Time of `a` over time of `b` if both ran in turn; None otherwise.
    noise
        Races of a program against itself under the same conditions.
    facts
        Facts of the race, to show with its interval.
    again
        How to try again on a noisy machine.

    Examples
    --------
    >>> judge(Side("opt 2"), Side("opt 3")).sentence
    'opt 2 and opt 3 were not raced, so no difference is claimed'
    >>> judge(Side("opt 2"), Side("opt 3"), Ratio(1.234, 1.2, 1.25)).sentence
    'opt 3 is 1.23 times faster than opt 2 (time ratio opt 2 / opt 3 = 1.234, 95 % interval 1.200 to 1.250)'
    """
    failed = [side for side in (a, b) if failure(side.status, side.message)]
    if failed:
        # a configuration that did not fail wins without a comparison of times
        answer = UNKNOWN if len(failed) == 2 else NO if failed == [b] else YES
        return Outcome(answer, FAILED, "; ".join(f"{s.name}: {failure(s.status, s.message)}" for s in failed))
    waiting = [side.name for side in (a, b) if side.status in UNDER_WAY]
    if waiting:
        return Outcome(UNKNOWN, WAITING, f"{' and '.join(waiting)}: not finished")
    if race is None:
        return Outcome(UNKNOWN, NOT_RACED, f"{a.name} and {b.name} were not raced, so no difference is claimed")
    controls = [each for each in noise if each is not None]
    loud = next((each for each in controls if is_noisy(each)), None)
    if loud is not None:
        return Outcome(UNKNOWN, NOISE, noise_sentence(loud, again))
    near = next((each for each in controls if race.low <= each.high and each.low <= race.high), None)
    answer = race.answer if near is None else UNKNOWN
    if answer == UNKNOWN:
        # a smaller one may come from the addresses of the two builds
        small = race.answer == UNKNOWN and not race.low <= 1 <= race.high
        margin = f" above {100 * NEUTRAL:.0f} %" if small else ""
        claim = f"no difference{margin} shown between {a.name} and {b.name}"
    else:
        claim = f"{b.name} is {times(race.ratio)} than {a.name}"
    # the sentence has each long pipeline once
    brief = max(len(a.name), len(b.name)) <= NAME_LENGTH
    names = f"{a.name} / {b.name} = " if brief else "of the first to the second " if answer == UNKNOWN else ""
    # the interval alone would claim a difference
    control = (
        ""
        if near is None or race.answer == UNKNOWN
        else f"which overlaps {near.low:.3f} to {near.high:.3f} of a program against itself"
    )
    details = ", ".join(
        part for part in (f"time ratio {names}{race.ratio:.3f}", interval(race), control, facts) if part
    )
    return Outcome(answer, RACED, f"{claim} ({details})")


def times(ratio: float) -> str:
    """Return the words for the ratio of another time to this one, if a race claims a difference.

    >>> times(1.234), times(0.248)
    ('1.23 times faster', '4.0 times slower')
    """
    factor = max(ratio, 1 / ratio)
    digits = 2 if factor < 2 else 1 if factor < 10 else 0
    return f"{factor:,.{digits}f} times {'faster' if ratio > 1 else 'slower'}"


def is_noisy(control: Ratio) -> bool:
    """Return whether a race of a program against itself excludes 1 by more than NEUTRAL."""
    if control.low > 1:
        return control.high > 1 + NEUTRAL
    return control.high < 1 and control.low < 1 / (1 + NEUTRAL)


def noise_sentence(control: Ratio, again: str = "") -> str:
    """Return the sentence about a too noisy machine, with the figures of A/A, and how to try again."""
    said = f"this machine is too noisy just now: A/A gave {control.ratio:.2f} ({control.low:.2f} to {control.high:.2f})"
    return f"{said}; {again}" if again else said


def interval(race: Ratio) -> str:
    """Return the interval of a ratio in words."""
    if isinf(race.high):
        return "too few rounds for an interval"
    return f"95 % interval {race.low:.3f} to {race.high:.3f}"


def judge_row(row: Row, control: Row | None, *, again: str = "") -> Outcome:
    """Return the outcome of a row of `wb.ablate` (a) against the whole pipeline (b), which `control` races against itself."""
    name = f"{row.get('direction', 'without')} {row.get('pass', '')}"
    side = Side(name, str(row.get("status") or OK), str(row.get("message") or ""))
    noise = [None if control is None else ratio_of(control), ratio_of(row, NOISE_COLUMNS)]
    return judge(side, Side("all passes"), ratio_of(row), noise, again=again)


NOISE_COLUMNS = ("noise", "noise_low", "noise_high")
"of a row: its race's own A/A"


def ratio_of(row: Row, columns: tuple[str, str, str] = ("ratio", "low", "high")) -> Ratio | None:
    """Return the ratio in a row; None if the row was not raced."""
    values = [row.get(column) for column in columns]
    known = [float(value) for value in values if isinstance(value, (int, float)) and value == value]
    return Ratio(*known) if len(known) == len(columns) else None


def is_under_way(rows: Iterable[Row]) -> bool:
    """Return whether some rows are raced or timed and others still wait, so there is no headline yet."""
    rows = list(rows)
    statuses = [row.get("status") for row in rows]
    # a row may fail at counting, even if no race is planned
    begun = any(ratio_of(row) is not None for row in rows)
    return any(status in UNDER_WAY for status in statuses) or (begun and COUNTED in statuses)
