"""Readings of a paste, one for each module in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from workbench.dialects.base import GraphOnly
from workbench.dialects.nesting import drawn_once
from workbench.dialects.relay import operators
from workbench.dialects.relay.graph import build_graph
from workbench.dialects.relay.parser import parse
from workbench.dialects.relay.parser.ast import Module
from workbench.dialects.relay.parser.tokens import tokenize
from workbench.dialects.relay.paste.characters import COLOURS, Repaired, repaired
from workbench.dialects.relay.paste.free import stated_types
from workbench.dialects.relay.paste.salvage import Piece, Salvage
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

    Raises ParseError: gives the line and column in the original text, the expected token, and the snippet.
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
    found = (plain.notes(piece.start, piece.end) for piece in program.pieces)
    repairs = list(dict.fromkeys(note for notes in found for note in notes))
    said = written(program, plain.text, repairs)
    return Reading(said, parse(said), program.metadata, repairs)


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


@dataclass
class Program:
    """Pieces that belong together."""

    pieces: list[Piece] = field(default_factory=list)
    metadata: str = ""
    "the JSON after `#[metadata]`, which holds the values of constants"

    defines: set[str] = field(default_factory=set)
    "names of its functions"
    calls: set[str] = field(default_factory=set)
    "global names inside them"

    def takes(self, piece: Piece, between: str) -> bool:
        """Return whether a later piece belongs to these: a function of another name, adjacent, calling or called."""
        if not self.pieces or piece.kind not in ("def", "type") or self.pieces[-1].kind not in ("def", "type"):
            return not self.pieces
        if piece.name in self.defines:
            return False
        return not between.strip() or piece.name in self.calls or not piece.calls.isdisjoint(self.defines)

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.defines.add(piece.name)
        self.calls |= piece.calls


def programs(pieces: Iterable[Piece], text: str) -> list[Program]:
    """Return the modules that the pieces of a text make, in order."""
    found = [Program()]
    for piece in pieces:
        if piece.kind == "metadata":
            found[-1].metadata = piece.name
        elif piece.kind == "version" and found[-1].pieces:
            found.append(Program())
        elif piece.kind != "version":
            before = found[-1].pieces[-1].end if found[-1].pieces else piece.start
            if not found[-1].takes(piece, text[before : piece.start]):
                found.append(Program())
            found[-1].add(piece)
    return [program for program in found if any(piece.kind != "type" for piece in program.pieces)]


def written(program: Program, text: str, notes: list[str]) -> str:
    """Return the module's text; additions to the paste are listed in the notes."""
    parts = [
        _run(piece, text, notes) if piece.kind == "run" else text[piece.start : piece.end] for piece in program.pieces
    ]
    return _in_lines("\n".join(parts) + "\n", notes)


def _run(piece: Piece, text: str, notes: list[str]) -> str:
    types = stated_types(piece.free, piece.values)
    params = ", ".join(f"%{v.text}: {types[v]}" if types.get(v) else f"%{v.text}" for v in piece.free)
    lines = [
        f"def @main({params}) {{",
        *_indented(_edited(piece, text)),
        *([f"  {piece.result}"] if piece.result else ()),
        "}",
    ]
    notes.append("lines that stood alone became the body of @main")
    notes.extend(dict.fromkeys(edit.said for edit in piece.edits))
    if piece.free:
        notes.append(f"what nothing binds became parameters: {listed(v.text for v in piece.free)}")
    derived = [f"%{v.text}: {types[v]}" for v in piece.free if types.get(v) and not v.type]
    if derived:
        notes.append(f"types of parameters follow from where they are used: {'; '.join(derived)}")
    if piece.result:
        what = "every value that nothing uses" if "," in piece.result else "the last value"
        notes.append(f"no result is given, so {what} is taken as the result: {piece.result}")
    return "\n".join(lines)


def _edited(piece: Piece, text: str) -> str:
    parts, at = [], piece.start
    for edit in sorted(piece.edits, key=attrgetter("start", "end")):
        parts += (text[at : edit.start], edit.put)
        at = edit.end
    return "".join([*parts, text[at : piece.end]])


def _indented(body: str) -> Iterator[str]:
    """Yield the lines, the first indented as the others."""
    lines = [line.rstrip() for line in body.strip("\n").split("\n") if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:]), default=0)
    for place, line in enumerate(lines):
        yield "  " + (line[margin:] if place else line.lstrip())


def listed(names: Iterable[str], mark: str = "%") -> str:
    """Return `%a, %b and 3 more`."""
    known = list(names)
    shown = ", ".join(f"{mark}{name}" for name in known[:6])
    return shown if len(known) <= 6 else f"{shown} and {len(known) - 6} more"


_SHARED_LINE = re.compile(r";[ \t]*[^\s;]")
_NO_MARGIN = re.compile(r"^%", re.MULTILINE)
_HIDING = re.compile(r"/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"?", re.DOTALL)


def _in_lines(text: str, notes: list[str]) -> str:
    """Return the text with one binding per line, if line breaks or margins were lost."""
    plain = _HIDING.sub("", text)
    if not _SHARED_LINE.search(plain) and not _NO_MARGIN.search(plain):
        return text
    notes.append("line breaks and margins were put back")
    return _broken(text)


def _broken(text: str) -> str:
    out: list[str] = []
    indent = brackets = end = 0
    at_line_start = True
    for token in tokenize(text):
        gap = " " if token.offset > end else ""
        end = token.offset + len(token.text)
        mark = token.text if token.kind == "mark" else ""
        if mark == "}" and not brackets:
            indent = max(indent - 1, 0)
            if not at_line_start:
                out.append("\n")
            at_line_start = True
        if token.kind == "end":
            break
        out.append("  " * indent if at_line_start else gap)
        out.append(token.text)
        brackets += (mark in ("(", "[")) - (mark in (")", "]"))
        at_line_start = False
        if not brackets and mark in ("{", ";"):
            indent += mark == "{"
            at_line_start = True
            out.append("\n")
    # a comment after `;` and the functions of a module start on lines of their own
    return re.sub(r"\}\s*(?=def @)", "}\n", "".join(out)) + "\n"
