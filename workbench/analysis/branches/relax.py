"""What Relax's passes make of sibling branches: EliminateCommonSubexpr, CombineParallelMatmul, and a pass of ours."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.equal import equal_branches, nearly_equal
from workbench.analysis.branches.finder import Reason
from workbench.analysis.branches.group import BranchGroup, producer
from workbench.analysis.branches.matmul import matmul_groups
from workbench.analysis.branches.relax_conv import conv_groups
from workbench.graph.model import Graph

SAME = "EliminateCommonSubexpr"


def relax_branches(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Everything that `parallel_branches` lists of a Relax graph, in no order."""
    graph = calls.graph
    for branches in equal_branches(calls):
        instead = {node: first for branch in branches[1:] for node, first in zip(branch, branches[0], strict=True)}
        yield BranchGroup("identical", producer(graph, branches), branches, SAME, 1, graph=graph, instead=instead)
    yield from (_misplaced(graph, node) for node, first in (graph.answers.merged or {}).items() if first == -1)
    yield from matmul_groups(calls, least)
    yield from conv_groups(calls, least)
    for nodes, reasons in nearly_equal(calls):
        branches = tuple((node,) for node in nodes)
        yield BranchGroup("near", producer(graph, branches), branches, SAME, 1, reasons, graph=graph)


def _misplaced(graph: Graph, node: int) -> BranchGroup:
    """Return the hazard of a value that the pass replaces by a variable of a local function."""
    name = graph.nodes[node].name or graph.nodes[node].op
    sentence = (
        f"TVM replaces {name} by a variable of a local function that is bound at the start of a scope, so the result is not "
        "well-formed; run LambdaLift first, or bind the function after another value"
    )
    hazard = Reason("out-of-scope", sentence, (node,))
    branches = ((node,),)
    return BranchGroup("hazard", producer(graph, branches), branches, SAME, 1, hazards=(hazard,), graph=graph)


def is_lowered(graph: Graph) -> bool:
    """Return whether the operators of a Relax graph are PrimFuncs already, which no combiner looks at."""
    return graph.dialect == "relax" and any(node.kind == "op" and node.pattern is not None for node in graph.nodes)
