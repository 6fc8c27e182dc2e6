"""The result of FuseOps as a graph with kernels as groups, and the bytes that kernels pass to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.analysis.tensors import nbytes
from workbench.graph.model import Graph, Group

if TYPE_CHECKING:
    from workbench.analysis.fusion.report import FusedGroup, FusionReport


def kernel_graph(report: FusionReport) -> Graph:
    """Return the graph before fusion with a group around each future kernel; node ids do not change.

    Examples
    --------
    >>> from workbench.analysis.fusion import explain_fusion
    >>> from workbench.graph.model import GraphBuilder
    >>> b = GraphBuilder("two", "relay")
    >>> x = b.node("param", "x", type="Tensor[(4), float32]")
    >>> b.outputs = [b.node("op", "nn.relu", [b.node("op", "exp", [x], pattern=0)], pattern=0)]
    >>> [group.name for group in kernel_graph(explain_fusion(b.build())).groups]
    ['fused_exp_nn_relu']
    """
    graph = report.graph
    groups = list(graph.groups)
    home = {node.id: node.group for node in graph.nodes}
    for kernel in report.kernels:
        if kernel.given:
            continue
        # a kernel is in the group of its result: a value that only a branch uses is computed in the branch
        box = Group(len(groups), "primitive", called(kernel), graph.nodes[kernel.root].group, output=kernel.root)
        groups.append(box)
        home |= dict.fromkeys(kernel.nodes, box.id)
    nodes = tuple(node if home[node.id] == node.group else replace(node, group=home[node.id]) for node in graph.nodes)
    return replace(graph, nodes=nodes, groups=tuple(groups))


def called(kernel: FusedGroup) -> str:
    """Return the name that TVM gives a kernel, without the number that makes it unique."""
    return "_".join(["fused", *(op.replace(".", "_") for op in kernel.ops)])


def boundaries(report: FusionReport) -> tuple[tuple[int, int], ...]:
    """Return (producer, consumer) pairs across kernels, where the second reads the first, also through tuples and cuts."""
    graph, place = report.graph, {n: at for at, kernel in enumerate(report.kernels) for n in kernel.nodes}
    # a node between kernels that is not in one passes on its inputs
    given: dict[int, tuple[int, ...]] = {}
    found: dict[tuple[int, int], None] = {}
    for node in graph.nodes:
        sources = tuple(dict.fromkeys(s for at in graph.inputs[node.id] for s in given.get(at, ())))
        if node.id not in place:
            given[node.id] = sources
            continue
        found |= dict.fromkeys((s, node.id) for s in sources if place[s] != place[node.id])
        given[node.id] = (node.id,)
    return tuple(found)


@dataclass(frozen=True)
class Handover:
    """A value that one kernel writes to memory and others read."""

    source: int
    "the node that computes it"
    targets: tuple[int, ...]
    "the nodes of other kernels that read it, ascending"
    bytes: int
    "size of the value, counted once; 0 where its shape is not known"


def handovers(report: FusionReport) -> tuple[Handover, ...]:
    """Return the values that kernels pass to other kernels, the largest first."""
    read: dict[int, list[int]] = {}
    for source, target in boundaries(report):
        read.setdefault(source, []).append(target)
    found = [
        Handover(source, tuple(sorted(targets)), nbytes(report.graph.nodes[source].type))
        for source, targets in read.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.bytes, each.source)))


def handed_bytes(report: FusionReport) -> int:
    """Return the bytes that kernels pass to other kernels; each value counts once, unknown shapes count 0."""
    return sum(each.bytes for each in handovers(report))
