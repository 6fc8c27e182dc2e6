"""What the child process does for `wb.kernels` and `wb.measure`. A dialect's `build` compiles and runs; this counts and times."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from workbench.dialects.base import Built, Workload
from workbench.dialects.registry import dialect
from workbench.graph.json import to_data
from workbench.measure.host import mcpu
from workbench.measure.sampling import sample

Progress = Callable[..., None]


def optimize(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The graph that the compiler's own pipeline hands to code generation, and its text."""
    progress("Optimizing")
    module = _build(workload).optimized(workload, _target(workload, target), config)
    here = dialect(workload.dialect)
    return {"graph": to_data(here.graph(module, workload.name)), "text": here.text(module)}


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
    run = built.runner(seed)
    samples = sample(run, budget, lambda fraction: progress("Timing", fraction))
    return {**answer, **_counted(built), **samples, "method": built.method}


def _build(workload: Workload) -> Any:
    return importlib.import_module(f"workbench.dialects.{workload.dialect}.build")


def _target(workload: Workload, text: str) -> str:
    """The target that is really used: for plain `llvm`, with this host's `-mcpu`."""
    if text.split()[:1] == ["llvm"] and "-mcpu" not in text and "-mtriple" not in text:
        cpu = mcpu(_build(workload).llvm_host_cpu())
        return f"{text} -mcpu={cpu}" if cpu else text
    return text


def _compiled(
    workload: Workload, target: str, config: Mapping[str, Any], progress: Progress
) -> tuple[Built, dict[str, Any]]:
    target = _target(workload, target)
    progress("Compiling")
    started = time.perf_counter()
    built = _build(workload).compiled(workload, target, config)
    return built, {"target": target, "build_seconds": time.perf_counter() - started}


def _counted(built: Built) -> dict[str, Any]:
    return {"calls": built.calls(), "source": built.source(), "tvm": built.tvm, "threads": built.threads}
