"""Grouping of a paste's pieces into modules, and each module's text as TVM would have printed it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from workbench.dialects.relay.parser.tokens import tokenize
from workbench.dialects.relay.paste.free import stated_types
from workbench.dialects.relay.paste.pieces import Edit, Piece


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
    parts = [_run(piece, text, notes) if piece.kind == "run" else _whole(piece, text) for piece in program.pieces]
    return _in_lines("\n".join(parts) + "\n", notes)


def _whole(piece: Piece, text: str) -> str:
    return text[piece.start : piece.end]


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
    for edit in sorted(piece.edits, key=_place):
        parts += (text[at : edit.start], edit.put)
        at = edit.end
    return "".join([*parts, text[at : piece.end]])


def _place(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


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
