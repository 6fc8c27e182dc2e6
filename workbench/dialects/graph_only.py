"""A workload of which only the picture is known: what a compiler left, or what was saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import LoadError
from workbench.graph.model import Graph


class GraphOnly(Workload):
    """A Workload without a module: its graph can be looked at and compared, passes and builds are refused in a sentence.

    Parameters
    ----------
    graph
        What is known.
    why
        What it was made of and what to load instead, for the refusal.
    notes
        What a person should know of the picture.
    """

    def __init__(self, graph: Graph, why: str, notes: Sequence[str] = ()) -> None:
        self.params: dict[str, Any] = {}
        self.name = graph.name
        self.dialect = graph.dialect
        self.notes = list(notes)
        self.edits = ""
        self._graph = graph
        self.why = why

    @property
    def module(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  there is none to give
        raise LoadError(self.why)

    def text(self) -> str:
        raise LoadError(self.why)

    def __repr__(self) -> str:
        return f"GraphOnly({self.name!r}, {len(self._graph.nodes) if self._graph else 0} nodes)"
