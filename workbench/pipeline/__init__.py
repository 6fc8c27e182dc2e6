"""Pipelines, traces, and data derived from them.

A Pipeline (`spec.py`) has a text form that parses back. `run.py` runs it in this process, with a guard: a graph too deep for
TVM is refused or runs isolated in a child process. `build.py` records the compiler's own passes in a child; the modules
stay there, and graphs and texts are fetched when the user looks at a step. A failed pass is a step.

`load.py` turns a user's source into a Workload: received text and files become TVM's objects in a forked child first, so a
file that ends TVM costs milliseconds and not the notebook.
"""

from __future__ import annotations

from workbench.dialects.base import Workload, register_services
from workbench.graph.model import After, Graph


def _run_passes(workload: Workload, graph: Graph, passes: str) -> After:
    from workbench.pipeline.run import run_in_child

    return run_in_child(workload, graph, passes)


register_services(run_passes=_run_passes)
