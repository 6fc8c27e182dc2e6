"""The result of FuseOps as a graph with kernels as groups, and the bytes that kernels pass to each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from workbench.analysis import legality
from workbench.analysis.fusion.kernels import FusedGroup, Fusion
from workbench.analysis.tensors import nbytes
from workbench.graph.model import Graph, Group


def kernel_graph(report: Fusion) -> Graph:
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
    return replace(graph, nodes=nodes, groups=tuple(groups)).follow(lambda: graph)


def called(kernel: FusedGroup) -> str:
    """Return the name that TVM gives a kernel, without the number that makes it unique."""
    return "_".join(["fused", *(op.replace(".", "_") for op in kernel.ops)])


@dataclass
class Uses:
    """The readers of a kernel's value."""

    users: list[int] = field(default_factory=list)
    "nodes of kernels, ascending"
    leaves: bool = False
    "whether something other than a kernel needs the value, such as the caller"


def places(report: Fusion) -> dict[int, int]:
    """Return the index of the kernel of each node that is in one."""
    return {node: at for at, kernel in enumerate(report.kernels) for node in kernel.nodes}


def uses(report: Fusion) -> dict[int, Uses]:
    """Return the uses of each value that a node of a kernel computes, also through tuples and cuts."""
    graph, place = report.graph, places(report)
    results = {*graph.outputs, *(group.output for group in graph.groups if group.kind in ("function", "branch"))}
    # a node between kernels that is not in one passes on its inputs
    given: dict[int, tuple[int, ...]] = {}
    found: dict[int, Uses] = {}
    for node in graph.nodes:
        sources = tuple(dict.fromkeys(s for at in graph.inputs[node.id] for s in given.get(at, ())))
        inside = node.id in place
        for source in sources if inside else ():
            found[source].users.append(node.id)
        if inside:
            sources, found[node.id] = (node.id,), Uses()
        if node.id in results or not (inside or node.op == legality.CUT or node.kind in ("tuple", "get_item")):
            for source in sources:
                found[source].leaves = True
        given[node.id] = sources
    return found


def boundaries(report: Fusion) -> tuple[tuple[int, int], ...]:
    """Return (producer, consumer) pairs across kernels, where the second reads the first, also through tuples and cuts."""
    place = places(report)
    pairs = ((source, user) for source, value in uses(report).items() for user in value.users)
    return tuple((source, user) for source, user in pairs if place[source] != place[user])


@dataclass(frozen=True)
class Handover:
    """A value that one kernel writes to memory and others read."""

    source: int
    "the node that computes it"
    targets: tuple[int, ...]
    "the nodes of other kernels that read it, ascending"
    bytes: int
    "size of the value, counted once; 0 where its shape is not known"


def handovers(report: Fusion) -> tuple[Handover, ...]:
    """Return the values that kernels pass to other kernels, the largest first."""
    read: dict[int, list[int]] = {}
    for source, target in boundaries(report):
        read.setdefault(source, []).append(target)
    found = [
        Handover(source, tuple(sorted(targets)), nbytes(report.graph.nodes[source].type))
        for source, targets in read.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.bytes, each.source)))


def handed_bytes(report: Fusion) -> int:
    """Return the bytes that kernels pass to other kernels; each value counts once, unknown shapes count 0."""
    return sum(each.bytes for each in handovers(report))
