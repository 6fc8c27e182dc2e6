"""Attributes: `name=value`, of operators and of functions."""

from __future__ import annotations

import re
from typing import Any

from workbench.dialects.relay.parser.tokens import END, Cursor, Token
from workbench.errors import ParseError
from workbench.graph.received import DIGITS

DEEPEST = 32
"nested lists: TVM prints two levels; TVM and Python recurse over them"
_ADDRESS = re.compile(r"\bTarget\(id=[0-9a-f]+, ?")


class Attributes(Cursor):
    """Reads attributes."""

    def attribute(self, into: dict[str, Any]) -> None:
        name = self.token.text
        if self.token.kind != "name":
            raise self.fail("the name of an attribute")
        self.at += 1
        self.expect("=")
        into[name] = self.attribute_value()

    def attribute_value(self) -> Any:
        """Return a number, string, name or list of them; nested lists are read with a stack of unfinished lists."""
        open_lists: list[list[Any]] = []
        closers: list[str] = []
        while True:
            self.skip_comments()
            token = self.token
            if token.kind == END:
                raise self.fail("the value of an attribute")
            self.at += 1
            if token.text in _CLOSERS:
                if len(open_lists) == DEEPEST:
                    raise ParseError(f"no list in {DEEPEST} others", self.text, token.offset)
                open_lists.append([])
                closers.append(_CLOSERS[token.text])
                continue
            if closers and token.text == closers[-1]:
                closers.pop()
                value: Any = open_lists.pop()
            elif token.kind == "mark" and token.text == "," and open_lists:
                continue
            elif token.kind == "mark" and token.text == "{":
                self.at -= 1
                value = self.object_text(token.offset)
            elif token.kind == "mark" and token.text == ANY:
                value = ANY
            elif token.kind == "mark":
                self.at -= 1
                raise self.fail("the value of an attribute")
            elif self.at_mark("("):
                value = self.object_text(token.offset)
            else:
                value = literal(token)
            if not open_lists:
                return value
            open_lists[-1].append(value)

    def object_text(self, start: int) -> ObjectText:
        """Return an attribute that is an object or a map, `VirtualDevice(device_type=1)`, as its text."""
        depth = 0
        while self.token.kind != END:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(self.token.text, 0)
            self.at += 1
            if depth == 0:
                # a Target prints its address in memory, which would differ for equal modules from run to run
                return ObjectText(_ADDRESS.sub("Target(", self.text[start : self.tokens[self.at - 1].offset + 1]))
        raise self.fail("`)` or `}`")


_CLOSERS = {"[": "]", "(": ")"}
"TVM prints a list in square brackets, and reads round ones too"
_SUFFIX = re.compile(r"(?:(?<=[0-9.])|(?<=nf)|(?<=an))(?:bf16|[fiu][0-9]*)$")
"the type that TVM writes after a number: 1.5f, 2i64, -inff"
_SPLIT = re.compile(r"(bf|[fiu]|)([0-9]*)")
_INTS = {"i": "int", "u": "uint"}
_FLOATS = {"f16": "float16", "f64": "float64", "bf16": "bfloat16"}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


class ObjectText(str):
    """A value that the text only names: a TVM object, or an entry in the metadata."""

    __slots__ = ()


ANY = ObjectText("?")
"a dimension that is known only at run time"


class TypedInt(int):
    """An integer with its own type after it: `2i64`."""

    dtype = ""


class TypedFloat(float):
    """A float with its own type after it: `2f64`."""

    dtype = ""


def literal(token: Token) -> Any:
    """Return the Python value of a literal token; its text if it is not a literal."""
    if token.kind == "string":
        return _string(token.text[1:-1])
    if token.kind == "number":
        return _number(token.text)
    if token.kind == "meta":
        return ObjectText(token.text)
    return {"True": True, "False": False, "None": None}.get(token.text, token.text)


def literal_type(text: str) -> str:
    """Return the type of a number or of a truth value, as TVM's parser gives it.

    >>> [literal_type(text) for text in ("2f", "1.5", "3", "-1i64", "1f16", "True")]
    ['float32', 'float32', 'int32', 'int64', 'float16', 'bool']
    """
    if text in ("True", "False"):
        return "bool"
    plain = _SUFFIX.sub("", text)
    kind, width = _SPLIT.fullmatch(text[len(plain) :]).groups()  # pyright: ignore[reportOptionalMemberAccess]  any suffix matches
    if kind in _INTS:
        return f"{_INTS[kind]}{width or 32}"
    return "int32" if not kind and plain.lstrip("-").isdecimal() else _FLOATS.get(kind + width, "float32")


def _number(text: str) -> int | float:
    plain = _SUFFIX.sub("", text)
    kind, width = _SPLIT.fullmatch(text[len(plain) :]).groups()  # pyright: ignore[reportOptionalMemberAccess]  any suffix matches
    if kind in ("", "i", "u") and len(plain) <= DIGITS and plain.lstrip("-").isdecimal():
        return _typed(TypedInt(plain), f"{_INTS[kind]}{width or 32}") if kind else int(plain)
    value = float(plain)
    return _typed(TypedFloat(value), _FLOATS[kind + width]) if kind + width in _FLOATS else value


def _typed(value: Any, dtype: str) -> Any:
    value.dtype = dtype
    return value


def _string(text: str) -> str:
    """Return a string without TVM's escapes, which represent the bytes of all non-ASCII characters."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_unescaped, text)
    try:
        return plain.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return plain


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code[1:], 16)) if len(code) == 3 else _ESCAPED.get(code, found.group())
