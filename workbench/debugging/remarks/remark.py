"""One remark, a decision of a pass with its place and its reason; and the two formats of files of remarks.

JSON lines have one object a remark. YAML is that of LLVM's optimisation remarks (https://llvm.org/docs/Remarks.html), which its
viewers open. All its scalars are strings of JSON, which are YAML too, so that a hostile name cannot end a document; its first line is a comment
with the version and the number of remarks, which a file that was cut off does not match. The reader is not a YAML parser: it takes the
lines that the writer makes, and no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from workbench.errors import LoadError, WorkbenchError, reason, writing
from workbench.graph import received
from workbench.graph.received import Damaged, contents

PASSED, MISSED, ANALYSIS = KINDS = ("passed", "missed", "analysis")
"the pass did it; the pass did not do it, at a cost; a fact without a cost"
Key: TypeAlias = "tuple[str, str, str, tuple[str, ...]]"


@dataclass(frozen=True)
class Source:
    """A place in a source file."""

    file: str
    line: int
    "from 1"
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Remark:
    """A decision of a pass."""

    kind: str
    "one of KINDS"
    pass_name: str
    "the pass, without its options"
    name: str
    "the reason code, which stays the same between versions: `path_kind`, `identical`, ..."
    message: str
    "the decision and its reason in a sentence or two"
    function: str = "main"
    operators: tuple[str, ...] = ()
    "the operators that it is about, producers first, without the numbers that make names unique"
    nodes: tuple[int, ...] = ()
    "their ids in the graph before the pass"
    layer: str = ""
    "the layer of the first one, `encoder/layer_0`; empty if it is in none"
    source: Source | None = None
    "the line of source that the first one comes from, where the module has spans of files"
    bytes: int | None = None
    "bytes that the pass saves, or would save; None where they are not known"
    change: str = ""
    """for a missed one, the condition under which the pass would do it; empty if none is known. For fusions it is searched for the 64
    with the most bytes"""

    @property
    def key(self) -> Key:
        """Return the identity that survives edits elsewhere: it has no node ids and no numbers."""
        return self.pass_name, self.function, self.layer, self.operators

    @property
    def text(self) -> str:
        """Return the message with the change, as one text."""
        return f"{self.message} It would if {self.change}." if self.change else self.message


# -- files

FORMATS = ("yaml", "jsonl")
VERSION = 1
"of both"
MOST_BYTES = 1 << 26
"size of a file that is read"
_MOST_NODES = 1 << 31
_REMEDY = "write one with `tvm-workbench remarks MODEL -o FILE`"

_STRING = r'("(?:[^"\\]|\\.)*")'
_HEAD = re.compile(r"# tvm-workbench remarks, version ([0-9]{1,9}), ([0-9]{1,12}) remarks?")
_DOCUMENT = re.compile(rf"--- !({'|'.join(kind.capitalize() for kind in KINDS)})")
_FIELD = re.compile(rf"(Pass|Name|Function|  - (?:String|Message|Change|Operator|Node|Layer|Bytes)): {_STRING}")
_PLACE = re.compile(rf"DebugLoc: {{ File: {_STRING}, Line: ([0-9]{{1,9}}), Column: ([0-9]{{1,9}}) }}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_END = "..."
_TEXTS = ("kind", "pass_name", "name", "message", "function", "layer", "change")


def write(remarks: Sequence[Remark], path: Path, format: str | None = None) -> Path:
    """Write remarks to a file, and return its path; the format is that of the suffix by default; raises WorkbenchError."""
    name = format or ("jsonl" if path.suffix == ".jsonl" else "yaml")
    if name not in FORMATS:
        raise WorkbenchError(f"there is no format {name!r} of remarks; give {' or '.join(FORMATS)}")
    with writing(path):
        path.write_bytes("".join(f"{line}\n" for line in lines(remarks, name)).encode())
    return path


def lines(remarks: Sequence[Remark], format: str) -> Iterator[str]:
    """Yield the lines of a file: the head with the version and the number of remarks, then the remarks."""
    if format == "jsonl":
        yield json.dumps({"format": "tvm-workbench remarks", "version": VERSION, "remarks": len(remarks)})
        yield from (json.dumps(asdict(remark)) for remark in remarks)
        return
    yield f"# tvm-workbench remarks, version {VERSION}, {len(remarks)} remark{'s' * (len(remarks) != 1)}"
    for remark in remarks:
        yield f"--- !{remark.kind.capitalize()}"
        yield f"Pass: {_quoted(remark.pass_name)}"
        yield f"Name: {_quoted(remark.name)}"
        if (at := remark.source) is not None:
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


def read(path: Path) -> tuple[Remark, ...]:
    """Return the remarks of a file; raises LoadError."""
    try:
        return tuple(parse(contents(path, MOST_BYTES).decode()))
    except UnicodeDecodeError:
        raise LoadError(f"{path} is not a file of remarks: it is not UTF-8; {_REMEDY}") from None
    except Damaged as damage:
        raise LoadError(f"{path} is not a file of remarks: {damage}; {_REMEDY}") from None
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; {_REMEDY}") from error


def parse(text: str) -> Iterator[Remark]:
    """Yield the remarks of a file's text, of JSON lines if it begins with `{`; raises Damaged."""
    first, *rest = text.removesuffix("\n").split("\n")
    if text.startswith("{"):
        head = received.fields(received.parse(first), {"version": int, "remarks": int})
        version, stated, found = head["version"], head["remarks"], len(rest)
        data = map(received.parse, rest)
    elif named := _HEAD.fullmatch(first):
        version, stated, found = int(named[1]), int(named[2]), rest.count(_END)
        data = _documents(rest)
    else:
        raise Damaged("it does not begin with the line of a file of remarks")
    if version != VERSION:
        raise Damaged(f"it is of version {version}, and this tvm-workbench reads version {VERSION}")
    if stated != found:
        raise Damaged(f"it states {stated} remarks and has {found}")
    yield from map(_from_data, data)


def _documents(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what each document of YAML says, in the form of the JSON."""
    document: dict[str, Any] | None = None
    begins = 0
    for number, line in enumerate(lines, 2):
        if document is None:
            tagged, begins = _DOCUMENT.fullmatch(line), number
            if tagged is None:
                raise Damaged(f"line {number} is not one of a file of remarks")
            optional = dict.fromkeys(("message", "layer", "change"), "")
            document = {"kind": tagged[1].lower(), **optional, "operators": [], "nodes": []}
        elif line == _END:
            if not document.keys() >= {"pass_name", "name", "function"}:
                raise Damaged(f"the remark in line {begins} lacks its pass, name or function")
            yield document
            document = None
        elif said := _FIELD.fullmatch(line):
            _add(document, said[1].removeprefix("  - "), _text(said[2]), begins)
        elif at := _PLACE.fullmatch(line):
            document["source"] = {"file": _text(at[1]), "line": int(at[2]), "column": int(at[3])}
        elif line != "Args:":
            raise Damaged(f"line {number} is not one of a file of remarks")
    if document is not None:
        raise Damaged("it ends in the middle of a remark")


def _add(document: dict[str, Any], key: str, text: str, begins: int) -> None:
    if key in ("Node", "Bytes") and not _NUMBER.fullmatch(text):
        raise Damaged(f"the remark in line {begins} has {text[:40]!r} in place of a number")
    if key == "Operator":
        document["operators"].append(text)
    elif key == "Node":
        document["nodes"].append(int(text))
    elif key != "String":
        document["pass_name" if key == "Pass" else key.lower()] = int(text) if key == "Bytes" else text


def _text(quoted: str) -> str:
    return str(received.parse(quoted)) if "\\" in quoted else quoted[1:-1]


def _from_data(data: object) -> Remark:
    given = received.fields(data, {**dict.fromkeys(_TEXTS, str), "operators": list, "nodes": list})
    if given["kind"] not in KINDS:
        raise Damaged(f"{given['kind']!r} is not a kind of remark")
    operators = received.texts(given.pop("operators"), "operators")
    nodes = tuple(received.place(node, _MOST_NODES, "nodes") for node in given.pop("nodes"))
    assert isinstance(data, dict), "its fields were read"
    place, size = data.get("source"), data.get("bytes")
    source = None if place is None else Source(**received.fields(place, {"file": str, "line": int, "column": int}))
    bytes = None if size is None else received.fields(data, {"bytes": int})["bytes"]
    return Remark(**given, operators=operators, nodes=nodes, source=source, bytes=bytes)
