"""The traits of every view of graphs, which control how a graph is shown."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets.base import View, json_trait
from workbench.widgets.payload import MARKS, GraphPayload


class GraphTraits(View):
    """Base of the views of graphs. The page and these traits are synchronised in both directions."""

    direction = traitlets.Enum(("down", "right"), default_value="down", help="which way the data flows").tag(sync=True)
    show_constants = traitlets.Bool(False, help="constants and weights as nodes, not as badges on what reads them").tag(
        sync=True
    )
    show_tuples = traitlets.Bool(False, help="tuples and what takes them apart as nodes, not as marks on edges").tag(
        sync=True
    )
    edges_by_dtype = traitlets.Bool(False, help="edges coloured by data type").tag(sync=True)
    legend = traitlets.Bool(False, help="whether the legend is open").tag(sync=True)
    muted = traitlets.List(
        traitlets.Unicode(), help='op types drawn faintly ("nn.relu"), other kinds ("constant"), marks ("mark:kept")'
    ).tag(sync=True)
    viewport = traitlets.Dict(help="what is in the middle, x and y, and the scale; empty: the view chooses").tag(
        sync=True
    )

    shown_traits: ClassVar[tuple[str, ...]] = (
        "direction",
        "show_constants",
        "show_tuples",
        "edges_by_dtype",
        "legend",
        "muted",
        "viewport",
    )
    "those of these traits that a saved file keeps"

    @traitlets.validate("muted")
    def _known_marks(self, proposal: dict[str, Any]) -> list[str]:
        names = list(dict.fromkeys(proposal["value"]))
        wrong = [name for name in names if name.startswith("mark:") and name.removeprefix("mark:") not in MARKS]
        if wrong:
            raise WorkbenchError(
                f"{wrong[0]!r} is not a mark; the marks are {', '.join(f'mark:{mark}' for mark in MARKS)}"
            )
        return names


class OneGraph(GraphTraits):
    """Base of the views of one graph."""

    graph = json_trait(GraphPayload)
    selection = traitlets.List(traitlets.Int()).tag(sync=True)
    hovered = traitlets.Int(-1).tag(sync=True)
    # traitlets' own types have no list that may be None
    collapsed: traitlets.TraitType[object, list[int] | None] = traitlets.List(  # pyright: ignore[reportAssignmentType]
        traitlets.Int(), allow_none=True, default_value=None
    ).tag(sync=True)

    @traitlets.validate("selection")
    def _known_nodes(self, proposal: dict[str, Any]) -> list[int]:
        nodes, shown = list(proposal["value"]), self._shown_graphs()
        return known(nodes, len(shown[0].nodes), "node") if shown else nodes

    @traitlets.validate("collapsed")
    def _known_groups(self, proposal: dict[str, Any]) -> list[int] | None:
        ids, shown = proposal["value"], self._shown_graphs()
        return known(list(ids), len(shown[0].layered.groups), "group") if shown and ids is not None else ids


def known(ids: list[int], count: int, what: str) -> list[int]:
    """Return ids; refuse those that the graph has no node or group for.

    Raises
    ------
    WorkbenchError
        An id is not in the graph.
    """
    for id in ids:
        if not 0 <= id < count:
            there = f"ids run from 0 to {count - 1}" if count else "it has none"
            raise WorkbenchError(f"{what} {id} is not in this graph; {there}")
    return ids
