"""Passes: what recording a build costs, how soon the next step is there, and a whole build's trace as a file."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, show

ROOT = Path(__file__).parents[1]
REPEATS = 3
STEP_MS, TOGGLE_SECONDS, OPEN_SECONDS, FILE_MB = 80, 1.0, 1.0, 5.0
CPU_PERCENT = 15
CONSTANT_MB = 200
# model, whether its parameters are bound, and how many MB recording may cost
BUILDS = (("resnet50", False, 50), ("bert", True, 100))


def main() -> None:
    os.environ["TOPHUB_LOCATION"] = "NONE"
    if sys.argv[1:2] == ["build"]:
        print(json.dumps(built(sys.argv[2], sys.argv[3] == "bound", sys.argv[4] == "recorded")))
        return
    show(rows())


def rows() -> Iterator[Bar]:
    yield from overheads()
    yield from steps()
    yield isolated()
    with tempfile.TemporaryDirectory() as folder:
        yield from saved(Path(folder))


# -- what recording costs: each build in a process of its own, plain and recorded in turn


def built(name: str, bound: bool, recorded: bool) -> dict[str, float]:
    """One whole build; CPU seconds, and the largest memory of the process in MB."""
    import tvm
    from tvm import relay

    from workbench.dialects.compiler.capture import Capture
    from workbench.dialects.registry import dialect
    from workbench.jobs.passes import Record, is_shown

    module, params = model(name)
    w = dialect("relay").frontend.load(module, params, name)
    assert w is not None
    capture = Capture(is_shown)
    target = tvm.target.Target("llvm -mcpu=core-avx2")
    started = time.process_time()
    with tvm.transform.PassContext(opt_level=3, instruments=[capture] if recorded else []):
        library = relay.build(w.module, target=target, params=w.params if bound else None)
    states = 0
    if recorded:
        record = Record(dialect("relay"), w.module)
        record.steps(capture.events, "")
        states = len(record.modules)
    seconds = time.process_time() - started
    del library
    return {
        "cpu": seconds,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passes": len(capture.events),
        "states": states,
    }


def model(name: str) -> tuple[Any, Any]:
    """A module and its parameters."""
    if name == "resnet50":
        from tvm.relay import testing

        return testing.resnet.get_workload(num_layers=50, batch_size=1)
    import workbench as wb

    w = wb.samples.load(name)
    return w.module, w.params


def overheads() -> Iterator[Bar]:
    for name, bound, most in BUILDS:
        runs: dict[str, list[dict[str, float]]] = {"plain": [], "recorded": []}
        for place in range(REPEATS):
            # in turn, and in turn first: a slow moment hits both
            for how in sorted(runs, reverse=bool(place % 2)):
                runs[how].append(_in_child(name, "bound" if bound else "unbound", how))
        plain, recorded = (
            {key: statistics.median(run[key] for run in runs[how]) for key in ("cpu", "mb")}
            for how in ("plain", "recorded")
        )
        what = f"{name}, parameters {'bound' if bound else 'unbound'}"
        percent = (recorded["cpu"] / plain["cpu"] - 1) * 100
        last = runs["recorded"][-1]
        yield Bar(
            f"{what}: recording a build, CPU",
            recorded["cpu"],
            "s",
            "plain build",
            plain["cpu"],
            f"at most {CPU_PERCENT} % more",
            percent <= CPU_PERCENT,
            f"{percent:+.1f} %; {last['passes']:.0f} passes, {last['states']:.0f} states",
        )
        extra = recorded["mb"] - plain["mb"]
        yield Bar(
            f"{what}: recording a build, memory",
            recorded["mb"],
            "MB",
            "plain build",
            plain["mb"],
            f"at most {most} MB more",
            extra <= most,
            f"{extra:+.0f} MB",
        )


def _in_child(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.passes", "build", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# -- the next step, and a toggle


def timed(work: Callable[[], Any]) -> float:
    """CPU seconds: none of this waits for anything, so on a machine that does nothing else a clock shows the same."""
    started = time.process_time()
    work()
    return time.process_time() - started


def steps() -> list[Bar]:
    import workbench as wb
    from workbench.dialects.registry import dialect
    from workbench.graph.diff import diff
    from workbench.pipeline.run import Runner
    from workbench.widgets.payload import encode_diff, encode_graph

    w = wb.samples.load("bert")
    pipeline = wb.Pipeline.parse(dialect("relay").passes.presets()[0].pipeline)

    def shown(step: Any) -> None:
        graph = dialect("relay").frontend.graph(step.state_after.module, w.name)
        encode_graph(graph)
        encode_diff(diff(step.before, graph), step.before, graph)

    runner = Runner(w)
    trace = runner.run(pipeline)
    encode_graph(trace.start.graph)
    changed = [step for step in trace.steps if step.changed]
    # the graph, the diff and the columns of a step that nobody looked at yet
    next_step = [
        statistics.median(timed(lambda s=step: shown(s)) for _ in range(2 * REPEATS + 1)) * 1e3 for step in changed
    ]
    names = [step.name for step in pipeline]
    toggles = []
    for name in ("EliminateCommonSubexpr", "SimplifyExpr", "FoldConstant"):
        place = names.index(name)

        def toggle(place: int = place) -> None:
            again = runner.run(pipeline.toggled(place))
            encode_graph(again.end.graph)
            encode_diff(again.diff, again.start.graph, again.end.graph)

        toggles.append(timed(toggle))
    return [
        Bar(
            "bert-12: next step, to what the page is sent",
            max(next_step),
            "ms",
            bar=f"under {STEP_MS} ms",
            met=max(next_step) < STEP_MS,
            note=f"CPU; the slowest of {len(changed)} steps",
        ),
        Bar(
            "bert-12: a pass toggled in the middle of opt 3",
            max(toggles) * 1e3,
            "ms",
            bar=f"under {TOGGLE_SECONDS * 1e3:.0f} ms",
            met=max(toggles) < TOGGLE_SECONDS,
            note=f"CPU; the slowest of {len(toggles)}, run, diff and picture",
        ),
    ]


# -- what a large constant costs a pass in a process of its own


def isolated() -> Bar:
    """One isolated pass over a large constant, beside TVM's own JSON of the module."""
    import numpy as np
    import tvm
    from tvm import relay

    import workbench as wb

    shape = (CONSTANT_MB * 250_000,)
    constant = relay.const(np.random.default_rng(0).random(shape, "float32"))
    x = relay.var("x", shape=shape, dtype="float32")
    w = wb.load(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.add(x, constant)))), name="constant")
    # by the clock: most of it is the other process's time
    started = time.perf_counter()
    tvm.ir.load_json(tvm.ir.save_json(w.module))
    read = time.perf_counter()
    wb.trace(w, "FuseOps", isolated=True)
    peer, ours = read - started, time.perf_counter() - read
    what = f"an isolated pass over a constant of {CONSTANT_MB} MB"
    return Bar(what, ours, "s", "TVM's save_json and load_json", peer, "at most the peer's", ours <= peer)


# -- a whole build as a file


def saved(folder: Path) -> list[Bar]:
    import workbench as wb

    w = wb.load(model("resnet50"), name="resnet50")
    trace = wb.trace_build(wb.Workload(w.module, {}, w.name, w.dialect), timeout=600)
    path = trace.save(folder / "resnet50.wbtrace")
    size = path.stat().st_size / 1e6
    seconds = statistics.median(timed(lambda: wb.Trace.open(path)) for _ in range(5))
    return [
        Bar("resnet50's whole build: trace file", size, "MB", bar=f"under {FILE_MB:.0f} MB", met=size < FILE_MB),
        Bar(
            "resnet50's whole build: opened",
            seconds * 1e3,
            "ms",
            bar=f"under {OPEN_SECONDS * 1e3:.0f} ms",
            met=seconds < OPEN_SECONDS,
            note=f"{len(trace.steps)} steps, {len(trace.transitions) + 1} states",
        ),
    ]


if __name__ == "__main__":
    main()
