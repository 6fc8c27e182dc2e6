"""A Trial: one candidate with all its results, the objectives that are read from it, and the log of trials.

A log is a text file with one line per trial, each written before the next candidate begins; the first line identifies the workload and
the machine. A killed run loses only the trial under way: a last line that was cut short is left out when the log is opened again, and
cut off before anything is appended. A machine that goes down may also lose trials that took less time than a flush to the disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, StoreError, UnknownName, WorkbenchError, sentence
from workbench.graph.received import Damaged, contents, fields, parse, size_of_file
from workbench.measurement.machine import conditions
from workbench.measurement.row import ALL, OK, workload_hash
from workbench.measurement.store import place, plain
from workbench.pipeline.config import Config

OBJECTIVES = {
    "time": "median_us",
    "kernels": "kernels",
    "bytes": "handover_bytes",
    "peak_bytes": "peak_bytes",
    "build": "build_seconds",
}
"objective -> the value to minimise"
COUNTED = ("kernels", "bytes", "peak_bytes")
"objectives that need no build"
ILLEGAL, PRUNED = "illegal", "pruned"
STATUSES = (*ALL, ILLEGAL, PRUNED)


@dataclass(frozen=True)
class Trial:
    """One candidate for one target. Only those with status `ok` may win."""

    number: int
    "in the order in which they were tried, from 0"
    target: str
    config: Config
    "the configuration to rerun it with"
    chosen: Mapping[str, Any] = field(hash=False)
    "name of a knob -> the choice; empty for the compiler's default"
    status: str = OK
    "a status of wb.measure, or `illegal` (refused before anything ran) or `pruned` (its counts are too bad to build it)"
    reason: str = ""
    "why it cannot win"
    values: Mapping[str, float | int | None] = field(default_factory=dict, hash=False)
    "kernels, handover_bytes, traffic_bytes, peak_bytes; median_us, q1_us, q3_us, build_seconds where it was built"
    fingerprint: str = ""
    "hash of its final module (measurement/count.py)"
    like: int | None = None
    "the trial with the same final module that was measured instead"
    seconds: float = 0.0
    "its duration; and the part in the child process: counting, building, running"
    working: float = 0.0
    checked: bool = False
    "whether its outputs were compared with the reference's"

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def key(self) -> str:
        """The identity of its target and configuration, see `key_of`."""
        return key_of(self.target, self.config)

    def costs(self, objectives: Sequence[str]) -> tuple[float, ...] | None:
        """Return the values to minimise, in that order; None where it may not win or one of them is not known."""
        found = [self.values.get(OBJECTIVES[name]) for name in objectives]
        if not self.ok or any(value is None for value in found):
            return None
        return tuple(float(value) for value in found if value is not None)

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_data(data: Any) -> Trial:
        """Return the Trial of which `to_data` made this data; Damaged if a field is missing, unknown or of another type."""
        row = fields(data, _NEEDED) | fields(data, _OPTIONAL, optional=True)
        if data.keys() - row.keys() - {"like"} or row.get("status", OK) not in STATUSES:
            raise Damaged("a trial in it has an unknown field or status")
        for name, value in row.get("values", {}).items():
            if value is not None and type(value) not in (int, float):
                raise Damaged(f"{name[:80]!r} of a trial is not a number")
        if data.get("like") is not None:
            row |= fields(data, {"like": int})
        try:
            return Trial(**{**row, "config": Config.of(row["config"])})
        except MeasureError as error:
            raise Damaged(f"{error!s:.120}") from None


_NEEDED = {"number": int, "target": str, "config": dict, "chosen": dict}
_OPTIONAL = {
    "status": str,
    "reason": str,
    "values": dict,
    "fingerprint": str,
    "seconds": float,
    "working": float,
    "checked": bool,
}


def key_of(target: str, config: Config) -> str:
    """Return a key that equal candidates share before they run: the target and the configuration without its name."""
    return repr((target, sorted((config.to_data() | {"name": ""}).items(), key=lambda item: item[0])))


def objectives_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of objectives; refuse an unknown one, none and the same one twice."""
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in OBJECTIVES:
            raise UnknownName("objective", str(name), OBJECTIVES)
    if not names or len(set(names)) < len(names):
        raise WorkbenchError(f"give one objective or several different ones of {', '.join(OBJECTIVES)}")
    return names


def dominates(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether the first is not worse in any value and better in at least one.

    >>> dominates((1, 2), (1, 3)), dominates((1, 3), (2, 2))
    (True, False)
    """
    return all(a <= b for a, b in zip(first, second, strict=True)) and tuple(first) != tuple(second)


def front(trials: Sequence[Trial], objectives: Sequence[str]) -> list[Trial]:
    """Return the trials that no other dominates, the best by the first objective first; of equal ones the first tried."""
    costs = {trial.number: cost for trial in trials if (cost := trial.costs(objectives)) is not None}
    first: dict[tuple[float, ...], Trial] = {}
    for trial in trials:
        if trial.number in costs and not any(dominates(other, costs[trial.number]) for other in costs.values()):
            first.setdefault(costs[trial.number], trial)
    return [first[cost] for cost in sorted(first)]


FORMAT = 1
LARGEST = 1 << 28
"bytes of a log"
WORTH_SECONDS = 0.2
"duration from which a trial is flushed to the disk before the next one begins"
SAME = {
    "dialect": "the environment of {found}, and this one runs {here}",
    "tvm": "an environment with TVM {found}, and this one has TVM {here}",
    "machine": "another machine, whose times mean nothing here",
    "workload_hash": "another workload",
}
"field that must match to continue a log -> what a log with another value is of, in words"


def header(workload: Workload) -> dict[str, object]:
    """Return the data of the first line."""
    now = conditions(workload.dialect)
    kept = {name: now[name] for name in ("tvm", "machine", "cpu", "gpu", "cores", "threads")}
    who = {"workload": workload.name, "workload_hash": workload_hash(workload), "dialect": workload.dialect}
    return {"format": FORMAT, **who, **kept}


def default_log_path(workload: Workload) -> Path:
    """Return the default path of a workload's log, next to the file of measurements; StoreError if that is switched off."""
    store = place()
    if store is None:
        raise StoreError("TVM_WORKBENCH_STORE is off, so there is no place for a trial log; give log= a path")
    head = header(workload)
    return store.parent / "tuning" / f"{head['workload_hash']}-{head['dialect']}-{head['tvm']}-{head['machine']}.jsonl"


def open_log(path: Path, head: Mapping[str, object]) -> list[Trial]:
    """Return the trials of a log, each once; the log is created if there is none."""
    try:
        if path.exists() and size_of_file(path, LARGEST):
            return _read(path, head)
        path.parent.mkdir(parents=True, exist_ok=True)
        append(path, head)
    except OSError as error:
        reason = error.strerror or sentence(error)
        raise StoreError(f"the trial log {path.name} cannot be used ({reason}); give another log=") from error
    return []


def _read(path: Path, head: Mapping[str, object]) -> list[Trial]:
    text = contents(path, LARGEST)
    if _line(head).startswith(text):
        # there is nothing after the first line, or a run was killed while it wrote that line
        os.truncate(path, 0)
        append(path, head)
        return []
    whole = text[: text.rfind(b"\n") + 1]
    try:
        first, *lines = [parse(line) for line in whole.split(b"\n")[:-1]] or [None]
        _check(path, first, head)
        found = {trial.number: trial for trial in map(Trial.from_data, lines)}
    except Damaged as error:
        raise StoreError(
            f"{path.name} is not a trial log of this workbench, or is damaged ({error}); give another log="
        ) from None
    if len(whole) < len(text):
        os.truncate(path, len(whole))
    return sorted(found.values(), key=lambda trial: trial.number)


def _check(path: Path, first: object, head: Mapping[str, object]) -> None:
    if fields(first, {"format": int})["format"] != FORMAT:
        raise StoreError(f"{path.name} was written by a newer tvm-workbench; update it, or give another log=")
    found = fields(first, dict.fromkeys(SAME, str))
    other = next((name for name in SAME if found[name] != head[name]), None)
    if other is not None:
        whose = SAME[other].format(found=found[other], here=head[other])
        raise StoreError(f"{path.name} is the trial log of {whose}; give another log=")


def append(path: Path, data: Mapping[str, object], through: bool = True) -> None:
    """Write one line of a log; `through` flushes it to the disk."""
    with path.open("ab") as file:
        file.write(_line(data))
        file.flush()
        if through:
            os.fsync(file.fileno())


def _line(data: Mapping[str, object]) -> bytes:
    return json.dumps(data, default=plain).encode() + b"\n"
