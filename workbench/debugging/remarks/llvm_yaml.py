"""Remarks as the YAML of LLVM's optimisation remarks (https://llvm.org/docs/Remarks.html), which its viewers open.

All scalars are strings of JSON, which are YAML too, so that a hostile name cannot end a document. The first line is a comment
with the version and the number of remarks; a file that was cut off does not match it. The reader is not a YAML parser: it takes the
lines that the writer makes, and no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from workbench.debugging.remarks.remark import KINDS, VERSION, Remark, Source, check_head
from workbench.graph import received
from workbench.graph.received import Damaged

_STRING = r'("(?:[^"\\]|\\.)*")'
_HEAD = re.compile(r"# tvm-workbench remarks, version ([0-9]{1,9}), ([0-9]{1,12}) remarks?")
_DOCUMENT = re.compile(rf"--- !({'|'.join(kind.capitalize() for kind in KINDS)})")
_FIELD = re.compile(rf"(Pass|Name|Function): {_STRING}")
_PLACE = re.compile(rf"DebugLoc: {{ File: {_STRING}, Line: ([0-9]{{1,9}}), Column: ([0-9]{{1,9}}) }}")
_ARGUMENT = re.compile(rf"  - (String|Message|Change|Operator|Node|Layer|Bytes): {_STRING}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_END = "..."


def lines(remarks: Sequence[Remark]) -> Iterator[str]:
    """Yield the lines of a file."""
    yield f"# tvm-workbench remarks, version {VERSION}, {len(remarks)} remark{'s' * (len(remarks) != 1)}"
    for remark in remarks:
        yield f"--- !{remark.kind.capitalize()}"
        yield f"Pass: {_quoted(remark.pass_name)}"
        yield f"Name: {_quoted(remark.name)}"
        if remark.source is not None:
            at = remark.source
            yield f"DebugLoc: {{ File: {_quoted(at.file)}, Line: {at.line}, Column: {at.column} }}"
        yield f"Function: {_quoted(remark.function)}"
        yield "Args:"
        yield from (f"  - {key}: {_quoted(value)}" for key, value in _arguments(remark))
        yield _END


def _arguments(remark: Remark) -> Iterator[tuple[str, str]]:
    """Yield the parts of the text: a viewer shows them in one line, and the reader takes those that are not `String`."""
    yield "Message", remark.message
    if remark.change:
        yield from (("String", " It would if "), ("Change", remark.change), ("String", "."))
    for place, operator in enumerate(remark.operators):
        yield from (("String", " -> " if place else " Operators: "), ("Operator", operator))
    for place, node in enumerate(remark.nodes):
        yield from (("String", ", " if place else "; nodes: "), ("Node", str(node)))
    if remark.layer:
        yield from (("String", "; layer: "), ("Layer", remark.layer))
    if remark.bytes is not None:
        yield from (("String", "; bytes: "), ("Bytes", str(remark.bytes)))


def _quoted(text: str) -> str:
    """Return a text as a string of JSON and of YAML, whose parsers do not join two escapes to one character."""
    known = text.encode("utf-8", "backslashreplace").decode()
    return f'"{"".join(char if ord(char) > 0xFFFF else json.dumps(char)[1:-1] for char in known)}"'


def read(text: str) -> Iterator[Remark]:
    """Yield the remarks of a file's text.

    Raises
    ------
    Damaged
        It is not such a file, or it was cut off.
    """
    first, *rest = text.removesuffix("\n").split("\n")
    head = _HEAD.fullmatch(first)
    if head is None:
        raise Damaged("it does not begin with the line of a file of remarks")
    check_head(int(head[1]), int(head[2]), rest.count(_END))
    document: _Document | None = None
    for number, line in enumerate(rest, 2):
        if document is None:
            document = _Document(line, number)
        elif line == _END:
            yield document.remark()
            document = None
        else:
            document.add(line, number)
    if document is not None:
        raise Damaged("it ends in the middle of a remark")


class _Document:
    """A remark that is being read."""

    def __init__(self, line: str, number: int) -> None:
        found = _DOCUMENT.fullmatch(line)
        if found is None:
            _refuse(number)
        self.kind, self.number = found[1].lower(), number
        self.fields: dict[str, str] = {}
        self.source: Source | None = None
        self.arguments: dict[str, list[str]] = {}

    def add(self, line: str, number: int) -> None:
        """Take one line of the document."""
        if found := _ARGUMENT.fullmatch(line):
            self.arguments.setdefault(found[1], []).append(_text(found[2]))
        elif found := _FIELD.fullmatch(line):
            self.fields[found[1]] = _text(found[2])
        elif found := _PLACE.fullmatch(line):
            self.source = Source(_text(found[1]), int(found[2]), int(found[3]))
        elif line != "Args:":
            _refuse(number)

    def remark(self) -> Remark:
        """Return the remark."""
        if len(self.fields) < 3:
            raise Damaged(f"the remark in line {self.number} lacks its pass, name or function")
        size = self._one("Bytes")
        return Remark(
            self.kind,
            self.fields["Pass"],
            self.fields["Name"],
            self._one("Message"),
            self.fields["Function"],
            tuple(self.arguments.get("Operator", ())),
            tuple(self._count(node) for node in self.arguments.get("Node", ())),
            self._one("Layer"),
            self.source,
            self._count(size) if size else None,
            self._one("Change"),
        )

    def _one(self, key: str) -> str:
        return "".join(self.arguments.get(key, ()))

    def _count(self, text: str) -> int:
        if not _NUMBER.fullmatch(text):
            raise Damaged(f"the remark in line {self.number} has {text[:40]!r} in place of a number")
        return int(text)


def _text(quoted: str) -> str:
    return str(received.parse(quoted)) if "\\" in quoted else quoted[1:-1]


def _refuse(line: int) -> NoReturn:
    raise Damaged(f"line {line} is not one of a file of remarks")
