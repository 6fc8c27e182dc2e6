"""Operator fusion with its reasons: what FuseOps does to a graph, why, why not, and what would change it."""

from workbench.analysis.fusion.report import FusionReport as FusionReport
from workbench.analysis.fusion.report import explain_fusion as explain_fusion
