"""Parallel branches that could be one: those that a pass combines, its conditions for the others, and the cost."""

from workbench.analysis.branches.group import BranchGroup
from workbench.analysis.branches.parallel import parallel_branches

__all__ = ["BranchGroup", "parallel_branches"]
