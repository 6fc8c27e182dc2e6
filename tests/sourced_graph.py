"""The kernels of a model of compiler_models with their sources, as the compiler's own passes decide on them.

Run with a Python of either environment, `tests/sourced_graph.py NAME PATH` writes the graph, so that tests of one
environment compare it with their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import workbench as wb
from workbench.graph.model import Graph
from workbench.pipeline.lineage import sourced


def fused(workload: wb.Workload) -> Graph:
    """The last graph of a build that has kernels."""
    trace = wb.trace_build(workload, whole=False)
    states = [trace.start, *(transition.after for transition in trace.transitions)]
    return sourced(
        trace, next(state for state in reversed(states) if any(g.kind == "primitive" for g in state.graph.groups))
    )


if __name__ == "__main__":
    from compiler_models import MODELS

    Path(sys.argv[2]).write_text(fused(wb.load(MODELS[sys.argv[1]]())).to_json())
