"""Workloads: programs with their parameters, a name and a dialect."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.dialects import registry
from workbench.dialects.nesting import drawn_once
from workbench.errors import LoadError, WorkbenchError, instead
from workbench.graph.model import After, Graph
from workbench.wording import counted

SAFE_DEPTH = 5000
"""Operators in a chain that TVM's recursive passes take. Of chains tried, 5,000 ran and 20,000 ended the process."""


@dataclass(eq=False)
class Workload:
    """A program with its parameters, a name and a dialect.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { exp(%x) }", name="one")
    >>> w.name, w.dialect, len(w.graph.ops)
    ('one', 'relay', 1)
    """

    module: Any
    "the IRModule"
    params: dict[str, Any]
    "parameter name -> array"
    name: str
    dialect: str
    notes: list[str] = field(default_factory=list)
    "assumptions and repairs made while loading"
    edits: str = ""
    "the cuts, kernels and regions requested since it was loaded, as the text of a Pipeline that repeats them"
    trusted: bool = True
    """Whether its kernels may be compiled and run (`trust.py`). True for the user's own objects and for programs of operators alone,
    whose kernels TVM writes. Set it if you trust the author of the others. No call in the package leaves it to the default."""
    entry: str = ""
    "the name that `main` had in the module it was chosen from; empty where nothing was chosen"
    shapes: Mapping[str, int | Sequence[int]] = field(default_factory=dict)
    "values of symbolic dimensions for counting and timing, `{'n': 128}`; for Relay inputs with open dimensions, their shapes"
    inputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    "arrays that runs get as inputs, a field of a tuple as `t.0`; `inputs=` of a call sets them, and other inputs are random"
    known_limits: Mapping[str, int] | None = field(default=None, repr=False)
    "`limits`, if already known"
    source: Workload | None = field(default=None, repr=False)
    "the workload that this one was made from, with another module"
    whole: Workload | None = field(default=None, repr=False)
    "the workload with every function, if `entry` was chosen from it"
    choices: dict[Any, Workload] = field(default_factory=dict, repr=False)
    "workloads chosen from it, so that each is written for the child process once"
    sample: str = field(default="", repr=False)
    "the sample that it is, as `sample:bert{layers=2}`; empty for another program"
    _graph: Graph | None = field(default=None, repr=False)

    @property
    def graph(self) -> Graph:
        """The neutral graph of the module; built once."""
        if self._graph is None:
            self._graph = runnable(registry.dialect_of(self).frontend.graph(self.module, self.name), self)
            self.notes += drawn_once(self._graph)
        return self._graph

    @property
    def limits(self) -> Mapping[str, int]:
        """Return the inputs that hold indices, each with the size of the dimension it indexes; random values stay below it."""
        if self.known_limits is None:
            from workbench.dialects.compiler.inputs import index_limits

            try:
                self.known_limits = index_limits(self.graph) if self.source is None else self.source.limits
            except Exception:  # noqa: BLE001  a module that cannot be drawn may run all the same
                self.known_limits = {}
        return self.known_limits

    def text(self) -> str:
        """The module as TVM prints it, with types and without the values of constants."""
        return registry.dialect_of(self).frontend.text(self.module)

    def sent_limits(self) -> Mapping[str, int] | None:
        """Return `limits` for another process; None where that process finds the same ones when it needs them."""
        return self.known_limits if self.source is None else dict(self.limits)

    def entries(self) -> tuple[str, ...]:
        """Return the names of the functions that `wb.load(..., entry=)` takes, `main` first."""
        whole = self.whole or self
        return registry.dialect_of(whole).frontend.entries(whole.module)

    def of(self, module: Any) -> Workload:
        """Return the same program as another module, with the parameters and sizes of this one."""
        return Workload(
            module,
            self.params,
            self.name,
            self.dialect,
            trusted=self.trusted,
            entry=self.entry,
            shapes=self.shapes,
            inputs=self.inputs,
            known_limits=self.known_limits,
            source=self.source or self,
            whole=self.whole,
        )

    def __repr__(self) -> str:
        noted = f", {len(self.notes)} in .notes" if self.notes else ""
        return f"Workload({self.name!r}, {self.dialect}, {counted(len(self.params), 'parameter')}{noted})"


def workload_of(source: object, asked: str) -> Workload:
    """Return the Workload; `asked` is the function that the user called.

    Raises
    ------
    WorkbenchError
        The source is not a Workload.
    """
    if not isinstance(source, Workload):
        raise WorkbenchError(f"{asked} takes a Workload, not {type(source).__name__}; {instead(source)}")
    return source


class GraphOnly(Workload):
    """A Workload without a module: its graph can be viewed and compared; passes and builds raise an error.

    Parameters
    ----------
    graph
        The known graph.
    why
        Its origin and what to do instead, for the error message.
    notes
        Notes for the user about the graph.
    text
        The text it was read from, after repairs; empty if it was not read from text.
    metadata
        Values of the text's constants, as TVM's JSON.
    """

    def __init__(self, graph: Graph, why: str, notes: Sequence[str] = (), text: str = "", metadata: str = "") -> None:
        self.params: dict[str, Any] = {}
        self.name = graph.name
        self.dialect = graph.dialect
        self.notes = list(notes)
        self.edits = self.entry = self.sample = ""
        self.shapes = {}
        self.inputs = {}
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
        """The text it was read from; raises LoadError if there is none."""
        if not self.said:
            raise LoadError(self.why)
        return self.said

    def __repr__(self) -> str:
        what = "text" if self.said else "picture"
        noted = f", {len(self.notes)} in .notes" if self.notes else ""
        return f"Workload({self.name!r}, {self.dialect}, {what} only{noted})"


def runnable(graph: Graph, workload: Workload) -> Graph:
    """Return the graph of a workload with `ask_after`, which runs passes on the module; answers are kept, refusals are not."""
    given = weakref.ref(workload)  # the workload holds the graph
    own = Workload(workload.module, workload.params, workload.name, workload.dialect, trusted=workload.trusted)
    bare = replace(own, params={})  # the parameters are not written to the child
    answers: dict[str, After] = {}

    def ask_after(passes: str) -> After:
        if passes in answers:
            return answers[passes]
        asked, owner = own if "BindParams" in passes else bare, given()
        if owner is not None:
            own.params, asked.trusted = owner.params, owner.trusted
        after = registry.run_passes(asked, graph, passes)
        if after.tried:
            answers[passes] = after
        return after

    return replace(graph, ask_after=ask_after)
