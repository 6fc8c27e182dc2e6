"""A space of cuts and forces near the costliest kernel boundaries of explain_fusion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from workbench.analysis.fusion import explain_fusion
from workbench.analysis.fusion.report import FusionReport
from workbench.analysis.tensors import nbytes
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.pipeline.fusion_edits import cut_step, force_step
from workbench.pipeline.run import trace
from workbench.pipeline.spec import PassStep, Pipeline


def fusion(workload: Workload, most: int) -> tuple[Pipeline, list[str]]:
    """Return the compiler's graph passes as a pipeline, and the edits to choose from.

    For each value that kernels pass on, the largest first, there is a force of the kernels at its ends into one, where that is
    legal, and a cut of each edge within these kernels, the readers' edges first. Pairs of these cuts follow. Where kernels
    pass nothing on (the whole program is one kernel), there is a cut of each edge within a kernel, the largest first. There
    are no edits where no kernel has two operators.

    Parameters
    ----------
    most
        Most edits to return.

    Raises
    ------
    WorkbenchError
        The passes before fusion fail on it.
    """
    pipeline = Pipeline.parse(dialect_of(workload).passes.presets()[0].pipeline)
    last = max(place for place, step in enumerate(pipeline) if step.name == "FuseOps")
    before = trace(workload, Pipeline(pipeline[place] for place in range(last)))
    if before.failed is not None:
        raise WorkbenchError(f"{before.failed.name} failed before fusion: {before.failed.error}")
    return pipeline, edits(explain_fusion(before.end.graph), most)


def edits(report: FusionReport, most: int) -> list[str]:
    """Return passes as text, each one edit or a pair of cuts, those at the costliest boundary first."""
    found: dict[str, None] = {}
    edges: dict[tuple[int, int], None] = {}
    for handover in report.handovers:
        ends = [report.group_of(node) for node in (handover.source, *handover.targets)]
        joined = sorted({node for end in ends for node in end.nodes})
        found |= dict.fromkeys(_legal(lambda nodes=joined: force_step(report.graph, nodes)))
        near = _cuts(report, _inside(report, (*handover.targets, handover.source)))
        found |= dict.fromkeys(near.values())
        edges |= dict.fromkeys(near)
    if not report.handovers:
        within = _cuts(report, _heaviest_first(report))
        found, edges = dict.fromkeys(within.values()), dict.fromkeys(within)
    for pair in combinations(edges, 2):
        found |= dict.fromkeys(_legal(lambda pair=pair: cut_step(report.graph, pair)))
    return list(found)[:most]


def _cuts(report: FusionReport, edges: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Return the edges that can be cut, with the text of each cut."""
    return {edge: text for edge in edges for text in _legal(lambda edge=edge: cut_step(report.graph, edge))}


def _inside(report: FusionReport, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the edges between operators within the kernels of these nodes."""
    graph: Graph = report.graph
    for end in ends:
        kernel = report.group_of(end)
        for node in kernel.nodes:
            yield from ((source, node) for source in graph.inputs[node] if source in kernel.nodes)


def _heaviest_first(report: FusionReport) -> list[tuple[int, int]]:
    """Return the edges within any kernel, those with most bytes first."""
    edges = _inside(report, (kernel.root for kernel in report.kernels))
    return sorted(edges, key=lambda edge: -nbytes(report.graph.nodes[edge[0]].type))


def _legal(make: Callable[[], PassStep]) -> Iterator[str]:
    """Yield the text of an edit if it can be made."""
    try:
        yield str(make())
    except WorkbenchError:
        return
