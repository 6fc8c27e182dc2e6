"""Predictions against measurements: which boundaries the workbench may predict, and with which interval.

`calibration.json` has the trials that `python -m benchmarks boundaries` made. A prediction is the measured cost of the bytes
and of the launch times a factor. The factors of a group of boundaries are those that its trials had. To check a group, each
trial is predicted from the trials of the other programs; the group is shown if 9 of 10 trials are inside their intervals.
A race that is too coarse to see the predicted seconds decides nothing, and is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from math import floor, inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import MeasureError
from workbench.graph import received
from workbench.measurement.machine import Spread
from workbench.wording import counted, size

if TYPE_CHECKING:
    import pandas as pd

BUNDLED = Path(__file__).with_name("calibration.json")
NEEDED = 0.9
"share of trials inside their intervals"
LEAST = 10
"trials of a group that is shown"
COLUMNS = [
    "dialect",
    "producer",
    "consumer",
    "rows",
    "trials",
    "undecided",
    "plain",
    "inside",
    "rank_correlation",
    "shown",
]
TAIL = 0.05
"share of the factors beyond each end of the interval"


Key = tuple[str, str, str, bool]
"of a group: the dialect, the kinds of the two parts, and whether the simpler one has several rows"


@dataclass(frozen=True)
class Record:
    """A boundary that was tried: the prediction without factors, and the measured seconds that one kernel saves."""

    program: str
    dialect: str
    producer: str
    consumer: str
    "kinds of the two parts"
    rows: bool
    "as Boundary.has_rows"
    operators: str
    joined: bool
    moved: int
    "bytes"
    launches: int
    working_set: int
    low: float
    middle: float
    high: float
    "seconds that the bytes and the launches cost, with the spread of this machine's measurements"
    saved: float
    saved_low: float
    saved_high: float
    "measured seconds that one kernel saves, with the 95 % interval"
    two: float
    "seconds of the two kernels"
    answer: str
    "of the race: whether one kernel is faster"
    cpu: str
    cores: int
    tvm: str

    @property
    def key(self) -> Key:
        """Return the group of the record."""
        return self.dialect, self.producer, self.consumer, self.rows

    @property
    def raw(self) -> Spread:
        """Return the prediction without factors."""
        return Spread(self.low, self.middle, self.high)

    @property
    def is_decided(self) -> bool:
        """Return whether the race shows a difference, or would have shown one of the predicted seconds."""
        shows = self.saved_low > 0 or self.saved_high < 0
        return shows or self.saved_high - self.saved_low <= 2 * self.middle

    @property
    def factor(self) -> float:
        """Return the measured saving over the predicted one."""
        return self.saved / self.middle


@dataclass(frozen=True)
class Group:
    """The trials of boundaries of one key."""

    records: tuple[Record, ...]
    "those that are decided"
    undecided: int = 0
    "the number of the others"

    @cached_property
    def inside(self) -> int:
        """The number of trials inside the interval that the trials of other programs predict."""
        inside = 0
        for record in self.records:
            others = [each for each in self.records if each.program != record.program]
            low, high = _interval(record.raw, others) if others else (inf, -inf)
            inside += low <= record.saved <= high
        return inside

    @property
    def is_shown(self) -> bool:
        """Return whether predictions of this group are shown."""
        return len(self.records) >= LEAST and self.inside >= NEEDED * len(self.records)

    @property
    def facts(self) -> tuple[object, ...]:
        """Return the columns of the group in the table, after its key; `plain`: trials inside the seconds without factors."""
        ranked = rank_correlation(self.records)
        shown = None if ranked is None else round(ranked, 2)
        plain = sum(record.low <= record.saved <= record.high for record in self.records)
        return len(self.records), self.undecided, plain, self.inside, shown, self.is_shown

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the smallest and the largest working set that was tried."""
        sets = [record.working_set for record in self.records]
        return min(sets), max(sets)

    @property
    def cpus(self) -> tuple[str, ...]:
        """Return the processors of the trials."""
        return tuple(dict.fromkeys(record.cpu for record in self.records))

    def interval(self, raw: Spread) -> tuple[float, float]:
        """Return the seconds that one kernel saves, as an interval."""
        return _interval(raw, self.records)


@dataclass(frozen=True)
class Calibration:
    """The trials, in groups."""

    records: tuple[Record, ...] = ()

    @cached_property
    def groups(self) -> dict[Key, Group]:
        """The groups, each with its key."""
        found: dict[Key, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.key, []).append(record)
        groups = {}
        for key, records in sorted(found.items()):
            decided = tuple(record for record in records if record.is_decided)
            groups[key] = Group(decided, len(records) - len(decided))
        return groups

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each group: the trials, those inside their intervals, and whether predictions are shown."""
        import pandas as pd

        rows = [(*key, *group.facts) for key, group in self.groups.items()]
        return pd.DataFrame(rows, columns=COLUMNS)

    def shows(self, dialect: str) -> bool:
        """Return whether predictions are shown for any boundary of a dialect."""
        return any(key[0] == dialect and group.is_shown for key, group in self.groups.items())

    def objection(self, key: Key, working_set: int) -> str:
        """Return the reason why a boundary is not predicted; empty if it is."""
        group = self.groups.get(key, Group(()))
        tried = len(group.records)
        kinds = f"{key[1]} to {key[2]} on {'several rows' if key[3] else 'one row'}"
        if tried < LEAST:
            return f"not calibrated: {counted(tried, 'boundary')} from {kinds} tried, at least {LEAST} are needed"
        if not group.is_shown:
            return f"not calibrated: of {tried} boundaries from {kinds}, {group.inside} were inside the predicted interval, and 9 of 10 are needed"
        low, high = group.sizes
        if not low <= working_set <= high:
            return f"outside of the calibrated range: a working set of {size(working_set)}, where {size(low)} to {size(high)} were tried"
        return ""


@cache
def calibration() -> Calibration:
    """Return the bundled calibration."""
    return read(BUNDLED.read_text(encoding="utf-8"))


def read(text: str) -> Calibration:
    """Return the calibration of a file's text; raises MeasureError."""
    try:
        listed = received.fields(received.parse(text), {"trials": list})["trials"]
        return Calibration(tuple(record_of(each) for each in listed))
    except received.Damaged as damage:
        raise MeasureError(f"this is not a calibration: {damage}") from None


def record_of(data: object) -> Record:
    """Return the record of plain values; raises Damaged if a field is missing or has another type."""
    kinds: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
    found = Record(**received.fields(data, {each.name: kinds[str(each.type)] for each in fields(Record)}))
    if found.middle <= 0:
        raise received.Damaged("a trial predicts nothing")
    return found


def rank_correlation(records: Iterable[Record]) -> float | None:
    """Return Spearman's rank correlation of predicted and measured seconds; None for fewer than three trials.

    Source: C. Spearman, "The proof and measurement of association between two things", 1904, doi:10.2307/1412159.
    """
    listed = list(records)
    if len(listed) < 3:
        return None
    predicted, measured = _ranks([each.middle for each in listed]), _ranks([each.saved for each in listed])
    if min(np.std(predicted), np.std(measured)) == 0:
        return None
    return float(np.corrcoef(predicted, measured)[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Return the ranks; equal values share the mean of theirs.

    >>> _ranks([3.0, 1.0, 3.0]).tolist()
    [1.5, 0.0, 1.5]
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count + 1) / 2)[place]


def _interval(raw: Spread, records: Sequence[Record]) -> tuple[float, float]:
    factors = sorted(record.factor for record in records)
    left_out = max(0, floor(TAIL * (len(factors) + 1)) - 1)
    ends = [end * factor for end in (raw.low, raw.high) for factor in (factors[left_out], factors[-1 - left_out])]
    return min(ends), max(ends)
