"""One graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import traitlets

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.widgets.bundle import Shown, View
from workbench.widgets.payload import encode_graph


class GraphView(View):
    """Shows a graph: pan, zoom, search, collapse, select.

    Parameters
    ----------
    graph
        A Graph or a Workload.

    Examples
    --------
    >>> view = GraphView(w.graph())   # doctest: +SKIP
    >>> view.selection = [3]          # doctest: +SKIP
    """

    _view = traitlets.Unicode("graph").tag(sync=True)
    graph = traitlets.Dict().tag(sync=True)
    selection = traitlets.List(traitlets.Int()).tag(sync=True)
    hovered = traitlets.Int(-1).tag(sync=True)
    collapsed = traitlets.List(traitlets.Int()).tag(sync=True)
    viewport = traitlets.Dict().tag(sync=True)
    overlay_state = traitlets.Dict().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    saved_traits = ("graph", "selection", "collapsed", "viewport", "overlay_state", "options")

    def __init__(self, graph: Graph | Workload, **traits: Any) -> None:
        self.model = graph.graph() if isinstance(graph, Workload) else graph
        super().__init__(graph=encode_graph(self.model), **traits)

    def _shown_graphs(self) -> Shown:
        return (self.model,)

    @traitlets.validate("selection")
    def _known_nodes(self, proposal: dict[str, Any]) -> list[int]:
        ids = list(proposal["value"])
        unknown = [id for id in ids if not 0 <= id < len(self.model.nodes)]
        if unknown:
            raise WorkbenchError(
                f"node {unknown[0]} is not in this graph; ids run from 0 to {len(self.model.nodes) - 1}"
            )
        return ids

    def show(self, nodes: Iterable[int]) -> None:
        """Bring nodes into view, opening the groups they are in."""
        self.send({"type": "show", "ids": list(nodes)})

    def overlay(self, values: Mapping[int, float], title: str, unit: str = "") -> None:
        """Colour nodes by a measured value, with a legend; an empty mapping takes the colours away."""
        self.overlay_state = (
            {"title": title, "unit": unit, "values": {str(id): value for id, value in values.items()}} if values else {}
        )
