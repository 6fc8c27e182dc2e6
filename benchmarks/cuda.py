"""Counts and times on an NVIDIA GPU, and on the CPU beside it: run this on a machine that has one.

.venv-relay/bin/python -m benchmarks.cuda              every workload; some minutes
.venv-relay/bin/python -m benchmarks.cuda resnet18     some of them

It writes one file, notebooks/data/cuda-DIALECT-DATE.json, with the environment, every row with its raw samples, and races.
Where CUDA code cannot be timed it says why and writes nothing.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.dialects.registry import installed
from workbench.measurement.machine import conditions

DATA = Path(__file__).parents[1] / "notebooks" / "data"
TARGETS = ("cuda", "llvm")
LEVELS = (0, 1, 2, 3)
DEPTH = {"relay": "relay.FuseOps.max_depth", "relax": "relax.FuseOps.max_depth"}
BUDGET = 1.0
TIMEOUT = 1800.0


def main(chosen: list[str]) -> int:
    dialect = installed()
    if dialect is None:
        print("there is no TVM in this environment, so nothing was measured and nothing was written", file=sys.stderr)
        return 1
    why = _why_not()
    if why:
        print(f"{why}; nothing was measured and nothing was written", file=sys.stderr)
        return 1
    cut = {"opt_level": 3, "options": {DEPTH[dialect]: 1}}
    found = [_measured(name, cut) for name in chosen or wb.samples.names()]
    date = time.strftime("%Y-%m-%d")
    environment = {
        **conditions(dialect),
        "python": platform.python_version(),
        "system": platform.system(),
        "date": date,
    }
    del environment["machine"]
    DATA.mkdir(exist_ok=True)
    path = DATA / f"cuda-{dialect}-{date}.json"
    path.write_text(json.dumps({"environment": environment, "workloads": found}, indent=1, default=_plain) + "\n")
    print(path.relative_to(DATA.parents[1]))
    return 0


def _why_not() -> str:
    """Why CUDA code cannot be timed here, in the words of `wb.measure`; empty if it can."""
    small = wb.samples.load("mlp", layers=1, width=8)
    row = wb.measure(small, [0], ["cuda"], budget=0.01, check=False, store=False).iloc[0]
    return "" if row["status"] == "ok" else row["message"]


def _measured(name: str, cut: Mapping[str, Any]) -> dict[str, Any]:
    """Opt levels, and what FuseOps is worth: the same level with every operator a kernel."""
    workload = wb.samples.load(name)
    print(f"[cuda] {name}", file=sys.stderr, flush=True)
    rows = wb.measure(workload, [*LEVELS, cut], TARGETS, budget=BUDGET, timeout=TIMEOUT, per_kernel=True, progress=_say)
    races = {target: _raced(workload, cut, target) for target in TARGETS}
    return {"name": name, "rows": [_known(row) for row in rows.to_dict("records")], "fusion": races}


def _raced(workload: wb.Workload, cut: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Cut apart against fused, in turn in one process: `ratio` is the time of the first over the second's."""
    try:
        race = wb.race(workload, cut, 3, target, budget=4 * BUDGET, timeout=TIMEOUT)
    except wb.WorkbenchError as error:
        return {"failed": str(error)}
    return {"said": str(race), "ratio": race.ratio, "low": race.low, "high": race.high, "answer": race.answer}


def _say(what: str, fraction: float | None) -> None:
    if fraction in (None, 1.0):
        print(f"       {what}", file=sys.stderr, flush=True)


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row without the columns that say nothing: pandas writes NaN there, which no JSON has."""
    return {name: value for name, value in row.items() if value is not None and value == value}


def _plain(value: Any) -> Any:
    return value.tolist()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
