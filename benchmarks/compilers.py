"""`wb.compare_compilers` of an own ONNX model of 60 operators, Relay and Relax, with its race and the times of its kernels.

Each run is a process of its own, so it starts the children too: the first figure is that of a cold process, the second of a warm one.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, show
from benchmarks.first_minute import write_model

RUNS = 3
SECONDS = 15.0


def compared(path: Path) -> dict[str, Any]:
    """Return the seconds of a call, and those for which each stage was the one reported last."""
    import workbench as wb

    reported: list[tuple[float, str]] = []

    def report(what: str, _fraction: float | None = None) -> None:
        reported.append((time.perf_counter(), what))

    report("Reading")
    (pair,) = wb.compare_compilers(path, progress=report).pairs
    report("")
    stages: dict[str, float] = defaultdict(float)
    for (began, what), (ended, _) in itertools.pairwise(reported):
        stages[what] += ended - began
    assert pair.race is not None, str(pair)
    assert all(check.same for check in pair.checks), str(pair)
    return {"seconds": sum(stages.values()), "stages": stages, "race": str(pair.race)}


def rows() -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own.onnx")
        write_model(path)
        runs: list[list[dict[str, Any]]] = []
        for _ in range(RUNS):
            command = [sys.executable, "-m", "benchmarks.compilers", str(path)]
            made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            runs.append(json.loads(made.stdout.splitlines()[-1]))
    for place, name in enumerate(("cold", "warm")):
        found = sorted((run[place] for run in runs), key=lambda run: run["seconds"])
        seconds = [run["seconds"] for run in found]
        stages = sorted(found[len(found) // 2]["stages"].items(), key=lambda stage: -stage[1])
        note = ", ".join(f"{what} {spent:.1f}" for what, spent in stages if spent >= 0.1)
        ours = statistics.median(seconds)
        yield Bar(
            f"compare_compilers of an own ONNX of 60 operators, {name}",
            ours,
            "s",
            bar=f"at most {SECONDS:g} s",
            met=ours <= SECONDS,
            note=f"{', '.join(f'{each:.1f}' for each in seconds)}; {note}",
        )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps([compared(Path(sys.argv[1])) for _ in range(2)]))
    else:
        show(rows())
