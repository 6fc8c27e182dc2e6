"""What measuring costs: against TVM's own benchmark(), after a crash, in memory, for a large model's parameters, for a toggle."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ |= {"TVM_WORKBENCH_STORE": "off", "TOPHUB_LOCATION": "NONE"}

import workbench as wb
from benchmarks.bar import Bar, show
from workbench.dialects.registry import dialect
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.measure import measure_one
from workbench.measurement.repeats import sample
from workbench.measurement.verdict import Ratio, compared
from workbench.pipeline.config import Config
from workbench.worker import limits
from workbench.worker.parent import Worker, worker

ROUNDS = 25
NOTHING = "benchmarks.timing_nothing:nothing"


def overhead(workload: wb.Workload) -> tuple[Ratio, float, float]:
    """Our median over that of GraphModule.benchmark(), on one executor, round by round."""
    built = dialect("relay").compiler.compiled(workload, "llvm -mcpu=core-avx2", Config(opt_level=3).to_data())
    running: Any = built.load(0)
    number = sample(running.run, 0.1)["number"]
    ours, theirs = [], []
    for place in range(ROUNDS):

        def we() -> None:
            ours.append(statistics.median(sample(running.run, 0.1)["samples"]))

        def they() -> None:
            theirs.append(running.executor.benchmark(running.device, number=number, repeat=15).median)

        for each in (we, they) if place % 2 == 0 else (they, we):
            each()
    return compared(ours, theirs), statistics.median(ours), statistics.median(theirs)


def restart() -> float:
    """Seconds from a crash of the child to the end of the next build."""
    child, small = Worker(), wb.samples.load("mlp", layers=1, width=4)
    job = {"target": "llvm", "config": Config(opt_level=0).to_data()}
    child.run("build", small, job)
    seconds = []
    for _ in range(5):
        running = child._child  # noqa: SLF001  the crash is what is measured
        assert running is not None
        started = time.perf_counter()
        os.kill(running.pid, signal.SIGKILL)
        running.wait(10)
        child.run("build", small, job)
        seconds.append(time.perf_counter() - started)
    child.close()
    return statistics.median(seconds)


def parameters(bert: wb.Workload) -> tuple[float, float]:
    """Seconds of a job that does nothing, with bert-12's parameters and without them; each workload is new to the child."""
    child = Worker()
    child.run(NOTHING, wb.samples.load("mlp", layers=1, width=4), {})
    with_them, without = [], []
    for _ in range(5):
        for params, seconds in ((bert.params, with_them), ({}, without)):
            fresh = wb.Workload(bert.module, dict(params), bert.name, bert.dialect)
            started = time.perf_counter()
            child.run(NOTHING, fresh, {})
            seconds.append(time.perf_counter() - started)
    child.close()
    return statistics.median(with_them), statistics.median(without)


def growth(action: Callable[[], object]) -> float:
    """Bytes that this process holds at most while an action runs, beyond what it held before."""
    before = limits.resident()
    with _watched() as most:
        action()
    return max(most) - before


@contextmanager
def _watched() -> Iterator[list[int]]:
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most[0] = max(most[0], limits.resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def toggle() -> float:
    """Seconds until a configuration that was never built has its row; child and reference are there already."""
    workload = wb.samples.load("parallel_cast")
    measure_one(workload, Config(), "llvm", MeasureOptions())
    started = time.perf_counter()
    row = measure_one(workload, Config(disabled=("EliminateCommonSubexpr",)), "llvm", MeasureOptions())
    assert row.status == "ok", row.message
    return time.perf_counter() - started


def rows() -> Iterator[Bar]:
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    ratio, ours, theirs = overhead(wb.samples.load("bert", layers=1, seq=32))
    interval = f"95 % interval of the ratio {ratio.low:.4f} to {ratio.high:.4f}, {ROUNDS} rounds"
    yield Bar(
        "timing bert-1",
        ours * 1e6,
        "us",
        "TVM benchmark()",
        theirs * 1e6,
        "within 2 %",
        abs(ratio.ratio - 1) < 0.02,
        interval,
    )
    bert = wb.samples.load("bert")
    megabytes = sum(value.numpy().nbytes for value in bert.params.values()) / 1e6
    full, bare = parameters(bert)
    yield Bar(
        "a job on bert-12, its parameters new to the child",
        full,
        "s",
        "without them",
        bare,
        "under 1 s more",
        full - bare < 1,
        f"{megabytes:.0f} MB of parameters",
    )
    made: list[Any] = []
    grown = growth(lambda: made.append(wb.measure(bert, [3], budget=1.0)))
    worker().stop()
    yield Bar(
        "notebook's memory while measuring bert-12",
        grown / 1e6,
        "MB",
        bar="under 50 MB more",
        met=grown < 50e6,
        note=f"status {made[0].status[0]}, check {made[0].check[0]}",
    )
    crash = restart()
    yield Bar("next build after a crash of the child", crash, "s", bar="under 3 s", met=crash < 3)
    toggled = toggle()
    yield Bar("parallel_cast, a pass toggled: built, checked, timed", toggled, "s", bar="under 3 s", met=toggled < 3)


if __name__ == "__main__":
    show(rows())
