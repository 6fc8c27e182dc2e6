"""The matches of a pattern in a Relay workload, as TVM finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.report import PatternReport, report
from workbench.dialects.base import Workload
from workbench.dialects.relay.patterns.pairs import paired
from workbench.dialects.relay.patterns.program import RelayProgram, programs
from workbench.graph.model import Graph


@dataclass(frozen=True)
class RelayMatcher:
    """Matches with TVM's checks on its own expressions."""

    graph: Graph
    programs: Sequence[RelayProgram]

    def match(self, pattern: Any) -> PatternReport:
        both = paired(pattern)
        for program in self.programs:
            program.ask(both)
        return report(self.programs, both.pattern, self.graph)


def matcher(workload: Workload) -> RelayMatcher:
    """Return a matcher that uses TVM's, for every function of the workload's module."""
    return RelayMatcher(workload.graph, programs(workload.module, workload.name))


def read(pattern: Any) -> Pattern:
    """Return the Pattern that one of TVM's pattern objects describes."""
    return paired(pattern).pattern
