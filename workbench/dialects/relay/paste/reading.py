"""Readings of a paste, one for each module in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.dialects.base import GraphOnly
from workbench.dialects.nesting import drawn_once
from workbench.dialects.relay import operators
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.parser.ast import Module
from workbench.dialects.relay.paste.characters import COLOURS, Repaired, repaired
from workbench.dialects.relay.paste.modules import Program, listed, programs, written
from workbench.dialects.relay.paste.pieces import Piece
from workbench.dialects.relay.paste.salvage import Salvage
from workbench.errors import MOST_NAMES, LoadError, ParseError, UnknownOperator
from workbench.graph.model import Graph
from workbench.wording import counted

_BEGINS = re.compile(r"\s*(?:$|#\[|/\*|def\b|fn\b|type\b|extern\b)")
"the beginning of a text that may be in the form that TVM prints"
METADATA = "#[metadata]"
EXPECTED = "Relay somewhere in the text: `def @name(...)`, `fn (%x...)` or `%0 = ...`"


@dataclass
class Reading:
    """One module out of a text."""

    text: str
    "its text; it reads without repairs"
    module: Module
    metadata: str = ""
    "the values of constants, as TVM's JSON, if the paste has them"
    repairs: list[str] = field(default_factory=list)
    "differences from the form that TVM prints, and assumptions; a sentence each"
    notes: list[str] = field(default_factory=list)
    "other useful information"

    @property
    def whole(self) -> str:
        """Return the text with the metadata, which a paste may have elsewhere."""
        if not self.metadata or METADATA in self.text:
            return self.text
        return f"{self.text}\n{METADATA}\n{self.metadata}"

    @property
    def constants(self) -> int:
        """Return the number of tensor constants that the text names without their values."""
        return 0 if self.metadata else len({c.text for c in self.module.constants if "[relay.Constant]" in c.text})

    @property
    def complete(self) -> bool:
        """Return whether the text is as TVM prints it, with all that TVM's own parser needs."""
        return not self.repairs and not self.constants

    def graph(self, name: str, pattern_of: Callable[[str, bool], int | None] = operators.pattern_of) -> Graph:
        """Return the neutral graph, without TVM."""
        return build_graph(self.module, name, pattern_of)


def read_all(text: str) -> list[Reading]:
    """Return every module of a text, at least one.

    Raises
    ------
    ParseError
        Gives the line and column in the original text, the expected token, and the snippet.
    """
    if not _BEGINS.match(text):
        return _salvaged(text)
    try:
        module = parse(text)
    except ParseError:
        return _salvaged(text)
    if not module.functions:
        raise LoadError("the text holds no function; give text with a `def @main(...)` in it")
    _, mark, metadata = text.partition(METADATA)
    return [Reading(text, module, metadata if mark else "")]


def _salvaged(text: str) -> list[Reading]:
    plain = repaired(text)
    try:
        found = programs(Salvage(plain.text).pieces(), plain.text)
    except ParseError as error:
        raise ParseError(error.expected, text, plain.original(error.offset)) from None
    if not found:
        raise ParseError(EXPECTED, text, len(text) - len(text.lstrip()))
    return [_reading(program, plain) for program in found]


def _reading(program: Program, plain: Repaired) -> Reading:
    repairs = list(dict.fromkeys(note for piece in program.pieces for note in _characters(piece, plain)))
    said = written(program, plain.text, repairs)
    return Reading(said, parse(said), program.metadata, repairs)


def _characters(piece: Piece, plain: Repaired) -> list[str]:
    return plain.notes(piece.start, piece.end)


def lacking(reading: Reading, graph: Graph) -> list[str]:
    """Return the unknowns in the graph of a text, if there is no module to derive them from."""
    notes: list[str] = []
    if reading.constants:
        notes.append(f"the text names {counted(reading.constants, 'tensor constant')} without values")
    untyped = [constant.text for constant in reading.module.constants if not constant.type]
    if untyped:
        notes.append(f"no type is stated for {listed(untyped, mark='')}")
    nodes = graph.ops
    silent = sum(not node.type for node in nodes)
    if silent:
        notes.append(
            f"the text states no type for {silent} of {counted(len(nodes), 'operator')}; what is said of fusion may differ from what TVM does, which knows all types"
        )
    unknown = sorted({node.op for node in nodes} - operators.OPERATORS)
    refusals = [UnknownOperator(op, operators.OPERATORS, reading.text, "TVM 0.17") for op in unknown[:MOST_NAMES]]
    return notes + [str(refusal) for refusal in refusals if refusal.near]


def text_only(reading: Reading, name: str, reason: str) -> GraphOnly:
    """Return a Workload with the text of a Relay module and its graph, but no module, for this reason."""
    graph = reading.graph(name)
    return GraphOnly(
        graph,
        f"{name!r} has a graph and no module: {reason.rstrip('.')}. GraphView, CompareView and FusionInspector show it as it is",
        [*reading.repairs, *lacking(reading, graph), *drawn_once(graph)],
        reading.text,
        reading.metadata,
    )


_RELAY = re.compile(
    r"^[ \t]*\#\[version|\bdef\s+@[\w.]+[^\S\n]*(?:/\*(?:(?!/\*|\*/).)*\*/\s*)?[(\[]|\bfn\s*(?:\[\w+\]\s*)?\(\s*%|%\d+\s*=|\bfree_var\s+%|\blet\s+%",
    re.MULTILINE,
)
_SCRIPT = re.compile(r"@(?:I|tvm\.script)\.ir_module|@R\.function|@T\.prim_func|from tvm\.script")


def is_relay(text: str) -> bool:
    """Return whether a text has something of Relay's grammar in it, and nothing of TVMScript."""
    text = COLOURS.sub("", text)  # they are in front of the words that decide
    return _RELAY.search(text) is not None and not is_script(text)


def is_script(text: str) -> bool:
    """Return whether a text has the marks of TVMScript."""
    return _SCRIPT.search(text) is not None
