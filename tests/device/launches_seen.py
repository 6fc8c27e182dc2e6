"""Run with launches.c preloaded: prints, for each sample named, the calls that wb.kernels counts and the launches of one run."""

from __future__ import annotations

import ctypes
import importlib
import json
import sys

import workbench as wb
from workbench.jobs import build
from workbench.pipeline.config import Config


def main():
    counter = ctypes.CDLL(None).launches_seen
    counter.restype = ctypes.c_long
    for name, level in ((name, level) for name in sys.argv[1:] for level in range(4)):
        workload = wb.samples.load(name)
        config = Config.of(level)
        kept = build.compiled(workload, "cuda", config.to_data(), lambda *_: None)
        running = kept.built.load(0)
        running.outputs()
        before = counter()
        running.outputs()
        seen = counter() - before
        calls = importlib.import_module("workbench.measurement.kernels").kernels(workload, "cuda", level)
        counted = {"launches": calls.launches, "exact": calls.launches_exact}
        print(json.dumps({"sample": name, "level": level, "seen": seen, **counted}), flush=True)


if __name__ == "__main__":
    main()
