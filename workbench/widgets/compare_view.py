"""Two graphs side by side, with what changed between them."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.dialects.base import Workload
from workbench.graph.diff import GraphDiff, diff
from workbench.graph.model import Graph
from workbench.widgets.bundle import Shown, View
from workbench.widgets.payload import encode_diff, encode_graph


class Comparison(View):
    """What every view of two graphs has."""

    before = traitlets.Dict().tag(sync=True)
    after = traitlets.Dict().tag(sync=True)
    diff = traitlets.Dict().tag(sync=True)
    titles = traitlets.List(traitlets.Unicode(), default_value=["before", "after"]).tag(sync=True)
    selection = traitlets.Dict(default_value={"before": [], "after": []}).tag(sync=True)
    mode = traitlets.Enum(("split", "changed", "overlay"), default_value="split").tag(sync=True)
    saved_traits = ("before", "after", "diff", "titles", "selection", "mode")

    def _put(self, before: Graph, after: Graph, changes: GraphDiff) -> None:
        """Show two graphs and what changed; nothing is selected then."""
        self.before = encode_graph(before)
        self.after = encode_graph(after)
        self.diff = encode_diff(changes, before, after)
        self.selection = {"before": [], "after": []}


class CompareView(Comparison):
    """Shows two graphs with synchronised pan, zoom, selection and hover; what changed has a colour and a mark."""

    _view = traitlets.Unicode("compare").tag(sync=True)

    def __init__(self, before: Graph | Workload, after: Graph | Workload, **traits: Any) -> None:
        super().__init__(**traits)
        self.compare(_graph(before), _graph(after))

    def compare(self, before: Graph, after: Graph, changes: GraphDiff | None = None) -> None:
        """Show two other graphs."""
        self.changes = changes or diff(before, after)
        self._graphs = (before, after)
        with self.hold_sync():
            self._put(before, after, self.changes)

    def _shown_graphs(self) -> Shown:
        return (*self._graphs, self.changes)


def _graph(thing: Graph | Workload) -> Graph:
    return thing.graph() if isinstance(thing, Workload) else thing
