"""Remarks of FuseOps: one for each node whose kernel is decided, and one for each earlier refusal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.analysis.fusion import FusionReport, explain_fusion
from workbench.analysis.fusion.reasons import Decision
from workbench.analysis.tensors import size_of
from workbench.debugging.remarks.places import Places, places
from workbench.debugging.remarks.remark import ANALYSIS, MISSED, PASSED, Remark
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike

FUSE_OPS = "FuseOps"
DISAGREES = "disagrees"
"the reason code of a graph on which the pass fails by the rules, and TVM ran it"
MOST_CHANGES = 64
"missed fusions for which a change is searched, those with the most bytes: each search runs the algorithm on the whole graph"
JOINED = ("fused", "together")
"reason codes of a node that is in one kernel with its post-dominator"


def report_of(trace: Trace, step: Step) -> FusionReport:
    """Return the decisions of a step that is FuseOps, under the settings of the trace."""
    options = Pipeline.parse(step.name)[0].options
    level = options.get("fuse_opt_level", -1)
    given = trace.build.get("options") or {}
    depth = given.get(f"{trace.dialect}.FuseOps.max_depth", 256)
    target: TargetLike = trace.build.get("target", "")
    return explain_fusion(step.before, trace.opt_level if level == -1 else level, depth, target=target)


def fusion_remarks(trace: Trace, step: Step) -> Iterator[Remark]:
    """Yield the remarks of a step that is FuseOps."""
    report = report_of(trace, step)
    yield from _Fusion(report, places(trace, step.state_before), _readers(report)).remarks()


def has_remark(report: FusionReport, decision: Decision) -> bool:
    """Return whether a decision has a remark: all but those that wait for another phase and do not settle their node."""
    return report.decided(decision.node) is decision or decision.code not in ("phase", "together")


def _readers(report: FusionReport) -> dict[int, int]:
    """Return the first node of another kernel that reads each value."""
    return {value.source: value.targets[0] for value in report.handovers}


@dataclass(frozen=True)
class _Fusion:
    report: FusionReport
    places: Places
    readers: dict[int, int]

    def remarks(self) -> Iterator[Remark]:
        if self.report.failure:
            yield Remark(ANALYSIS, FUSE_OPS, DISAGREES, f"TVM ran the pass, although {self.report.failure}.")
            return
        decisions = [each for each in self.report.decisions if has_remark(self.report, each)]
        found = [self._remark(decision) for decision in decisions]
        missed = [place for place, remark in enumerate(found) if remark.kind == MISSED]
        dearest = set(sorted(missed, key=lambda place: -(found[place].bytes or 0))[:MOST_CHANGES])
        for place, remark in enumerate(found):
            yield replace(remark, change=self._change(decisions[place])) if place in dearest else remark

    def _remark(self, decision: Decision) -> Remark:
        node = decision.node
        nodes = (node,) if decision.dominator is None else (node, decision.dominator)
        value = self.places.graph.nodes[node]
        size = size_of(value.type) if value.kind == "op" else None
        found = Remark(self._kind(decision), FUSE_OPS, decision.code, decision.sentence, bytes=size)
        return self.places.located(found, nodes)

    def _kind(self, decision: Decision) -> str:
        if self.report.decided(decision.node) is not decision:
            return ANALYSIS
        if decision.code in JOINED:
            return PASSED
        return MISSED if decision.node in self.readers else ANALYSIS

    def _change(self, decision: Decision) -> str:
        """Return the smallest change with which the node joins its post-dominator, or the first kernel that reads it."""
        target = self.readers[decision.node] if decision.dominator is None else decision.dominator
        found = self.report.why(decision.node, target).changes
        return found[0].sentence if found else ""
