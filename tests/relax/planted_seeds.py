"""The share of planted faults that `wb.try_pass` finds, and of right passes that it blames: `python tests/relax/planted_seeds.py 10 5`.

The numbers: seeds of each planted fault, and of each right pass. It prints a line for each.
"""

from __future__ import annotations

import sys
import time

from tvm import relax
from wrong_passes import WRONG

import workbench as wb

RIGHT = {
    "identity": lambda mod: mod,
    "EliminateCommonSubexpr": "EliminateCommonSubexpr",
    "DeadCodeElimination": relax.transform.DeadCodeElimination(),
    "CanonicalizeBindings": "CanonicalizeBindings",
    "FoldConstant": "FoldConstant",
}
FAR = 1_000_000
"between the first programs of two seeds"


def main(seeds: int, right: int) -> None:
    for name, (run, law) in WRONG.items():
        sizes, seconds = [], []
        for seed in range(seeds):
            started = time.monotonic()
            found = wb.try_pass(run, ["generated"], budget=60, seed=seed * FAR)
            failure = next((each for each in found.failures if each.law == law), None)
            if failure is not None:
                seconds.append(time.monotonic() - started)
                sizes.append(0 if failure.workload is None else len(failure.workload.graph.ops))
        print(
            f"{name}: found {len(sizes)} of {seeds}, at most {max(sizes, default=0)} operators, {max(seconds, default=0):.0f} s",
            flush=True,
        )
    for name, run in RIGHT.items():
        alarms = [
            str(each)
            for seed in range(right)
            for each in wb.try_pass(run, budget=20, seed=seed * FAR, reduced=False).failures
        ]
        print(f"{name}: {len(alarms)} alarms of {right} {alarms[:2]}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
