"""The typed interface of a dialect: `dialect_of(workload)` returns a Dialect.

A dialect's package (`relay`, `relax`) has a module for each facet, which is imported, with its TVM, on first use. What the dialects
share is a base class (`catalog.Passes`, `editable.Editable`, the compiler's); pyright checks modules that share nothing against
Protocols. TVM's own objects go in and out as `Any`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from workbench.analysis.patterns import Pattern
    from workbench.analysis.patterns.program import Program as PatternProgram
    from workbench.analysis.patterns.report import PatternReport
    from workbench.dialects.base import Frontend, Workload
    from workbench.dialects.catalog import Passes
    from workbench.dialects.compiler.built import Compiler
    from workbench.dialects.editable import Editable
    from workbench.graph.model import Graph


class Dialect(Protocol):
    """A TVM IR. Modules go in and out as opaque objects."""

    name: str

    @property
    def frontend(self) -> Frontend:
        """The facet that reads, inspects and writes modules."""
        ...

    @property
    def passes(self) -> Passes:
        """The passes that a pipeline can name."""
        ...

    @property
    def compiler(self) -> Compiler:
        """The facet that builds and runs. In the child process only: a build can end the process it runs in."""
        ...

    @property
    def patterns(self) -> Patterns:
        """The dialect's dataflow patterns."""
        ...

    def editable(self, module: Any) -> Editable:
        """Return a module with the changes that the passes of `edits.py` are made of."""
        ...

    @property
    def importers(self) -> Mapping[str, Importer]:
        """The converters of other frameworks' models: `onnx`, `tflite`, `torch`, and for Relax `nn`."""
        ...

    def code(self, tuned: bool) -> CodeText:
        """Return the Python of passes and builds, or of builds with a database of schedules. It needs no TVM."""
        ...


class Importer(Protocol):
    """Converts a model of another framework."""

    def __call__(self, model: Any, name: str, inputs: Any) -> Workload:
        """Return a Workload of the model; `inputs` are shapes that it leaves open, or example arrays."""
        ...


AskChild = Callable[[str], Sequence[Mapping[str, object]]]


class Patterns(Protocol):
    """The dialect's dataflow patterns."""

    def matcher(self, workload: Workload, ask_child: AskChild) -> Matcher:
        """Return a matcher that asks TVM, for every function of the workload's module.

        `ask_child`: runs the job `match_relay` with a pattern as TVM's JSON; raises MeasureError without an answer.
        """
        ...

    def read(self, pattern: object) -> Pattern:
        """Return the Pattern that one of TVM's pattern objects describes."""
        ...

    def outlining(self, pattern: object) -> Any:
        """Return TVM's pass that puts each match into a composite function."""
        ...


class Matcher(Protocol):
    """Finds the matches of patterns in one workload or graph."""

    @property
    def graph(self) -> Graph:
        """The graph whose node ids appear in matches."""
        ...

    @property
    def programs(self) -> Sequence[PatternProgram]:
        """The expressions of each function."""
        ...

    def match(self, pattern: object) -> PatternReport:
        """Find where a pattern matches, and where it nearly does."""
        ...


@dataclass(frozen=True)
class ScriptText:
    """Python text of a dialect for a script that runs a program."""

    imports: str
    bind: str
    "the statement that makes the parameters in `constants` constants of `mod`"
    outputs: str
    "the function that returns the outputs of a module, built under a PassContext"
    check: str
    "the statements that check that `changed` is well-formed"


@dataclass(frozen=True)
class CodeText:
    """Python text of a dialect, from which `Trace.code` and `Workbench.code` are composed. It needs no TVM."""

    imports: str
    ours: Collection[str]
    "passes that TVM does not have"
    passes: str
    "the module that has them"
    run: str
    "the function that runs one pass"
    typed: str
    "the expression of the module with its types inferred"
    bind: str
    "the function that turns the parameters into constants"
    build: str
    "the functions of a build"
    constructor: Callable[[str], str]
    "returns the expression that makes one of TVM's passes"
    target: Callable[[str], str]
    "returns the expression of a target"
    script: ScriptText
    config: Mapping[str, Any] = field(default_factory=dict)
    "PassContext config of the build"


class Converter(Protocol):
    """Makes TVM's objects from received text and files: in this process, or in a child process first."""

    def program(self, text: str, is_json: bool, name: str) -> Workload:
        """Return a Workload of TVMScript, or of JSON that `tvm.ir.save_json` wrote."""
        ...

    def relay(self, text: str, params: Mapping[str, Any], name: str) -> list[Workload]:
        """Return a Workload of each module in a Relay text, if TVM has Relay."""
        ...

    def model(self, format: str, source: Any, name: str, inputs: Any) -> Workload:
        """Return a Workload of another framework's model, given the path of its file or the object read from it.

        `format`: the name of its importer: `onnx`, `tflite`.
        """
        ...


@dataclass(frozen=True)
class Source:
    """Something to load, and the arguments passed with it."""

    given: Any
    path: Path | None
    "the file that it names, if any"
    params: Mapping[str, Any] | None
    name: str | None
    inputs: Any
    "shapes, or example arrays, of a model's inputs: by name or in order"
    converter: Converter


class Reader(Protocol):
    """Reads one kind of source; `readers.READERS` lists the readers in the order in which they are tried."""

    def accepts(self, source: Source) -> bool:
        """Return whether `read` takes the source."""
        ...

    def read(self, source: Source) -> Workload:
        """Return a Workload of the source; raises LoadError if it is damaged."""
        ...
