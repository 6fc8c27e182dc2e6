"""What a dialect must offer, and the values it trades in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.graph.model import Graph, Options, depth

if TYPE_CHECKING:
    import numpy as np

    from workbench.dialects.counted import Program


SAFE_DEPTH = 5000
"""Operators in a chain that TVM's recursive passes take. Of chains tried, 5,000 ran and 20,000 ended the process."""


@dataclass(frozen=True)
class Option:
    """One option of a pass."""

    name: str
    type: str
    "`int`, `bool`, `str`, ... as far as the signature or the default tells; `any` otherwise"
    default: Any
    required: bool = False


@dataclass(frozen=True)
class PassInfo:
    """A pass that a pipeline can name."""

    name: str
    dialect: str
    doc: str = ""
    options: tuple[Option, ...] = ()
    opt_level: int | None = None
    "TVM runs the pass in a Sequential only when the context's opt_level is at least this; None if it needs options to tell"
    locked: str = ""
    "why the compiler cannot do without it; empty if it can be switched off"
    ours: bool = False
    "a pass of the workbench rather than of TVM"
    requires: tuple[str, ...] = ()
    "passes that TVM's Sequential runs before it"
    example: Mapping[str, Any] = field(default_factory=dict, hash=False)
    "options to try it with, where it has options that it needs and any module will do for them"
    reason: str = ""
    "why it can't be tried on any module from its name: it needs an object that only Python can give, or it fails in this TVM"


@dataclass(frozen=True)
class Preset:
    """A pipeline worth starting from."""

    name: str
    pipeline: str
    doc: str
    opt_level: int = 3


@dataclass(eq=False)
class Workload:
    """A program with its parameters, a name and a dialect."""

    module: Any
    "the IRModule"
    params: dict[str, Any]
    "parameter name -> array"
    name: str
    dialect: str
    notes: list[str] = field(default_factory=list)
    "what was assumed or repaired while loading"
    edits: str = ""
    "the cuts, kernels and regions asked for since it was loaded, as the text of a Pipeline that makes them again"
    trusted: bool = True
    "False where kernels came with a text or a file; then no pass of `wb.trace` runs them. Set it if you trust its author"
    entry: str = ""
    "the name that `main` had in the module it was chosen from; empty where nothing was chosen"
    shapes: Mapping[str, int | Sequence[int]] = field(default_factory=dict)
    "values of symbolic dimensions for counting and timing, `{'n': 128}`; of Relay inputs with open dimensions their shapes"
    known_limits: Mapping[str, int] | None = field(default=None, repr=False)
    "`limits`, where they are known already"
    source: Workload | None = field(default=None, repr=False)
    "the workload that this one is another module of"
    whole: Workload | None = field(default=None, repr=False)
    "the workload with every function, where `entry` was chosen from it"
    choices: dict[Any, Workload] = field(default_factory=dict, repr=False)
    "what was chosen from it, so that each choice is written for the child process once"
    _graph: Graph | None = field(default=None, repr=False)

    @property
    def graph(self) -> Graph:
        """The neutral picture of the module; made once."""
        if self._graph is None:
            self._graph = dialect_of(self).graph(self.module, self.name)
        return self._graph

    @property
    def limits(self) -> Mapping[str, int]:
        """Return the inputs that hold indices, each with the size of the dimension it indexes; random values stay below it."""
        if self.known_limits is None:
            from workbench.dialects.inputs import index_limits

            try:
                self.known_limits = index_limits(self.graph) if self.source is None else self.source.limits
            except Exception:  # noqa: BLE001  a module that cannot be drawn may run all the same
                self.known_limits = {}
        return self.known_limits

    def text(self) -> str:
        """The module as TVM prints it, with types and without the values of constants."""
        return dialect_of(self).text(self.module)

    def sent_limits(self) -> Mapping[str, int] | None:
        """Return `limits` for another process; None where that process finds the same ones when it needs them."""
        return self.known_limits if self.source is None else dict(self.limits)

    def entries(self) -> tuple[str, ...]:
        """Return the names of the functions that `wb.load(..., entry=)` takes, `main` first."""
        whole = self.whole or self
        return dialect_of(whole).entries(whole.module)

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
            known_limits=self.known_limits,
            source=self.source or self,
            whole=self.whole,
        )

    def __repr__(self) -> str:
        noted = f", {len(self.notes)} in .notes" if self.notes else ""
        return f"Workload({self.name!r}, {self.dialect}, {len(self.params)} parameters{noted})"


class Built(Protocol):
    """A compiled workload, in the child process. A dialect's `build.compiled(workload, target, config)` makes it."""

    tvm: str
    "TVM's version"
    threads: int
    "threads its runtime uses"

    def program(self) -> Program:
        """The calls of one run, in execution order."""
        ...

    def module(self) -> Any:
        """The module whose kernels were compiled, each still a function of its operators."""
        ...

    def calls(self) -> list[dict[str, Any]]:
        """One row a call, in execution order, with its launches: Program.rows."""
        ...

    def forms(self) -> tuple[str, ...]:
        """The forms of code there are, the target's own first."""
        ...

    def code(self, form: str) -> str:
        """The generated code of the whole library in a form."""
        ...

    def source(self) -> str:
        """The generated code in the target's own form."""
        ...

    def export(self, path: Path) -> None:
        """Write the library, for another process or another machine; as `.tar` it is linked where it is loaded."""
        ...

    def load(self, seed: int) -> Running:
        """It on the device of its target, with random inputs."""
        ...


@dataclass(frozen=True)
class KernelTime:
    """What one call of a kernel took."""

    function: str
    samples: list[float]
    "seconds of one run"


class Running(Protocol):
    """A compiled workload with its inputs, on a device."""

    method: str
    "how `run` times"
    kernel_method: str
    "how `kernels` times"

    def run(self, number: int) -> float:
        """Run it so many times, always with the same inputs: the mean seconds of one run."""
        ...

    def outputs(self) -> list[np.ndarray]:
        """What one run gives, tuples flattened."""
        ...

    def kernels(self, budget: float) -> list[KernelTime]:
        """What each call took, in execution order, in about `budget` seconds; calls that run nothing may be left out."""
        ...


class Dialect(Protocol):
    """A TVM IR behind one small door. Modules go in and out as opaque objects."""

    name: str

    def load(self, source: Any, params: Mapping[str, Any] | None, name: str) -> Workload | None:
        """A Workload, or None where `source` is nothing of this dialect. Text and files are read by `read`."""
        ...

    def read(self, text: str, is_json: bool, name: str) -> Workload:
        """A Workload of printed text, or of JSON that TVM wrote."""
        ...

    def entries(self, module: Any) -> tuple[str, ...]:
        """Names of the functions that can be built and run, `main` first."""
        ...

    def entered(self, module: Any, entry: str) -> Any:
        """The module with that function as `main`, without the functions of the dialect that it does not call."""
        ...

    def sized(self, module: Any, shapes: Mapping[str, int | Sequence[int]]) -> Any:
        """Return the module for these sizes: Relax checks them and keeps them symbolic, Relay writes them into the types.

        Raises
        ------
        UnknownName
            `main` does not have a symbolic dimension or an open input of that name.
        LoadError
            A size does not fit.
        """
        ...

    def check_types(self, module: Any) -> None:
        """Refuse a module whose types are too large to be printed.

        Raises
        ------
        LoadError
            They have too many fields.
        """
        ...

    def text(self, module: Any) -> str:
        """The module as TVM prints it."""
        ...

    def graph(self, module: Any, name: str) -> Graph:
        """The neutral picture of the module."""
        ...

    def passes(self) -> tuple[PassInfo, ...]:
        """Every pass that a pipeline can name."""
        ...

    def fusing(self) -> str:
        """The pipeline that makes kernels of any module, for counting them."""
        ...

    def copied(self, module: Any) -> Any:
        """The same functions in a module of their own, for code that may change the module it is given."""
        ...

    def presets(self) -> tuple[Preset, ...]:
        """Pipelines worth starting from, the best one to begin with first."""
        ...

    def toggles(self) -> tuple[str, ...]:
        """The passes of the compiler's own pipeline that a PassContext can switch."""
        ...

    def make(self, name: str, options: Mapping[str, Any]) -> Any:
        """The TVM pass of that name with these options."""
        ...

    def apply(self, compiled: Any, module: Any, opt_level: int) -> Any:
        """Run one pass as TVM's Sequential would at this opt_level, with types inferred after it."""
        ...

    def typed(self, module: Any) -> Any:
        """The module with its types inferred; raises LoadError where they do not fit."""
        ...

    def bind(self, module: Any, params: Mapping[str, Any]) -> Any:
        """The module with its parameters as constants, which is what the compiler makes of it before any pass."""
        ...

    def rewritten(self, callback: Any, module: Any) -> Any:
        """The module with what a DFPatternCallback's pattern matches replaced, in every function of the dialect."""
        ...

    def is_pass(self, thing: Any) -> bool:
        """Whether it is one of TVM's Pass objects."""
        ...

    def is_module(self, thing: Any) -> bool:
        """Whether it is an IRModule."""
        ...

    def runs_at(self, compiled: Any) -> int:
        """The lowest opt_level at which a Sequential runs this pass."""
        ...

    def same(self, first: Any, second: Any) -> bool:
        """Whether two modules are structurally equal."""
        ...

    def dump(self, workload: Workload, folder: Path) -> None:
        """Write module and parameters into a folder, for another process of the same dialect."""
        ...

    def restore(self, folder: Path) -> Workload:
        """Read what `dump` wrote."""
        ...


class Reader(Protocol):
    """Makes TVM's objects of what was received: in this process, or in a child process first."""

    def program(self, text: str, is_json: bool, name: str) -> Workload:
        """A Workload of TVMScript, or of JSON that `tvm.ir.save_json` wrote."""
        ...

    def relay(self, text: str, params: Mapping[str, Any], name: str) -> list[Workload]:
        """A Workload of each module in a Relay text, where TVM has Relay."""
        ...

    def model(self, format: str, source: Any, name: str, inputs: Any) -> Workload:
        """A Workload of another framework's model: a path to its file, or the object that was read from one.

        Parameters
        ----------
        format
            Names its importer: `onnx`, `tflite`.
        """
        ...


def dialect_of(workload: Workload) -> Dialect:
    """The dialect that a workload is written in.

    Raises
    ------
    LoadError
        The workload has no module, so there is nothing for a dialect to do; the message says why, and what to do.
    """
    from workbench.dialects.parts import dialect

    _ = workload.module  # a GraphOnly's own reason says more than that this TVM lacks a dialect
    return dialect(workload.dialect)


def runnable(graph: Graph, dialect: Dialect, module: Any) -> Graph:
    """Return the graph of a module with `ask_after`, which runs a pass on that module."""
    return replace(graph, ask_after=cache(partial(_graph_after, graph, dialect, module)))


def _graph_after(graph: Graph, dialect: Dialect, module: Any, name: str, options: Options) -> Graph | None:
    if depth(graph) > SAFE_DEPTH:
        return None
    try:
        after = dialect.apply(dialect.make(name, dict(options)), dialect.copied(module), 4)
        return dialect.graph(after, graph.name)
    except Exception:  # noqa: BLE001  a pass raises errors of many classes
        return None
