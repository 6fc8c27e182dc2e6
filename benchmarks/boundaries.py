"""The calibration of wb.boundary_costs: boundaries of a corpus, predicted and raced. The machine must be idle.

python -m benchmarks.boundaries              continue in both environments, until all are tried or SECONDS are over
python -m benchmarks.boundaries small        the small programs only
python -m benchmarks.boundaries --here       this environment's dialect only
python -m benchmarks.boundaries --to FILE    to another file: for a machine that is not idle

Each trial is written to workbench/measurement/boundaries/calibration.json when it ends; a trial that is there is not repeated. A trial
during which the machine was too noisy is not written, and the next call tries it again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.bar import Bar, show
from benchmarks.boundary_programs import LARGE, SMALL, Program
from workbench.analysis.fusion.boundaries import Boundary
from workbench.dialects.registry import installed
from workbench.errors import WorkbenchError
from workbench.measurement.boundaries import trial
from workbench.measurement.boundaries.calibration import (
    BUNDLED,
    Calibration,
    MachineCosts,
    Record,
    machine_costs,
    rank_correlation,
    read,
)
from workbench.measurement.boundaries.costs import key_of, raw_seconds
from workbench.measurement.machine import conditions
from workbench.measurement.verdict import NOISE

ROOT = Path(__file__).parents[1]
RELAY = ROOT / ".venv-relay/bin/python"
SECONDS = 400
"of one call in each environment; call again to continue"
BUDGET = 1.0
OF_A_GROUP = 4
"boundaries of one program; more would let the program with most boundaries decide for its group"
WANTED = 150


def main() -> None:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.boundaries")
    reader.add_argument("programs", nargs="?", choices=("small", "all"), default="all")
    reader.add_argument("--here", action="store_true", help="this environment's dialect only")
    reader.add_argument("--to", type=Path, default=BUNDLED, help="another file of trials")
    asked = reader.parse_args()
    # the costs of this machine are measured now, not read from an earlier day
    os.environ["TVM_WORKBENCH_STORE"] = "off"
    calibrate(SMALL if asked.programs == "small" else (*SMALL, *LARGE), Log(asked.to))
    if asked.here:
        return
    if RELAY.exists():
        subprocess.run([RELAY, "-m", "benchmarks.boundaries", *sys.argv[1:], "--here"], cwd=ROOT, check=False)
    show(bars(read(asked.to.read_text(encoding="utf-8"))))


def calibrate(programs: tuple[Program, ...], log: Log) -> None:
    """Try the boundaries that the file does not have yet, until the time is over."""
    dialect, ends = str(installed()), time.monotonic() + SECONDS
    machine, now = machine_costs(dialect, "llvm"), conditions(dialect)
    for program in programs:
        workload = program.ready(dialect)
        for boundary in candidates(workload):
            row = described(program, boundary, machine, now)
            if log.has(row):
                continue
            if time.monotonic() > ends:
                return
            print(f"{program.name}: {row['operators']}", file=sys.stderr, flush=True)
            found = measured(workload, boundary, row)
            if found is not None:
                log.append(found)


def candidates(workload: wb.Workload) -> Iterator[Boundary]:
    """Yield boundaries that can be moved and that cost anything: of equal ones the first, and of each group a few."""
    seen = set()
    groups: Counter[tuple[object, ...]] = Counter()
    for row in wb.boundary_costs(workload, cuts=True):
        each = row.boundary
        key, group = (operators(each), each.joined, each.working_set), (*key_of(each), each.joined)
        if key in seen or each.refusal or not each.launches or not each.bytes or groups[group] == OF_A_GROUP:
            continue
        seen.add(key)
        groups[group] += 1
        yield each


def described(program: Program, boundary: Boundary, machine: MachineCosts, now: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that are known before the race."""
    _, producer, consumer, rows = key_of(boundary)
    return {
        "program": program.family,
        "dialect": now["dialect"],
        "producer": producer,
        "consumer": consumer,
        "rows": rows,
        "operators": operators(boundary),
        "joined": boundary.joined,
        "moved": (boundary.read or 0) + (boundary.written or 0),
        "launches": boundary.launches,
        "working_set": boundary.working_set,
        **asdict(raw_seconds(boundary, machine)),
        "cpu": now["cpu"],
        "cores": now["cores"],
        "tvm": now["tvm"],
    }


def operators(boundary: Boundary) -> str:
    producer, consumer = (" ".join(part) for part in boundary.operators)
    return f"{producer} -> {consumer}: {boundary.type}"


def measured(workload: wb.Workload, boundary: Boundary, row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row with the measured saving, or with the reason why it was left out; None to try it again another time."""
    if row["middle"] <= 0:
        return {**row, "left_out": "the prediction is 0"}
    try:
        found = trial.measure(workload, boundary, trial.Limits(budget=BUDGET))
    except WorkbenchError as error:
        return {**row, "left_out": str(error)}
    if found.race.outcome.reason == NOISE:
        print(found.race, file=sys.stderr, flush=True)
        return None
    if found.race.wrong or found.low == float("-inf"):
        return {**row, "left_out": str(found.race)}
    times = {"saved": found.saved, "saved_low": found.low, "saved_high": found.high, "two": found.two}
    return {**row, **times, "answer": found.answer}


# -- the file

SAME = ("dialect", "operators", "joined", "working_set", "cpu", "cores", "tvm")
"fields of a boundary that was tried on this machine with this TVM"


@dataclass(frozen=True)
class Log:
    """The file of the trials: one a line, so that a difference shows what was added."""

    path: Path

    def lists(self) -> dict[str, list[dict[str, Any]]]:
        """Return the trials, and those that were left out with the reason."""
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {"trials": []}

    def has(self, row: dict[str, Any]) -> bool:
        return any(all(each[name] == row[name] for name in SAME) for rows in self.lists().values() for each in rows)

    def append(self, row: dict[str, Any]) -> None:
        data = self.lists()
        short = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in row.items()}
        data.setdefault("left_out" if "left_out" in row else "trials", []).append(short)
        lists = (f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in data.items())
        beside = self.path.with_suffix(".new")
        beside.write_text("{" + ", ".join(lists) + "}\n", encoding="utf-8")
        beside.replace(self.path)


# -- the summary


def bars(known: Calibration) -> Iterator[Bar]:
    """Yield the share inside, the rank correlation and the number of trials, by group and for all."""
    groups = known.groups.values()
    total = len(known.records)
    yield from (_bar(" ".join(map(str, key)), group.records, group.inside) for key, group in known.groups.items())
    yield _bar("all", tuple(r for group in groups for r in group.records), sum(group.inside for group in groups))
    yield Bar("boundaries tried", total, "", bar=f"at least {WANTED}", met=total >= WANTED)
    yield bert()


def _bar(what: str, records: tuple[Record, ...], inside: int) -> Bar:
    """Return the share of decided trials inside; a group below 9 of 10 is not shown, which misses no bar."""
    ranked = rank_correlation(records)
    words = f"{inside} of {len(records)}{'' if ranked is None else f', rank correlation {ranked:.2f}'}"
    share = inside / len(records) if records else None
    return Bar(f"{what}: inside the predicted interval", share, "", bar="shown from 0.9 on", note=words)


def bert() -> Bar:
    """Return the CPU seconds of the costs of bert with 12 layers, with its table."""
    workload = Program("bert", {"layers": 12}).ready(str(installed()))
    started = time.process_time()
    rows = len(wb.boundary_costs(workload).table)
    took = time.process_time() - started
    return Bar("boundary_costs of bert-12, CPU", took, "s", bar="under 2 s", met=took < 2, note=f"{rows} boundaries")


if __name__ == "__main__":
    main()
