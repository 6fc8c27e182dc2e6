"""Traits that hold ids of nodes and groups. They are checked when they are set, by Python or by a page."""

from __future__ import annotations

import traitlets

from workbench.errors import WorkbenchError
from workbench.graph.layers import layered
from workbench.widgets import page_types
from workbench.widgets.base import View
from workbench.widgets.page_types import SIDES

Sides = dict[str, list[int]]
"ids by side"


class NodeIds(traitlets.List[int]):
    """Ids of nodes of the graph in a view."""

    page_type = list[int]

    def __init__(self) -> None:
        super().__init__(traitlets.Int())

    def validate(self, obj: View, value: object) -> list[int]:
        ids, shown = super().validate(obj, value) or [], obj.shown_graphs()
        return known(ids, len(shown[0].nodes), "node") if shown else ids


class CollapsedGroups(traitlets.TraitType[list[int] | None, list[int] | None]):
    """Ids of groups of the graph in a view; None lets the view choose."""

    page_type = list[int] | None
    info_text = "a list of ids of groups, or None"
    allow_none, default_value = True, None

    def validate(self, obj: View, value: object) -> list[int]:
        if not isinstance(value, (list, tuple)) or any(type(id) is not int for id in value):
            self.error(obj, value)
        shown = obj.shown_graphs()
        return known(list(value), len(layered(shown[0]).groups), "group") if shown else list(value)


class SideIds(traitlets.TraitType[Sides, Sides]):
    """Ids of the two graphs of a comparison."""

    page_type = page_types.Sides
    info_text = "a dict with lists of ids for 'before' and 'after'"

    def make_dynamic_default(self) -> Sides:
        return {side: [] for side in SIDES}

    def validate(self, obj: View, value: object) -> Sides:
        """Refuse other sides and other ids than whole numbers; add a missing side."""
        if not isinstance(value, dict):
            self.error(obj, value)
        return sides_of(str(self.name), value)


class CollapsedSides(traitlets.TraitType[Sides | None, Sides | None]):
    """Ids of groups of the two graphs of a comparison; None lets the view choose."""

    page_type = page_types.Sides | None
    info_text = "a dict with lists of ids for 'before' and 'after', or None"
    allow_none, default_value = True, None

    def validate(self, obj: View, value: object) -> Sides:
        if not isinstance(value, dict):
            self.error(obj, value)
        return sides_of(str(self.name), value)


def sides_of(name: str, value: dict[str, list[int]]) -> Sides:
    """Return ids by side, with a missing side as an empty list."""
    if set(value) - set(SIDES):
        raise WorkbenchError(f"{name} has ids for 'before' and 'after', not for {sorted(set(value) - set(SIDES))}")
    sides = {side: list(value.get(side, ())) for side in SIDES}
    if not all(type(id) is int and id >= 0 for ids in sides.values() for id in ids):
        raise WorkbenchError(f"{name} holds ids, whole numbers from 0; it got {value!r}")
    return sides


def known(ids: list[int], count: int, what: str) -> list[int]:
    """Return ids; refuse those that the graph has no node or group for."""
    for id in ids:
        if not 0 <= id < count:
            there = f"ids run from 0 to {count - 1}" if count else "it has none"
            raise WorkbenchError(f"{what} {id} is not in this graph; {there}")
    return ids
