"""Counting without a build, against counting on one; both in the child process, as `wb.count` and `wb.kernels` do it."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import workbench as wb
from benchmarks.bar import Bar, show


def seconds(run: Callable[[], object], repeats: int) -> list[float]:
    """Wall seconds of each of `repeats` runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return times


def forgotten(workload: wb.Workload) -> wb.Workload:
    """The same as another Workload, which no build is kept of."""
    return wb.Workload(workload.module, workload.params, workload.name, workload.dialect)


def bert(target: str, opt_level: int) -> list[Bar]:
    """One count and one build of bert-12, in turns, so that a machine that slows down slows both."""
    workload = wb.samples.load("bert")
    wb.count(workload, target, opt_level)
    counted, built = [], []
    for _ in range(3):
        counted += seconds(lambda: wb.count(workload, target, opt_level), 3)
        built += seconds(lambda: wb.kernels(forgotten(workload), target, opt_level), 1)
    count, build = statistics.median(counted), statistics.median(built)
    what = f"bert-12 ({workload.dialect}), {target.split()[0]}, opt {opt_level}: count without a build"
    span = f"{min(counted):.2f} to {max(counted):.2f} s"
    return [
        Bar(what, count, "s", bar="under 1 s", met=count < 1, note=span),
        Bar(what, count, "s", "with a build", build, "at least 10x faster", build >= 10 * count),
    ]


def toggled() -> Bar:
    """A configuration of parallel_cast that was not asked for before."""
    workload = wb.samples.load("parallel_cast")
    wb.count(workload)
    names = ("EliminateCommonSubexpr", "FoldConstant", "SimplifyExpr", "CanonicalizeOps", "FoldScaleAxis")
    known = [name for name in names if name in {info.name for info in wb.passes(workload.dialect)}]
    times = [seconds(lambda name=name: wb.count(workload, disabled=[name]), 1)[0] for name in known]
    worst = max(times)
    return Bar(
        f"parallel_cast ({workload.dialect}): a pass toggled, counted", worst, "s", bar="under 0.3 s", met=worst < 0.3
    )


def planned() -> Bar:
    """The memory plan of bert-12, from the passes alone: no build is kept of a configuration with another name."""
    workload = wb.samples.load("bert")
    plan = wb.memory(workload)
    names = map(str, itertools.count())
    times = seconds(lambda: wb.memory(workload, config={"name": next(names)}), 5)
    middle = statistics.median(times)
    span = f"{min(times):.2f} to {max(times):.2f} s; {len(plan.steps)} steps"
    what = f"bert-12 ({workload.dialect}): memory plan without a build"
    return Bar(what, middle, "s", bar="under 1 s", met=middle < 1, note=span)


def rows() -> Iterator[Bar]:
    yield toggled()
    yield planned()
    yield from bert("llvm", 3)
    yield from bert("cuda -arch=sm_80", 3)


if __name__ == "__main__":
    show(rows())
