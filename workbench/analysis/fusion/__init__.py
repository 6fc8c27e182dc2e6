"""Operator fusion with its reasons: the kernels FuseOps makes, each decision, and changes that would alter it."""

from workbench.analysis.fusion.report import FusionReport as FusionReport
from workbench.analysis.fusion.report import explain_fusion as explain_fusion
