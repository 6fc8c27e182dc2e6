"""`wb.parallel_branches`: sibling branches of one producer that could be merged, and what stops those that cannot."""

from __future__ import annotations

from workbench.analysis.arguments import check_arguments
from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.group import KINDS, BranchGroup
from workbench.analysis.branches.relax import relax_branches
from workbench.analysis.branches.relay import relay_branches
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, HasGraph, graph_of

_FORETOLD = {"relay": relay_branches, "relax": relax_branches}


def parallel_branches(source: Graph | HasGraph, min_branches: int = 2) -> list[BranchGroup]:
    """Sibling branches that are equal, that a pass would combine, or that nearly are; in this order.

    TVM's rules are those of its passes, checked against them. Relay: EliminateCommonSubexpr, CombineParallelConv2D,
    CombineParallelDense in both modes, CombineParallelBatchMatmul; beside them CombineParallelOps and
    MergeIdenticalKernels, which are ours. Relax: EliminateCommonSubexpr, CombineParallelMatmul, and CombineParallelConv2D,
    which is ours. Each group is for one run of its pass; a pass run on a hazard crashes, raises, or gives other values, and
    then helps no other group either. Scalar constants and attributes are compared as the text has them, with six digits.

    Parameters
    ----------
    source
        A Graph or a Workload.
    min_branches
        The least number of branches that is combined (`min_num_branches`); equal ones are merged whatever it is.

    Raises
    ------
    WorkbenchError
        `min_branches` is below 2, the graph is of neither dialect, or an operator lacks inputs.
    """
    if isinstance(min_branches, bool) or not isinstance(min_branches, int) or min_branches < 2:
        raise WorkbenchError(
            f"min_branches is {min_branches!r}; one branch is not parallel to anything, give 2 or more"
        )
    graph = graph_of(source, "parallel_branches")
    foretold = _FORETOLD.get(graph.dialect)
    if foretold is None:
        raise WorkbenchError(
            f"{graph.name} is {graph.dialect or 'of no dialect'}, and the combiners are passes of Relay and Relax; load the "
            "graph from a module of one of these"
        )
    check_arguments(graph)
    return sorted(foretold(Calls(graph), min_branches), key=lambda group: KINDS.index(group.kind))
