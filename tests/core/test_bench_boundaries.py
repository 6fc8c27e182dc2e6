"""The file of the calibration: a stopped run continues, and other machines have trials of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.boundaries import Log
from workbench.measurement.boundaries.calibration import read

ROW = {
    "program": "mlp",
    "dialect": "relay",
    "producer": "simple",
    "consumer": "complex",
    "rows": True,
    "operators": "a -> b",
    "joined": False,
    "moved": 8,
    "launches": 1,
    "working_set": 12,
    "low": 1e-6,
    "middle": 1e-6,
    "high": 2e-6,
    "saved": 1e-6,
    "saved_low": 0.0,
    "saved_high": 2e-6,
    "two": 3e-6,
    "answer": "yes",
    "cpu": "a CPU",
    "cores": 2,
    "tvm": "1",
}


def test_a_trial_is_not_repeated(tmp_path: Path) -> None:
    log = Log(tmp_path / "trials.json")
    assert not log.has(ROW)
    log.append(ROW)
    log.append({**ROW, "operators": "b -> c", "left_out": "no device"})
    again = Log(log.path)
    assert again.has({**ROW, "low": 5.0})
    assert again.has({**ROW, "operators": "b -> c"})
    assert not again.has({**ROW, "cpu": "another"})
    assert not again.has({**ROW, "joined": True})


def test_the_package_reads_what_the_benchmark_writes(tmp_path: Path) -> None:
    log = Log(tmp_path / "trials.json")
    log.append(ROW)
    log.append({**ROW, "left_out": "no device"})
    (record,) = read(log.path.read_text()).records
    assert record.key == ("relay", "simple", "complex", True)
    assert len(json.loads(log.path.read_text())["left_out"]) == 1
    assert log.path.read_text().count("\n") == 5
