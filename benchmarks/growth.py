"""The growth of Python's work with the size of a program: CPU seconds at four sizes, and the exponent; and a Graph's bytes.

TVM's own part is measured beside a row that has one. A row stops at a size that takes 6 s.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tvm import relax
from tvm.relax import op
from tvm.relax.frontend.onnx import from_onnx

import workbench as wb
from benchmarks.bar import Bar, show
from benchmarks.synthetic import transformer
from workbench.debugging.lints.rules import findings
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.registry import dialect
from workbench.jobs.build import drawn, program_of
from workbench.jobs.load import model as convert
from workbench.measurement.memory.planning import compose
from workbench.pipeline.config import Config
from workbench.samples._relax import RelaxBuilder
from workbench.widgets.payload import encode_graph

SIZES = (1_000, 5_000, 20_000, 50_000)
MOST = 1.15
"the largest exponent"
LONG = 6.0
"seconds: no larger size is measured of a row that takes so long"
LAYERS = 250
"of a chain; a program has as many chains as it needs"
PASSES = "LegalizeOps,AnnotateTIROpPattern,FuseOps"
Work = Callable[[], Any]


def ignored(what: str, fraction: float | None = None) -> None:
    """Report no progress."""


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of the least-squares line through the logarithms.

    >>> exponent([1, 10, 100], [2, 20, 200])
    1.0
    """
    xs, ys = [math.log(size) for size in sizes], [math.log(each) for each in seconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def program(nodes: int) -> Any:
    """Return a module of matmuls with a bias, an activation and a skip, in chains: TVM's passes end the process on a deep one."""
    made = RelaxBuilder()
    x, bias = made.input("x", (8, 8)), made.input("b", (8,))
    value: Any = x
    ends = []
    for layer in range(1, nodes // 4 + 1):
        inner = made.emit(op.add(made.emit(op.matmul(value, x)), bias))
        value = made.emit(op.add(made.emit(op.nn.relu(inner)), value))
        if layer % LAYERS == 0:
            ends.append(value)
            value = x
    return made.finish(relax.Tuple(ends))[0]


def on_graphs(nodes: int) -> Iterator[tuple[str, Work, Work | None]]:
    """Yield the rows that need no TVM."""
    graph, other = transformer(nodes), transformer(nodes, "tanh")

    def fresh() -> wb.Graph:
        """Return the graph without what it has computed."""
        return wb.Graph(graph.nodes, graph.edges, graph.groups, graph.outputs, graph.name, graph.dialect)

    text = graph.to_json()
    yield "graph to JSON and back", lambda: wb.Graph.from_json(fresh().to_json()), None
    yield "graph from JSON", lambda: wb.Graph.from_json(text), None
    yield "diff", lambda: wb.diff(fresh(), other), None
    yield "dominators and regions", lambda: (fresh().dominators(), list(wb.regions(fresh()))), None
    yield "parallel_branches", lambda: wb.parallel_branches(fresh()), None
    yield (
        "explain_fusion, all sentences",
        lambda: [each.sentence for each in wb.explain_fusion(fresh()).decisions],
        None,
    )
    yield "what the page is sent", lambda: encode_graph(fresh()), None


def on_modules(nodes: int) -> Iterator[tuple[str, Work, Work | None]]:
    """Yield the rows in which TVM has a part, with that part."""
    from onnx_models import chain

    module, model = program(nodes), chain(nodes)
    workload = wb.load(module)
    compiler, frontend, config = dialect("relax").compiler, dialect("relax").frontend, Config()

    def planned() -> Any:
        chosen = program_of(workload, config, ignored)
        return compiler.plan(chosen, "llvm", config.to_data())

    def build_passes() -> None:
        target = make_target("llvm")
        with target:
            lowered = relax.get_default_pipeline(target)(module)
            relax.vm_build._vmcodegen(relax.ExecBuilder(), lowered)  # noqa: SLF001  it has no public name

    def run_passes() -> None:
        with make_target("llvm"):
            annotated = relax.transform.AnnotateTIROpPattern()(relax.transform.LegalizeOps()(module))
            relax.transform.FuseOps()(annotated)

    found = wb.trace(workload, PASSES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.wbtrace"
        yield (
            "wb.load of a module, and its graph",
            lambda: wb.load(module).graph,
            lambda: relax.analysis.well_formed(module),
        )
        yield "module to graph", lambda: frontend.graph(module, "m"), None
        yield f"wb.trace {PASSES}", lambda: [step.diff for step in wb.trace(workload, PASSES).steps], run_passes
        yield "lints of a trace", lambda: findings(found, ()), None
        yield "trace to a file and back", lambda: wb.Trace.open(found.save(path)).end.graph, None
        (Path(folder) / "chain.onnx").write_bytes(model.SerializeToString())
        given = {"format": "onnx", "path": f"{folder}/chain.onnx", "inputs": (), "name": "chain", "folder": folder}

        def loaded() -> None:
            """Do what `wb.load` does in the child and in the notebook."""
            convert(**given, progress=ignored)
            frontend.restore(Path(folder))
            wb.Graph.from_json((Path(folder) / "graph.json").read_text())

        yield "wb.load of an ONNX chain of Relu, both processes", loaded, lambda: from_onnx(model)
        yield "count", lambda: planned().counts(), build_passes

        def memory() -> None:
            made = planned()
            compose(made, drawn(made.module, workload), "llvm", config).to_data()

        yield "memory plan", memory, build_passes


def measured(rows: Callable[[int], Iterator[tuple[str, Work, Work | None]]]) -> Iterator[Bar]:
    """Yield a row with the growth of each kind of work."""
    seconds: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    for size in SIZES:
        for name, work, part in rows(size):
            before = (*seconds.get(name, ()), *theirs.get(name, ()))
            if max(before, default=0.0) < LONG:
                seconds.setdefault(name, []).append(took(work))
                if part is not None:
                    theirs.setdefault(name, []).append(took(part))
    for name, found in seconds.items():
        grown = exponent(SIZES[: len(found)], found)
        tvm = theirs.get(name)
        own = None if tvm is None else exponent(SIZES[: len(tvm)], tvm)
        listed = ", ".join(f"{each:.3g}" for each in found)
        note = f"{listed} s of CPU at {', '.join(map(str, SIZES[: len(found)]))} nodes"
        note += "" if tvm is None else f"; TVM's part {', '.join(f'{each:.3g}' for each in tvm)} s"
        met = grown <= max(MOST, own or 0.0)
        yield Bar(f"growth of {name}", grown, "exp", "TVM's part", own, f"at most {MOST}, or TVM's", met, note)


def took(work: Work) -> float:
    """Return the lesser CPU seconds of two calls, in this process; what other rows have left in memory is not searched for garbage."""
    found: list[float] = []
    gc.collect()
    gc.freeze()
    for _ in range(2):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    gc.unfreeze()
    return min(found)


def memory() -> Iterator[Bar]:
    """Yield the bytes that a Graph takes, for each 1,000 nodes."""
    for size in SIZES[:3]:
        tracemalloc.start()
        graph = transformer(size)
        held = tracemalloc.get_traced_memory()[0] * 1000 / len(graph.nodes)
        _ = graph.inputs, graph.consumers
        used = tracemalloc.get_traced_memory()[0] * 1000 / len(graph.nodes)
        tracemalloc.stop()
        yield Bar(
            f"a Graph of {len(graph.nodes)} nodes: bytes a node",
            held / 1000,
            "bytes",
            note=f"{used / 1000:.0f} with its inputs and users",
        )


if __name__ == "__main__":
    show(bar for rows in (measured(on_graphs), measured(on_modules), memory()) for bar in rows)
