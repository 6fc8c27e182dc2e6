"""What a merge changes: operators, kernels, and the bytes that kernels read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.analysis.branches.contraction import folded
from workbench.analysis.branches.relax_kinds import with_kinds
from workbench.analysis.fusion import explain_fusion
from workbench.analysis.tensors import nbytes
from workbench.graph.model import Graph


@dataclass(frozen=True)
class Change:
    """After less before."""

    ops: int
    "operator calls"
    kernels: int | None
    "kernels that FuseOps makes, with weights bound and constants folded; None where FuseOps fails on the graph or an operator's kind is not known"
    traffic_bytes: int | None
    "bytes that these kernels read and write; None like kernels"


def change(graph: Graph, after: Graph, weights: Sequence[int], apart: Sequence[int] = ()) -> Change:
    """Return the difference that a pass makes.

    Parameters
    ----------
    after
        The graph as the pass leaves it.
    weights
        Parameters that are constants once they are bound.
    apart
        Kernels of `after`, as groups, that are taken apart and fused again.
    """
    ops = len(after.ops) - len(graph.ops)
    params = [[node.id for node in each.nodes if node.kind == "param"] for each in (graph, after)]
    bound = [theirs for ours, theirs in zip(*params, strict=False) if ours in set(weights)]
    ours = _fused(folded(graph, weights))
    theirs = _fused(_without(folded(after, bound), apart))
    if ours is None or theirs is None:
        return Change(ops, None, None)
    return Change(ops, theirs[0] - ours[0], theirs[1] - ours[1])


def _fused(graph: Graph) -> tuple[int, int] | None:
    """Kernels and their traffic in bytes; None where FuseOps fails, or where it is not known what it would see."""
    lowered = with_kinds(graph) if graph.dialect == "relax" else graph
    if lowered is None:
        return None
    graph = lowered
    report = explain_fusion(graph)
    if report.failure:
        return None
    traffic = 0
    for kernel in report.kernels:
        inside = set(kernel.nodes)
        read = {source for node in kernel.nodes for source in graph.inputs[node] if source not in inside}
        traffic += sum(nbytes(graph.nodes[node].type) for node in (*read, kernel.root))
    return len(report.kernels), traffic


def _without(graph: Graph, groups: Sequence[int]) -> Graph:
    """The graph with some boxes opened: their nodes stand in the box around."""
    if not groups:
        return graph
    opened = set(groups)

    def around(group: int | None) -> int | None:
        while group in opened:
            group = graph.groups[group].parent
        return group

    nodes = tuple(replace(node, group=around(node.group)) for node in graph.nodes)
    boxes = tuple(
        # an opened box has no nodes, and must not look like a call either
        replace(g, kind="scope", output=None, inputs=()) if g.id in opened else replace(g, parent=around(g.parent))
        for g in graph.groups
    )
    return replace(graph, nodes=nodes, groups=boxes)
