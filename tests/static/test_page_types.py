"""The types of messages and traits: the same in Python, in TypeScript, and in the widgets' traits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import traitlets
from anywidget import AnyWidget
from widgets.conforming import misfits

import workbench as wb
from workbench.widgets import page_types
from workbench.widgets.base import json_trait
from workbench.widgets.graph.ids import CollapsedGroups, CollapsedSides, NodeIds, SideIds
from workbench.widgets.memory.view import PlanNodes

ROOT = Path(__file__).parents[2]
WIDGETS = (
    "GraphView",
    "CompareView",
    "CompilerView",
    "PassStepper",
    "FusionInspector",
    "PatternInspector",
    "MemoryView",
    "Predict",
    "TunePanel",
    "Workbench",
)
PLAIN: dict[type, Any] = {
    traitlets.Unicode: str,
    traitlets.Int: int,
    traitlets.Bool: bool,
    NodeIds: list[int],
    SideIds: page_types.Sides,
    PlanNodes: list[int] | page_types.Sides,
    CollapsedGroups: list[int] | None,
    CollapsedSides: page_types.Sides | None,
}


def test_the_generated_typescript_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "js/write_messages.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_synchronized_trait_has_its_declared_type() -> None:
    declared = get_type_hints(page_types.Traits)
    traits = [
        (f"{widget}.{name}", declared.get(name), trait)
        for widget in WIDGETS
        for name, trait in getattr(wb, widget).class_traits(sync=True).items()
        if not hasattr(AnyWidget, name)
    ]
    assert [at for at, kind, trait in traits if not _has_type(trait, kind)] == []
    assert {at.split(".")[1] for at, _, _ in traits} == set(declared)


def test_a_trait_of_another_type_is_found() -> None:
    assert _has_type(traitlets.Int(), int)
    assert _has_type(SideIds(), list[int] | page_types.Sides)
    assert not _has_type(traitlets.Int(), None)
    assert not _has_type(traitlets.Int(), str | None)
    assert not _has_type(CollapsedSides(), page_types.Sides)
    assert not _has_type(traitlets.Enum(("a", "b")), Literal["a"])
    assert not _has_type(json_trait(page_types.State), page_types.Status)


def test_at_most_one_class_of_ours_is_above_a_widget() -> None:
    """A widget reads as one class: its base, and the objects that it holds."""
    ours = {name: [each for each in getattr(wb, name).__mro__[1:] if _is_ours(each)] for name in WIDGETS}
    assert [name for name, above in ours.items() if len(above) != 1] == []


def _has_type(trait: traitlets.TraitType[Any, Any], declared: Any) -> bool:
    """Return whether each value of a trait is of the declared type, which may be that of other widgets' traits too."""
    if isinstance(trait, traitlets.Enum):
        return all(misfits(value, declared) == [] for value in trait.values)
    if isinstance(trait, traitlets.List) and not isinstance(trait, NodeIds) and "json" not in trait.metadata:
        return declared == list[PLAIN[type(trait._trait)]]
    kind = trait.metadata.get("json", PLAIN.get(type(trait)))
    return kind is not None and _members(kind) <= _members(declared)


def _members(kind: Any) -> set[Any]:
    return set(get_args(kind)) if get_origin(kind) in (Union, UnionType) else {kind}


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("workbench.")
