"""Two graphs side by side, with their difference."""

from __future__ import annotations

from collections.abc import Iterable

import traitlets

from workbench.dialects.base import Workload
from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.graph.model import Graph, graph_of
from workbench.measurement.overlay import Overlay
from workbench.widgets.base import SAVED, Shown, View, json_trait
from workbench.widgets.graph.ids import CollapsedSides, SideIds
from workbench.widgets.page_types import SIDES, OverlayState, overlay_state, show_message
from workbench.widgets.payload import DiffPayload, GraphPayload, encode_pair

MODES = ("split", "changed", "overlay")


class CompareView(View):
    """A view of two graphs with synchronised pan, zoom, selection and hover; changes have a colour and a mark.

    Every parameter but the first two is a trait: it can be set later, and clicks change it.

    Parameters
    ----------
    before, after
        Graphs or Workloads.
    titles
        The titles of the two.
    mode
        "split": side by side. "changed": only the changes, with `hops` steps around them. "overlay": in one picture.
    hops
        The number of steps.
    selection, hovered, collapsed
        As in GraphView, with the ids of each side: `{"before": [3], "after": [2]}`. A collapsed group that both sides
        have is one group; `{}` opens all groups, None lets the view choose. `view.drawn` has the two graphs with their layers
        as groups.
    viewport, direction, show_constants, show_tuples, show_lowering, edges_by_dtype, legend, height
        As in GraphView.
    muted
        As in GraphView, and marks: "mark:kept", "mark:changed", "mark:removed", "mark:added", "mark:merged", "mark:split".

    Raises
    ------
    WorkbenchError
        A side or a mark does not exist.
    """

    _view = traitlets.Unicode("compare").tag(**SAVED)
    before = json_trait(GraphPayload)
    after = json_trait(GraphPayload)
    diff = json_trait(DiffPayload)
    titles = traitlets.List(traitlets.Unicode(), default_value=list(SIDES), minlen=2, maxlen=2).tag(**SAVED)
    selection = SideIds().tag(**SAVED)
    hovered = SideIds().tag(sync=True)
    collapsed = CollapsedSides().tag(**SAVED)
    mode = traitlets.Enum(MODES, default_value="split").tag(**SAVED)
    hops = traitlets.Int(1, min=0, help="steps around a change that `changed` mode shows").tag(**SAVED)
    overlay_state = json_trait(OverlayState, "values by node and by group, those of the side after in `after`")

    def __init__(self, before: Graph | Workload, after: Graph | Workload, **traits: object) -> None:
        of_graphs = {name: traits.pop(name) for name in ("selection", "hovered", "collapsed") if name in traits}
        super().__init__(**traits)
        self.compare(graph_of(before, "CompareView"), graph_of(after, "CompareView"))
        with self.hold_sync():
            for name, value in of_graphs.items():
                setattr(self, name, value)

    def compare(self, before: Graph, after: Graph, changes: GraphDiff | None = None) -> None:
        """Show two other graphs."""
        self.changes = changes or diff(before, after)
        self._graphs = (before, after)
        self.drawn, traits = encode_pair(before, after, self.changes)
        with self.hold_sync():
            for name, value in traits.items():
                self.set_trait(name, value)

    def overlay(self, before: Overlay | None = None, after: Overlay | None = None, title: str = "") -> None:
        """Colour kernels by a measured value, on one scale for both sides; no arguments remove the colours.

        Parameters
        ----------
        before, after
            The result of `wb.overlay_of` for each side's kernels: of two configurations, or of the CPU and of CUDA.

        Raises
        ------
        WorkbenchError
            The two are in different units, which one scale cannot show.
        """
        self.overlay_state = overlay_state(before, after, title)

    def show(self, nodes: Iterable[int], side: str = "after") -> None:
        """Bring nodes of one side into view, opening the groups they are in.

        Raises
        ------
        WorkbenchError
            `side` is neither "before" nor "after".
        """
        self.send(show_message(nodes, side))

    def shown_graphs(self) -> Shown:
        return (*self._graphs, self.changes)
