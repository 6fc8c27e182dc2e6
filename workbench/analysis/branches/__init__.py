"""Parallel branches that could be one: foretold from the graph, with TVM's conditions and what a merge would cost."""

from workbench.analysis.branches.group import BranchGroup
from workbench.analysis.branches.parallel import parallel_branches

__all__ = ["BranchGroup", "parallel_branches"]
