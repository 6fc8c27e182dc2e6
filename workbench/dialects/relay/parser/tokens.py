"""Relay text as tokens, a position in them, and attributes. One regular expression, one pass, no copies of the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from workbench.errors import ParseError
from workbench.graph.received import DIGITS

# A variable's name runs to the next delimiter: importers put `/`, `:` and `.` in names. A colon at its end is followed
# by a type. Comments come first, because they may hold anything.
_PIECES = r"""
    \s*(?:
    (?P<comment>/\*.*?\*/)
  | (?P<local>%[^\s,(){}\[\];=]*)
  | (?P<global>@[^\s,(){}\[\];=]+(?:(?<=_T\.Any)\(\))?)
  | (?P<type>Tensor\[\([\d, ?]*\),\ \w+\])
  | (?P<meta>meta\[[\w.]+\]\[\d+\])
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<number>-?(?<![\w.])(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf|nan)(?:f(?:16|32|64)?|bf16|i(?:8|16|32|64)|u(?:8|16|32|64))?\b(?![.\w]))
  | (?P<name>[A-Za-z_][\w.]*)
  | (?P<version>\#\[[^\[\]]*\])
  | (?P<arrow>->|=>)
  | (?P<mark>[(){}\[\],;:=?*<>-])
    """
_UNKNOWN = r"| (?P<unknown>[\w.]+|\S) | \Z)"
# A comment or a string that is not closed takes the rest of the text; its end would be searched for again from every later one.
_TOKEN = re.compile(_PIECES + r"""| (?P<unclosed>/\*.*|".*)""" + _UNKNOWN, re.VERBOSE | re.DOTALL)
# In prose a quotation mark or `/*` may be unpaired: a string ends with its line, and neither contains the beginning of
# a program.
_STRING, _COMMENT = r'"(?:[^"\\]|\\.)*"', r"/\*.*?\*/"
_IN_PROSE = re.compile(
    _PIECES.replace(_STRING, r'"(?:(?!def\s@|%\d+\s?=)[^"\\\n]|\\.)*"?').replace(_COMMENT, r"/\*(?:(?!/\*).)*?\*/")
    + _UNKNOWN,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A piece of the text: its kind, its text, its offset."""

    kind: str
    text: str
    offset: int


END = "end"


def tokenize(text: str, in_prose: bool = False) -> list[Token]:
    """Split Relay text into tokens; white space is dropped, comments are kept (they carry the types).

    A character that starts no token becomes a token of kind `unknown`, which the reader refuses.
    """
    tokens: list[Token] = []
    # without the function in Python that a NamedTuple is made by
    add, new = tokens.append, tuple.__new__
    for found in (_IN_PROSE if in_prose else _TOKEN).finditer(text):
        kind = found.lastgroup
        if kind is None:
            break
        piece, place = found.group(kind), found.start(kind)
        if kind == "local":
            bare = piece.rstrip(":")
            add(new(Token, (kind, bare, place)))
            if bare != piece:
                add(new(Token, ("mark", ":", place + len(bare))))
        elif kind == "unclosed":
            add(new(Token, ("unknown", piece[:2], place)))
        else:
            add(new(Token, (kind, piece, place)))
    add(Token(END, "the end of the text", len(text)))
    return tokens


COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SPAN = re.compile(r"\bspan=")
_LAYER = re.compile(r"[\w.:\-]+(?:/[\w.:\-]+)+")


@lru_cache(maxsize=4096)
def _type_and_span(comment: str) -> tuple[str, str]:
    body = comment[2:-2].strip()
    if not body.startswith(("ty=", "span=")):
        # TVM 0.8 wrote only the span of a call, the name of its layer in the frontend
        return "", f"{body}:0:0" if _LAYER.fullmatch(body) else ""
    type, *spans = _SPAN.split(body, maxsplit=1)
    # a line may have been broken inside a type
    return " ".join(type.removeprefix("ty=").split()), "".join(spans)


DEEPEST = 32
"nested lists: TVM prints two levels; TVM and Python recurse over them"
_ADDRESS = re.compile(r"\bTarget\(id=[0-9a-f]+, ?")


class Cursor:
    """Base of the reader: the tokens, the current position, and attributes, which need no names in scope."""

    in_prose = False
    "whether the text holds other things than Relay"

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text, self.in_prose)
        self.at = 0
        self.line_at = 0
        self.line_count = 1

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def fail(self, expected: str) -> ParseError:
        return ParseError(expected, self.text, self.token.offset)

    def skip_comments(self) -> None:
        while self.tokens[self.at].kind == "comment":
            self.at += 1

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.fail(f"`{text}`")

    def accept(self, text: str) -> bool:
        self.skip_comments()
        token = self.tokens[self.at]
        if token.text != text or token.kind == "string":
            return False
        self.at += 1
        return True

    def line(self) -> int:
        """Return the line of the current token; counted forward, so that the whole text is counted once."""
        offset = self.token.offset
        if offset >= self.line_at:
            self.line_count += self.text.count("\n", self.line_at, offset)
            self.line_at = offset
            return self.line_count
        return self.text.count("\n", 0, offset) + 1

    def annotation(self) -> tuple[str, str]:
        """Return the type and span of the comment at the current token, if there is one."""
        type, span = "", ""
        while self.tokens[self.at].kind == "comment":
            found_type, found_span = _type_and_span(self.tokens[self.at].text)
            type, span = type or found_type, span or found_span
            self.at += 1
        return type, span

    def after_comments(self, at: int) -> Token:
        while self.tokens[at].kind == "comment":
            at += 1
        return self.tokens[at]

    def at_mark(self, text: str) -> bool:
        token = self.tokens[self.at]
        return token.text == text and token.kind == "mark"

    def separator(self) -> None:
        """Read a comma, unless the list ends here."""
        self.skip_comments()
        if not self.at_mark(")"):
            self.expect(",")

    def type_text(self, ends: tuple[str, ...]) -> str:
        """Return the text of a type, up to a comment or to one of `ends` outside all brackets."""
        depth, start = 0, None
        while True:
            token = self.token
            if token.kind == END:
                raise self.fail("a type")
            if depth == 0 and (token.text in ends or token.kind == "comment"):
                break
            start = token.offset if start is None else start
            depth += (token.text in "([{") - (token.text in ")]}") if len(token.text) == 1 else 0
            self.at += 1
        return "" if start is None else " ".join(self.text[start : self.tokens[self.at].offset].split())

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

    dtype: str


class TypedFloat(float):
    """A float with its own type after it: `2f64`."""

    dtype: str


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
    plain, dtype = _SUFFIX.sub("", text), literal_type(text)
    if "int" in dtype and len(plain) <= DIGITS and plain.lstrip("-").isdecimal():
        value, is_typed = TypedInt(plain), plain != text
    else:
        value, is_typed = TypedFloat(plain), dtype in _FLOATS.values()
    value.dtype = dtype
    return value if is_typed else +value  # a number of Python's own type


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
