"""The view of one graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import traitlets

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.layers import layered
from workbench.graph.model import Graph, graph_of
from workbench.measurement.overlay import Overlay
from workbench.widgets.base import SAVED, Shown, View, json_trait
from workbench.widgets.graph.ids import CollapsedGroups, NodeIds
from workbench.widgets.page_types import OverlayState
from workbench.widgets.payload import GraphPayload, encode_graph


class GraphView(View):
    """A view of a graph: pan, zoom, search, collapse, select.

    Every parameter but the first is a trait: it can be set later, and clicks change it.

    Parameters
    ----------
    graph
        A Graph or a Workload.
    selection
        Ids of nodes.
    hovered
        Id of the node under the pointer, -1 for none.
    collapsed
        Ids of the groups drawn as one box, those of `workbench.graph.layers.layered`: the graph's own, then the layers found in it. `[]` opens
        all of them; None lets the view choose, and the trait then has its choice.
    viewport
        `{"x": ..., "y": ..., "scale": ...}`: the centre, in the picture's own pixels, and their scale.
    direction
        The direction of the data flow, "down" or "right".
    show_constants
        Draw constants and weights as nodes. Otherwise they are badges on the nodes that read them.
    show_tuples
        Draw tuples, and accesses to their fields, as nodes. Otherwise they are marks on edges.
    show_lowering
        On Relax, draw the calls of the runtime, and in a comparison mark operators that became calls of functions as changed.
        Otherwise such an operator is the same box, with the function's name as a detail.
    edges_by_dtype
        Colour edges by data type.
    legend
        Whether the legend is open: op types with their number, each with a switch.
    muted
        Nodes to draw faintly: op types by name ("nn.relu") and other kinds of node ("constant", "param", "tuple").
        A name that is not in the graph mutes nothing.
    height
        In CSS pixels.

    Raises
    ------
    WorkbenchError
        A node, a group or a mark does not exist.

    Examples
    --------
    >>> view = GraphView(w.graph, direction="right")   # doctest: +SKIP
    >>> view.selection = [3]          # doctest: +SKIP
    >>> view.collapsed = []           # doctest: +SKIP
    >>> view.muted = ["cast"]         # doctest: +SKIP
    """

    _view = traitlets.Unicode("graph").tag(**SAVED)
    graph = json_trait(GraphPayload)
    selection = NodeIds().tag(**SAVED)
    hovered = traitlets.Int(-1).tag(sync=True)
    collapsed = CollapsedGroups().tag(**SAVED)
    overlay_state = json_trait(OverlayState)

    def __init__(self, graph: Graph | Workload, **traits: object) -> None:
        self.model = graph_of(graph, "GraphView")
        super().__init__(graph=encode_graph(layered(self.model)), **traits)

    def shown_graphs(self) -> Shown:
        return (self.model,)

    def show(self, nodes: Iterable[int]) -> None:
        """Bring nodes into view, opening the groups they are in."""
        self.send({"type": "show", "ids": list(nodes)})

    def overlay(self, values: Mapping[int, float] | Overlay, title: str = "", unit: str = "") -> None:
        """Colour nodes and kernels by a measured value, with a legend.

        Parameters
        ----------
        values
            By node; or the result of `wb.overlay_of` for this graph's kernels. An empty mapping removes the colours.
        """
        if not isinstance(values, (Mapping, Overlay)):
            raise WorkbenchError(
                f"overlay takes values by node id, or the result of wb.overlay_of, not {type(values).__name__}"
            )
        given = values if isinstance(values, Overlay) else Overlay(title, unit, values)
        shown = bool(given.nodes or given.groups)
        self.overlay_state = (
            {"title": title or given.title, "unit": unit or given.unit, **given.data()} if shown else {}
        )
