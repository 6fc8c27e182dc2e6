"""Predictions against measurements: which boundaries the workbench may predict, and with which interval.

`calibration.json` has the trials that `python -m benchmarks boundaries` made. A prediction is the measured cost of the bytes
and of the launch times a factor. The factors of a group of boundaries are those that its trials had. To check a group, each
trial is predicted from the trials of the other programs; the group is shown if 9 of 10 trials are inside their intervals.
A race that is too coarse to see the predicted seconds decides nothing, and is counted apart.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from math import floor, inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import MeasureError
from workbench.graph import received
from workbench.graph.received import Damaged
from workbench.measurement import store
from workbench.measurement.machine import Bandwidth, Spread, bandwidth, conditions
from workbench.wording import counted, size
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never, silent, worker

if TYPE_CHECKING:
    import pandas as pd


FILE = "machine-costs.json"
"in the folder of the file of measurements"
LARGEST = 1 << 24
"bytes of the file"
ROWS = 16
"of the values of the second chains, for the threads of TVM to share"
BUDGET = 0.3
"seconds of timing a chain"
STEADY = 2.0
"most of the ratio of a call's highest time to its lowest; it is below 1.5 on an idle machine"
_known: dict[str, MachineCosts] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class MachineCosts:
    """The costs of this machine for one TVM and target."""

    bandwidth: Bandwidth
    call: Spread
    "seconds of one call of a kernel without work, on one row"
    call_of_rows: Spread
    "the same on several rows, which schedules spread over threads"
    method: str
    "a description of the measurement of the calls"

    @property
    def is_steady(self) -> bool:
        """Return whether the machine was calm enough to keep the costs for other days."""
        return all(call.high <= STEADY * call.low for call in (self.call, self.call_of_rows))

    def seconds(self, moved: float, working_set: float, call: Spread) -> Spread:
        """Return the seconds of moving bytes and of a call, with the spread of the measurements.

        >>> rate, call = Spread(1e9, 2e9, 4e9), Spread(1e-6, 1e-6, 2e-6)
        >>> MachineCosts(Bandwidth((1,), (rate,), ""), call, call, "").seconds(4000, 1000, call)
        Spread(low=2e-06, middle=3e-06, high=6e-06)
        """
        rate = self.bandwidth.at(working_set)
        return Spread(moved / rate.high + call.low, moved / rate.middle + call.middle, moved / rate.low + call.high)


def machine_costs(
    dialect: str, target: str, *, progress: Progress = silent, cancelled: Callable[[], bool] = never
) -> MachineCosts:
    """Return the costs of this machine for a target of its CPU: from the disk, or measured in a few seconds.

    The TVM of the dialect builds the kernels that are timed. Costs of a busy machine are not kept.
    """
    now = conditions(dialect)
    key = " ".join(str(part) for part in (now["machine"], dialect, now["tvm"], now["threads"], target))
    with _lock:
        if key not in _known:
            kept = _read().get(key)
            found = None if kept is None else _from_data(kept)
            if found is None:
                found = _measure(dialect, target, int(now["threads"]), progress, cancelled)
                if found.is_steady:
                    _write(key, found)
            _known[key] = found
        return _known[key]


def slope(calls: Sequence[int], samples: Sequence[Sequence[float]]) -> Spread:
    """Return the seconds of one more call, from the times of chains of different lengths.

    The median is that of the shortest and the longest chain; the extremes are those of all pairs.

    >>> slope([10, 20, 40], [[1.0, 1.0], [2.0, 2.0], [4.5, 4.5]])
    Spread(low=0.1, middle=0.11666666666666667, high=0.125)
    """
    times = [median(each) for each in samples]
    pairs = [(i, j) for j in range(len(calls)) for i in range(j)]
    slopes = [(times[j] - times[i]) / (calls[j] - calls[i]) for i, j in pairs]
    whole = (times[-1] - times[0]) / (calls[-1] - calls[0])
    return Spread(max(0.0, min(slopes)), max(0.0, whole), max(0.0, *slopes))


def _measure(
    dialect: str, target: str, threads: int, progress: Progress, cancelled: Callable[[], bool]
) -> MachineCosts:
    progress("Measuring this machine: calls of kernels", 0.0)
    asked = {"dialect": dialect, "target": target, "budget": BUDGET}
    one, many = (
        worker().run("chains", None, {**asked, "rows": rows}, timeout=TIMEOUT, progress=progress, cancelled=cancelled)
        for rows in (1, ROWS)
    )
    progress("Measuring this machine: bandwidth", 0.9)
    row, rows = (slope(found["calls"], found["samples"]) for found in (one, many))
    kernels = ", ".join(map(str, many["calls"]))
    method = (
        f"call: slope of the time of chains of {kernels} kernels on 256 bytes, in one row and in {ROWS}, "
        f"which run on {'the threads of TVM' if many['parallel'] else 'one thread'}"
    )
    return MachineCosts(bandwidth(threads if many["parallel"] else 1), row, rows, method)


# -- the file


def _file() -> Path | None:
    kept = store.place()
    return None if kept is None else kept.with_name(FILE)


def _read() -> Mapping[str, Any]:
    """Return the contents of the file; nothing if it cannot be read, since it can be measured again."""
    path = _file()
    with suppress(OSError):
        return {} if path is None else store.read_object(path, LARGEST)
    return {}


def _write(key: str, found: MachineCosts) -> None:
    path = _file()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_object(path, {**_read(), key: asdict(found)})
    except OSError as error:
        warnings.warn(f"the costs of this machine are not kept: {error.strerror}", RuntimeWarning, stacklevel=2)


def _from_data(data: object) -> MachineCosts | None:
    try:
        whole = received.fields(data, {"bandwidth": dict, "call": dict, "call_of_rows": dict, "method": str})
        row, rows = _spread(whole["call"]), _spread(whole["call_of_rows"])
        return MachineCosts(_curve(whole["bandwidth"]), row, rows, whole["method"])
    except Damaged:
        return None


def _curve(data: object) -> Bandwidth:
    found = received.fields(data, {"sizes": list, "rates": list, "method": str})
    rates, sizes = tuple(map(_spread, found["rates"])), found["sizes"]
    whole = all(type(size) is int and size > 0 for size in sizes)
    if not rates or len(rates) != len(sizes) or not whole or sizes != sorted(set(sizes)):
        raise Damaged("the sizes do not fit the rates")
    if any(rate.low == 0 for rate in rates):
        raise Damaged("a rate is 0")
    return Bandwidth(tuple(sizes), rates, found["method"])


def _spread(data: object) -> Spread:
    found = received.fields(data, dict.fromkeys(("low", "middle", "high"), float))
    values = [found[name] for name in ("low", "middle", "high")]
    if values[0] < 0 or values != sorted(values):
        raise Damaged("a spread is not ascending")
    return Spread(*values)


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
        return self.dialect, self.producer, self.consumer, self.rows

    @property
    def raw(self) -> Spread:
        return Spread(self.low, self.middle, self.high)

    @property
    def is_decided(self) -> bool:
        """Return whether the race shows a difference, or would have shown one of the predicted seconds."""
        shows = self.saved_low > 0 or self.saved_high < 0
        return shows or self.saved_high - self.saved_low <= 2 * self.middle

    @property
    def factor(self) -> float:
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
        sets = [record.working_set for record in self.records]
        return min(sets), max(sets)

    @property
    def cpus(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.cpu for record in self.records))

    def interval(self, raw: Spread) -> tuple[float, float]:
        return _interval(raw, self.records)


@dataclass(frozen=True)
class Calibration:
    """The trials, in groups."""

    records: tuple[Record, ...] = ()

    @cached_property
    def groups(self) -> dict[Key, Group]:
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
