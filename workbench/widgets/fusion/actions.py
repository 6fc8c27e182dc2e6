"""The actions of the FusionInspector's page: each button, key and field as a call of the widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.errors import UnknownName, WorkbenchError
from workbench.pipeline import fusion_edits
from workbench.widgets.fusion.card import cut_step
from workbench.widgets.messages import Act, Set, whole

if TYPE_CHECKING:
    from workbench.widgets.fusion.inspector import FusionInspector


def act(view: FusionInspector, message: Act) -> None:
    """Do the action of a button or a key.

    Raises
    ------
    WorkbenchError
        There is no such action, or it cannot be done; the message has the reason.
    """
    if message.what not in _ACTIONS:
        raise UnknownName("action", message.what, _ACTIONS)
    _ACTIONS[message.what](view, message.arg)


def set_field(view: FusionInspector, message: Set) -> None:
    """Take the new value of a field.

    Raises
    ------
    WorkbenchError
        There is no such field, or it does not take the value.
    """
    _set(view, message.name, message.value)


def _set(view: FusionInspector, name: str, value: str) -> None:
    if name not in _FIELDS:
        raise UnknownName("field", name, _FIELDS)
    _FIELDS[name](view, value)


def _setting(name: str) -> Callable[[FusionInspector, str], None]:
    def set_number(view: FusionInspector, value: str) -> None:
        unset = value == "" and name == "max_function_args"
        view.settings = {**view.settings, name: None if unset else _whole(name, value)}

    return set_number


def _target(view: FusionInspector, value: str) -> None:
    view.settings = {**view.settings, "target": "" if value == "llvm" else value}


def _least(view: FusionInspector, value: str) -> None:
    view.min_branches = _whole("min_branches", value)


def _filter(name: str) -> Callable[[FusionInspector, str], None]:
    def set_filter(view: FusionInspector, value: str) -> None:
        with view.hold_trait_notifications():
            view.frame_filter = {**view.frame_filter, name: value == "true" if name == "not_fused" else value}
            view.frame = 0

    return set_filter


def _whole(name: str, value: str) -> int:
    number = whole(value)
    if number is None:
        raise WorkbenchError(f"{name} is {value[:40]!r}; give a whole number")
    return number


def _frame(view: FusionInspector, to: int) -> None:
    count = len(view.decisions)
    if 0 <= to < count:
        view.frame = to


def _cut(view: FusionInspector, _: str) -> None:
    view.edit(cut_step(view.fused, list(view.selection)).text)


def _drop(view: FusionInspector, arg: str) -> None:
    place, listed = _whole("edit", arg), list(view.edits)
    if place >= len(listed):
        raise WorkbenchError(f"there is no edit {place}; there are {len(listed)}")
    # later edits have other node ids now; the names of the operators show whether they still fit
    view.edits = listed[:place] + listed[place + 1 :]


def _change(view: FusionInspector, arg: str) -> None:
    kind, _, value = arg.partition("=")
    if kind == "cut":
        node = _whole("node", value)
        if node >= len(view.fused.graph.nodes):
            raise WorkbenchError(f"node {node} is not in this graph")
        edges = [(node, user, index) for user, index in view.fused.graph.consumers[node]]
        view.edit(fusion_edits.cut_step(view.fused.graph, edges).text)
    else:
        _set(view, kind, value)


def _region(view: FusionInspector, _: str) -> None:
    if len(view.selection) != 1:
        raise WorkbenchError("a region begins at one node; select one")
    with view.hold_trait_notifications():
        view.region, view.outward = view.selection[0], 0


def _outward(view: FusionInspector, _: str) -> None:
    if view.region < 0:
        return _region(view, "")
    if view.outward + 1 < len(view.fused.nest(view.region)):
        view.outward += 1
    return None


def _select_region(view: FusionInspector, _: str) -> None:
    nest = view.fused.nest(view.region) if view.region >= 0 else []
    if nest:
        view.selection = list(nest[min(view.outward, len(nest) - 1)].nodes)


def _close(view: FusionInspector, _: str) -> None:
    view.region = -1


def _before(view: FusionInspector, arg: str) -> None:
    view.before = arg if not view.before else f"{view.before},{arg}"


def _raw(view: FusionInspector, _: str) -> None:
    view.before = ""


def _clear(view: FusionInspector, _: str) -> None:
    view.edits = []


_FIELDS: dict[str, Callable[[FusionInspector, str], None]] = {
    **{name: _setting(name) for name in ("opt_level", "max_depth", "max_function_args")},
    "target": _target,
    "min_branches": _least,
    "frame": lambda view, value: _frame(view, _whole("frame", value)),
    **{name: _filter(name) for name in ("reason", "op", "not_fused")},
}
_ACTIONS: dict[str, Callable[[FusionInspector, str], object]] = {
    "cut": _cut,
    "force": lambda view, _: view.force(view.selection),
    "outline": lambda view, arg: view.outline(view.selection, arg),
    "measure": lambda view, _: view.measure(),
    "try": lambda view, _: view.try_boundary(),
    "undo": lambda view, _: view.undo(),
    "redo": lambda view, _: view.redo(),
    "clear": _clear,
    "drop": _drop,
    "change": _change,
    "before": _before,
    "raw": _raw,
    "region": _region,
    "outward": _outward,
    "select_region": _select_region,
    "unregion": _close,
    "branch": lambda view, arg: view.choose_branch(_whole("branch", arg)),
    "back": lambda view, _: _frame(view, view.frame - 1),
    "on": lambda view, _: _frame(view, view.frame + 1),
}
