"""What the child process does for `wb.kernels` and `wb.measure`. A dialect's `build` compiles and runs; this counts and times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from workbench.dialects.base import Built, Workload
from workbench.measure.sampling import sample
from workbench.process.backend import build_of, resolved_target

Progress = Callable[..., None]


def kernels(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Compile and count: one row a call, in execution order, and the generated source."""
    built, answer = _compiled(workload, target, config, progress)
    return {**answer, **_counted(built)}


def timing(
    workload: Workload, *, target: str, config: Mapping[str, Any], budget: float, seed: int, progress: Progress
) -> dict[str, Any]:
    """Compile, count, and run with random inputs until the spread settles or `budget` seconds are spent."""
    built, answer = _compiled(workload, target, config, progress)
    progress("Timing", 0.0)
    running = built.load(seed)
    samples = sample(running.run, budget, lambda fraction: progress("Timing", fraction))
    return {**answer, **_counted(built), **samples, "method": running.method}


def _compiled(
    workload: Workload, target: str, config: Mapping[str, Any], progress: Progress
) -> tuple[Built, dict[str, Any]]:
    target = resolved_target(workload, target)
    progress("Compiling")
    started = time.perf_counter()
    built = build_of(workload).compiled(workload, target, config)
    return built, {"target": target, "build_seconds": time.perf_counter() - started}


def _counted(built: Built) -> dict[str, Any]:
    return {"calls": built.calls(), "source": built.source(), "tvm": built.tvm, "threads": built.threads}
