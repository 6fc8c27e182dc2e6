"""The result of a pass on the module of a graph, as TVM gives it: it may differ from what the rules predict."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.graph.model import Graph

MERGED, LEFT, FAILED, UNTRIED = "merged", "not merged", "failed", "not tried"
NEEDS_MODULE = "not tried: needs TVM and the module; give the workload, not its graph"
STATUSES = (MERGED, LEFT, FAILED, UNTRIED)


@dataclass(frozen=True)
class Outcome:
    """The result of a pass for some nodes of a graph."""

    status: str
    "one of STATUSES; `not merged` also where the pass merges some of the nodes only"
    sentence: str
    contradicts: bool = False
    "whether the rules predict something else; the outcome is right then"

    def __str__(self) -> str:
        return self.sentence


def failed(graph: Graph, passes: str) -> Outcome | None:
    """Return the outcome of passes that fail on the graph's module, or that cannot run; None where they succeed."""
    if graph.ask_after is None:
        return Outcome(UNTRIED, NEEDS_MODULE)
    after = graph.ask_after(passes)
    if not after.tried:
        return Outcome(UNTRIED, f"not tried: {after.failure}")
    return Outcome(FAILED, f"TVM's pass fails: {after.failure}") if after.failure else None
