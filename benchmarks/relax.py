"""Relax, bert with 12 layers: reading the graph, explaining its kernels, a pattern, and what recording a build costs."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, show
from benchmarks.counts import planned

ROOT = Path(__file__).parents[1]
REPEATS = 5
WALK_MS, EXPLAIN_MS, PATTERN_MS, CPU_PERCENT = 20, 60, 1000, 15
KERNELS = "DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern"
PATTERN = 'is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())'


def main() -> None:
    if sys.argv[1:2] == ["build"]:
        print(json.dumps(built(sys.argv[2], sys.argv[3] == "recorded")))
        return
    show(rows())


def rows() -> Iterator[Bar]:
    yield from looked_at()
    yield planned()
    yield from overheads()


def looked_at() -> Iterator[Bar]:
    import workbench as wb
    from workbench.dialects.registry import dialect

    w = wb.samples.load("bert", layers=12)
    annotated = wb.load(wb.trace(w, KERNELS).result, name="bert")
    graph = annotated.graph
    size = f"{len(w.graph.nodes)} nodes"
    yield _bar(
        f"relax bert-12: reading the graph ({size})",
        lambda: dialect("relax").frontend.graph(w.module, "bert"),
        WALK_MS,
    )
    yield _bar(
        f"relax bert-12: explain_fusion, all sentences ({len(graph.nodes)} nodes)",
        lambda: [decision.sentence for decision in wb.explain_fusion(graph).decisions],
        EXPLAIN_MS,
    )
    yield _bar(f"relax bert-12: wb.match ({size})", lambda: wb.match(w, PATTERN), PATTERN_MS)


def _bar(what: str, work: Callable[[], Any], most: int) -> Bar:
    took = [_timed(work) for _ in range(4 * REPEATS + 1)]
    middle = statistics.median(took) * 1e3
    return Bar(what, middle, "ms", bar=f"under {most} ms", met=middle < most, note="CPU, median")


def _timed(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


# -- what recording a build costs: each build in a process of its own, plain and recorded in turn


def built(name: str, recorded: bool) -> float:
    """CPU seconds of one whole build."""
    import tvm
    from tvm import relax

    import workbench as wb
    from workbench.dialects.compiler.capture import Capture
    from workbench.dialects.compiler.tvm_target import make_target
    from workbench.dialects.registry import dialect
    from workbench.jobs.passes import Record, is_shown

    w = wb.samples.load(name)
    capture, target = Capture(is_shown), make_target("llvm")
    started = time.process_time()
    with tvm.transform.PassContext(opt_level=3, instruments=[capture] if recorded else []):
        tvm.compile(w.module, target, relax_pipeline=relax.get_default_pipeline(target))
    if recorded:
        Record(dialect("relax"), w.module).steps(capture.events, "")
    return time.process_time() - started


def overheads() -> Iterator[Bar]:
    for name in ("resnet18", "bert"):
        runs: dict[str, list[float]] = {"plain": [], "recorded": []}
        for place in range(REPEATS):
            # in turn, and in turn first: a slow moment hits both
            for how in sorted(runs, reverse=bool(place % 2)):
                runs[how].append(_in_child(name, how))
        plain, recorded = (statistics.median(runs[how]) for how in ("plain", "recorded"))
        percent = (recorded / plain - 1) * 100
        yield Bar(
            f"relax {name}: recording a build, CPU",
            recorded,
            "s",
            "plain build",
            plain,
            f"at most {CPU_PERCENT} % more",
            percent <= CPU_PERCENT,
            f"{percent:+.1f} %",
        )


def _in_child(*arguments: str) -> float:
    command = [sys.executable, "-m", "benchmarks.relax", "build", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
