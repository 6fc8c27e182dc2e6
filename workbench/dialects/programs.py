"""A program in a folder that the environments of both dialects read: module, graph, parameters and values of constants.

The module is in the dialect's own form (`frontend.dump`). The rest is JSON and raw numbers, which need no TVM: the graph, each
operator with a source, and the arrays that a translation takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.dialects import arrays
from workbench.dialects.importers.names import with_sources
from workbench.graph.model import Graph

if TYPE_CHECKING:
    import numpy as np

    from workbench.dialects.base import Workload

GRAPH = "graph.json"
_VALUES = "values"


def write_graph(graph: Graph, folder: Path) -> None:
    """Write the graph of a program."""
    (folder / GRAPH).write_text(graph.to_json(), encoding="utf-8")


def read_graph(folder: Path) -> Graph:
    """Read the graph of a program."""
    return Graph.from_json((folder / GRAPH).read_text(encoding="utf-8"))


def add_sources(workload: Workload, folder: Path) -> None:
    """Write the graph with a source for each operator; of Relay also the values of constants.

    The folder has the module and the parameters.
    """
    write_graph(with_sources(workload.graph), folder)
    if workload.dialect == "relay":
        from workbench.dialects.relay.frontend import constants

        arrays.write(folder / _VALUES, constants(workload.module))


def read_values(folder: Path) -> dict[str, np.ndarray]:
    """Read the parameters and the constants of a Relay program by their names in the graph."""
    params = arrays.read(folder, arrays.as_numpy)
    return {**params, **arrays.read(folder / _VALUES, arrays.as_numpy)}
