"""Parallel branches that a pass combines or nearly combines, with its conditions and the cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from workbench.analysis.arguments import checked_graph
from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.relax import relax_branches
from workbench.analysis.branches.relay import relay_branches
from workbench.analysis.branches.report import KINDS, BranchGroup
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, HasGraph
from workbench.terminal import Listed
from workbench.wording import counted

__all__ = ["BranchGroup", "parallel_branches"]


def parallel_branches(source: Graph | HasGraph, min_branches: int = 2) -> list[BranchGroup]:
    """Return sibling branches: equal ones, then those that a pass would combine, then near misses.

    The conditions, reasons and hazards follow rules like those of TVM's passes, and tests compare them. `outcome` and `cost`
    of a group, and on Relax the products that are combined, come from the pass itself, which runs on the module; for a
    graph without a module they are "not tried: needs TVM". Where TVM and the rules disagree, TVM is right. Relay: EliminateCommonSubexpr, CombineParallelConv2D, CombineParallelDense in both modes,
    CombineParallelBatchMatmul; CombineParallelOps and MergeIdenticalKernels, which are ours. Relax: EliminateCommonSubexpr,
    CombineParallelMatmul, and CombineParallelConv2D, which is ours. Each group is for one run of its pass; a pass run on a
    hazard crashes, raises, or gives other values, and then helps no other group either. Scalar constants and attributes are
    compared as printed, with six digits.

    Parameters
    ----------
    source
        A Graph or a Workload.
    min_branches
        The least number of branches that is combined (`min_num_branches`); it does not apply to equal branches.

    Raises
    ------
    WorkbenchError
        `min_branches` is below 2, the graph is of neither dialect, or an operator lacks inputs.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { add(exp(nn.relu(%x)), tanh(nn.relu(%x))) }")
    >>> [(group.kind, group.branches, group.passes) for group in wb.parallel_branches(w)]
    [('identical', ((1,), (3,)), 'EliminateCommonSubexpr')]
    """
    if isinstance(min_branches, bool) or not isinstance(min_branches, int) or min_branches < 2:
        raise WorkbenchError(
            f"min_branches is {min_branches!r}; one branch is not parallel to anything, give 2 or more"
        )
    graph = checked_graph(source, "parallel_branches", "the combiners are")
    find = relay_branches if graph.dialect == "relay" else relax_branches
    groups = list(find(Calls(graph), min_branches))
    runs = Counter(group.passes for group in groups if group.kind in ("identical", "combinable"))
    groups = [replace(group, together=runs[group.passes]) for group in groups]
    groups.sort(key=lambda group: KINDS.index(group.kind))
    title = f"{counted(len(groups), 'group')} of parallel branches"
    if groups:
        title += "; wb.FusionInspector(w) shows them on the graph"
    return Listed(groups, title, BranchGroup.line, BranchGroup.picture)
