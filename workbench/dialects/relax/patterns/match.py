"""The matches of a pattern in a Relax workload, as TVM finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.program import of_graph
from workbench.analysis.patterns.report import OWN, PatternReport, report
from workbench.dialects.base import Workload
from workbench.dialects.facets import AskChild
from workbench.dialects.relax.patterns.attempts import tried
from workbench.dialects.relax.patterns.pairs import lacks_objects, paired
from workbench.dialects.relax.patterns.program import RelaxProgram, programs
from workbench.graph.model import Graph


@dataclass(frozen=True)
class RelaxMatcher:
    """Matches with TVM's matcher; `dominates`, which Relax's language does not have, is matched on the graph."""

    graph: Graph
    programs: Sequence[RelaxProgram]

    def match(self, pattern: object) -> PatternReport:
        both = paired(pattern)
        if lacks_objects(both.pattern):
            own = f"Relax's pattern language has no `dominates`; {OWN}"
            return report(of_graph(self.graph), both.pattern, self.graph, not_tried=own)
        for program in self.programs:
            program.paired = both
        return report(self.programs, both.pattern, self.graph, tried)


def matcher(workload: Workload, ask_child: AskChild) -> RelaxMatcher:  # noqa: ARG001  Relay asks it
    """Return a matcher that uses TVM's, for every function of the workload's module."""
    return RelaxMatcher(workload.graph, programs(workload.module, workload.name))


def read(pattern: object) -> Pattern:
    """Return the Pattern that one of TVM's pattern objects describes."""
    return paired(pattern).pattern
