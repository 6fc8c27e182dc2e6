"""A workload without a module: a text that makes none here, what a compiler left, or what was saved."""

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
        What it was made of and what to do instead, for the refusal.
    notes
        What a person should know of the picture.
    text
        The text it was read from, as far as it was repaired; empty where it was read from none.
    metadata
        Values of the text's constants, as JSON of TVM's own.
    """

    def __init__(self, graph: Graph, why: str, notes: Sequence[str] = (), text: str = "", metadata: str = "") -> None:
        self.params: dict[str, Any] = {}
        self.name = graph.name
        self.dialect = graph.dialect
        self.notes = list(notes)
        self.edits = self.entry = ""
        self.shapes = {}
        self.whole = None
        self.choices = {}
        self._graph = graph
        self.why = why
        self.said = text
        self.metadata = metadata

    @property
    def module(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  there is none to give
        raise LoadError(self.why)

    def text(self) -> str:
        """The text it was read from; raises LoadError where there was none."""
        if not self.said:
            raise LoadError(self.why)
        return self.said

    def __repr__(self) -> str:
        what = "text" if self.said else "picture"
        noted = f", {len(self.notes)} in .notes" if self.notes else ""
        return f"Workload({self.name!r}, {self.dialect}, {what} only{noted})"
