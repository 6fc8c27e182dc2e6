"""The trial log: a text file with one line per trial, each written before the next candidate begins; and a run's trials, which it keeps.

The first line identifies the workload and the machine. A killed run loses only the trial under way: a last line that was cut short is
left out when the log is opened again, and cut off before anything is appended. A machine that goes down may also lose trials that took
less time than a flush to the disk.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from workbench.dialects.base import Workload
from workbench.errors import StoreError, sentence
from workbench.experiments.tuning.evaluate import Evaluator
from workbench.experiments.tuning.trial import Trial, key_of
from workbench.graph.received import Damaged, contents, fields, parse, size_of_file
from workbench.measurement.machine import conditions
from workbench.measurement.row import workload_hash
from workbench.measurement.store import place, plain
from workbench.pipeline.config import Config

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


class Trials:
    """The trials of a run; each is written to the log, if there is one, before anything else knows it.

    The run's thread writes; any thread reads.
    """

    def __init__(self, evaluator: Evaluator, log: str | Path | None = None) -> None:
        self._path = None if log is None else Path(log).expanduser()
        self._evaluator, self._lock = evaluator, threading.Lock()
        trials = [] if self._path is None else open_log(self._path, header(evaluator.workload))
        self._trials = {trial.number: trial for trial in trials}
        self._by_key = {trial.key: trial for trial in trials}
        self._next = max(self._trials, default=-1) + 1
        for trial in trials:
            evaluator.learn(trial)

    @property
    def all(self) -> tuple[Trial, ...]:
        """All trials so far, in the order in which they began."""
        with self._lock:
            return tuple(self._trials[number] for number in sorted(self._trials))

    def of(self, target: str) -> list[Trial]:
        return [trial for trial in self.all if trial.target == target]

    def next_number(self) -> int:
        self._next += 1
        return self._next - 1

    def find(self, target: str, config: Config) -> Trial | None:
        """Return the trial of a configuration, if it answers the objectives of this run."""
        found = self._by_key.get(key_of(target, config))
        return found if found is not None and self._evaluator.is_enough(found) else None

    def keep(self, trial: Trial) -> None:
        """Keep a trial, in place of an earlier one with the same number."""
        if self._path is not None:
            append(self._path, trial.to_data(), through=trial.seconds > WORTH_SECONDS)
        with self._lock:
            self._trials[trial.number] = trial
        self._by_key[trial.key] = trial
        self._evaluator.learn(trial)
