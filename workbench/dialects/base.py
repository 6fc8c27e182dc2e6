"""Workloads: programs with their parameters, a name and a dialect."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.analysis.index_limits import index_limits
from workbench.dialects.nesting import drawn_once
from workbench.errors import LoadError, UnknownName, WorkbenchError, instead
from workbench.graph.model import After, Graph
from workbench.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from workbench.dialects.compiler.results import LoopRow

Shapes = Mapping[str, int | Sequence[int]]
"symbolic dimension -> value, or input -> shape"
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
    shapes: Shapes = field(default_factory=dict)
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
            self._graph = runnable(frontend_of(self).graph(self.module, self.name), self)
            self.notes += drawn_once(self._graph)
        return self._graph

    @property
    def limits(self) -> Mapping[str, int]:
        """Return the inputs that hold indices, each with the size of the dimension it indexes; random values stay below it."""
        if self.known_limits is None:
            try:
                self.known_limits = index_limits(self.graph) if self.source is None else self.source.limits
            except Exception:  # noqa: BLE001  a module that cannot be drawn may run all the same
                self.known_limits = {}
        return self.known_limits

    def text(self) -> str:
        """The module as TVM prints it, with types and without the values of constants."""
        return frontend_of(self).text(self.module)

    def sent_limits(self) -> Mapping[str, int] | None:
        """Return `limits` for another process; None where that process finds the same ones when it needs them."""
        return self.known_limits if self.source is None else dict(self.limits)

    def entries(self) -> tuple[str, ...]:
        """Return the names of the functions that `wb.load(..., entry=)` takes, `main` first."""
        whole = self.whole or self
        return frontend_of(whole).entries(whole.module)

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

    Raises WorkbenchError: the source is not a Workload.
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
        after = _services.run_passes(asked, graph, passes)
        if after.tried:
            answers[passes] = after
        return after

    return replace(graph, ask_after=ask_after)


class Frontend(Protocol):
    """Reads, inspects and writes modules."""

    def load(self, source: Any, params: Mapping[str, Any] | None, name: str) -> Workload | None:
        """Return a Workload of a module or a function; None for anything else. Text and files are read by `read`."""
        ...

    def read(self, text: str, is_json: bool, name: str) -> Workload:
        """Return a Workload of printed text, or of JSON that TVM wrote."""
        ...

    def entries(self, module: Any) -> tuple[str, ...]:
        """Return the names of the functions that can be built and run, `main` first."""
        ...

    def with_entry(self, module: Any, entry: str) -> Any:
        """Return the module with that function as `main`, without the dialect's functions that it does not call."""
        ...

    def with_sizes(self, module: Any, shapes: Shapes) -> Any:
        """Return the module for these sizes: Relax checks them and keeps them symbolic, Relay writes them into the types.

        Raises UnknownName: `main` does not have a symbolic dimension or an open input of that name. Raises LoadError:
        a size does not fit.
        """
        ...

    def check_types(self, module: Any) -> None:
        """Refuse a module whose types are too large to be printed. Raises LoadError: they have too many fields."""
        ...

    def text(self, module: Any) -> str:
        """Return the module as TVM prints it."""
        ...

    def flaw(self, module: Any) -> str:
        """Return the reason why TVM's own check finds the module not well-formed; "" if it is well-formed."""
        ...

    def graph(self, module: Any, name: str) -> Graph:
        """Return the neutral graph of the module."""
        ...

    def loops(self, module: Any) -> Sequence[LoopRow]:
        """Return the loops, blocks and buffers of a program that only calls PrimFuncs, a few; none of any other."""
        ...

    def copy(self, module: Any) -> Any:
        """Return the same functions in a module of their own, for code that may change its argument."""
        ...

    def infer_types(self, module: Any) -> Any:
        """Return the module with its types inferred; raises LoadError where they do not fit."""
        ...

    def bind(self, module: Any, params: Mapping[str, Any]) -> Any:
        """Return the module with its parameters as constants, as the compiler makes it before any pass."""
        ...

    def is_module(self, thing: Any) -> bool:
        """Return whether an object is an IRModule."""
        ...

    def same(self, first: Any, second: Any) -> bool:
        """Return whether two modules are structurally equal."""
        ...

    def source(self, module: Any) -> tuple[str, dict[str, np.ndarray]]:
        """Return Python that makes `mod` with TVM alone, and the values of the constants that are parameters of its `main`."""
        ...

    def dump(self, workload: Workload, folder: Path) -> None:
        """Write module and parameters into a folder, for another process of the same dialect."""
        ...

    def restore(self, folder: Path) -> Workload:
        """Read the workload that `dump` wrote."""
        ...


class _Services:
    """The work of the layers above for a workload; each registers its function when it is imported."""

    frontend: Callable[[Workload], Frontend]

    def run_passes(self, workload: Workload, graph: Graph, passes: str) -> After:  # noqa: ARG002
        return After(graph, failure="passes are run by workbench.pipeline, which is not imported", tried=False)


_services = _Services()


def register_services(**functions: Callable[..., Any]) -> None:
    """Register `frontend`, which returns the facet of a workload's dialect, or `run_passes`, which `Graph.ask_after` calls."""
    vars(_services).update(functions)


def frontend_of(workload: Workload) -> Frontend:
    """Return the facet of a workload's dialect that inspects and changes modules.

    Raises LoadError or WorkbenchError: the workload has no module, or this environment's TVM does not have its
    dialect.
    """
    return _services.frontend(workload)


def choose_entry(workload: Workload, entry: str | None = None, shapes: Shapes | None = None) -> Workload:
    """Return the workload with another function as `main` or with other sizes, the same object each time.

    Raises UnknownName: the module has no such function to run; the message lists those that it has. Raises LoadError:
    the sizes do not fit the function; the message lists the names that it leaves open.
    """
    if shapes is not None and not isinstance(shapes, Mapping):
        raise LoadError(f"shapes={shapes!r:.80} has no names; give a dictionary, shapes={{'n': 128}}")
    if entry is None and not shapes:
        return workload
    sizes = {str(name): _size(name, value) for name, value in (shapes or {}).items()}
    # params are part of the key by identity; the choice that has them keeps them alive
    key = (entry, *sorted(sizes.items()), *sorted((name, id(value)) for name, value in workload.params.items()))
    if key not in workload.choices:
        workload.choices[key] = _with_sizes(_with_entry(workload, entry), sizes)
    found = workload.choices[key]
    found.trusted = workload.trusted
    return found


def only_entry(workload: Workload) -> Workload:
    """Return the workload with its only function as `main`; unchanged if it has a `main`, or several others."""
    if _has_main(workload):
        return workload
    names = workload.entries()
    return _with_entry(workload, names[0]) if len(names) == 1 else workload


def of_each_entry(workload: Workload) -> list[Workload]:
    """Return a workload for each function that can be run; the workload itself if it has a `main`, or no module."""
    if isinstance(workload, GraphOnly) or _has_main(workload):
        return [workload]
    made = [_with_entry(workload, name) for name in workload.entries()]
    for each in made if len(made) > 1 else ():
        each.name = f"{workload.name}.{each.entry}"
    return made or [workload]


def _has_main(workload: Workload) -> bool:
    return any(variable.name_hint == "main" for variable in workload.module.get_global_vars())


def refuse_without_main(workload: Workload, error: type[Exception]) -> None:
    """Raise the error if the module has no function to run, with the names that `entry=` accepts."""
    if not _has_main(workload):
        names = workload.entries()
        listed = ", ".join(names)
        raise error(
            f"{workload.name} has no function `main` to run; choose one of its functions with entry=: {listed}"
            if names
            else f"{workload.name} has no function that can be run"
        )


def _with_entry(workload: Workload, entry: str | None) -> Workload:
    whole = workload.whole or workload
    if entry is None or entry == workload.entry:
        return workload
    here = frontend_of(whole)
    names = here.entries(whole.module)
    if entry not in names:
        raise UnknownName("function to run", entry, names)
    made = whole.of(here.with_entry(whole.module, entry))
    takes = {node.op for node in made.graph.nodes if node.kind == "param"}
    made.params = {name: value for name, value in whole.params.items() if name in takes}
    renamed = [] if entry == "main" else [f"`main` is the function {entry} of the module that was loaded"]
    made.notes, made.entry, made.whole = [*whole.notes, *renamed], entry, whole
    made.known_limits = made.source = None
    for name, size in workload.shapes.items() if workload.whole else ():
        with suppress(LoadError, UnknownName):  # a size of another function
            made = _with_sizes(made, {name: _size(name, size)})
    return made


def _with_sizes(workload: Workload, sizes: Mapping[str, int | tuple[int, ...]]) -> Workload:
    if not sizes:
        return workload
    refuse_without_main(workload, LoadError)
    module = frontend_of(workload).with_sizes(workload.module, sizes)
    return replace(
        workload.of(module),
        notes=list(workload.notes),
        edits=workload.edits,
        shapes={**workload.shapes, **sizes},
        known_limits=None,
        source=None,
    )


def _size(name: str, value: int | Sequence[int]) -> int | tuple[int, ...]:
    try:
        sizes = tuple(value) if isinstance(value, Iterable) else (value,)
        whole = tuple(0 if isinstance(size, bool) else index(size) for size in sizes)
    except TypeError:
        whole = (0,)
    if min(whole, default=1) < 1:
        raise LoadError(f"{value!r:.80} is not a size for {name!r}; give whole numbers from 1 on")
    return whole if isinstance(value, Iterable) else whole[0]
