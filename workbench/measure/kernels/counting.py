"""In the child: what `wb.kernels` says of a build, with what the graph knows of its calls, and what `wb.count` says without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.analysis import cost
from workbench.analysis.units import linked
from workbench.dialects.base import Workload
from workbench.dialects.facets import Built
from workbench.dialects.registry import dialect
from workbench.graph.model import Graph
from workbench.measure.timing import builds
from workbench.process.backend import resolved_target

Progress = Callable[..., None]


def kernels(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Compile and count: one row a call, in execution order, and the graph that they are of."""
    kept = builds.compiled(workload, target, config, progress)
    return {"target": kept.target, "build_seconds": kept.seconds, **counted(kept.built, workload)}


def code(
    workload: Workload, *, target: str, config: Mapping[str, Any], form: str, progress: Progress
) -> dict[str, str]:
    """The generated code of the whole library in a form."""
    kept = builds.compiled(workload, target, config, progress)
    if form != "ptx":
        return {"code": kept.built.code(form)}
    from workbench.dialects.cuda_code import architecture, ptx

    progress("Compiling CUDA C")
    return {"code": ptx(kept.built.code("cuda"), architecture(kept.target)).decode()}


def counted(built: Built, workload: Workload) -> dict[str, Any]:
    """Everything that `wb.kernels` says of a build, as plain JSON values."""
    program, rows = built.program(), built.calls()
    here = dialect(workload.dialect)
    graph = here.frontend.graph(here.frontend.infer_types(built.module()), workload.name)
    for row, unit in zip(rows, linked(graph, rows), strict=True):
        nodes = () if unit is None else unit.nodes
        row |= {
            "flops": None if unit is None else _flops(graph, row["kind"], nodes),
            "group": None if unit is None else unit.group,
            "nodes": list(nodes),
            "op": row["function"] if unit is None or row["kind"] == "external" else unit.op(graph),
        }
    return {
        "calls": rows,
        "counts": program.counts(),
        "handovers": program.handovers(),
        "graph": graph.to_data(),
        "forms": built.forms(),
        "tvm": built.tvm,
    }


def _flops(graph: Graph, kind: str, nodes: Sequence[int]) -> int | None:
    if kind == "external":
        # another compiler may have done it in its own way
        return None
    return cost.flops(graph, nodes) if kind == "kernel" else 0


def count(workload: Workload, *, target: str, config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The job of `wb.count`."""
    progress("Counting")
    target = resolved_target(workload, target)
    return {"target": target, **dialect(workload.dialect).compiler.count(workload, target, config)}
