"""Relay text as tokens, and a position in them. One regular expression, one pass, no copies of the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from workbench.errors import ParseError

# A variable's name runs to the next delimiter: importers put `/`, `:` and `.` in names. A colon at its end is followed
# by a type. Comments come first, because they may hold anything.
_PIECES = r"""
    (?P<comment>/\*.*?\*/)
  | (?P<space>\s+)
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
# A comment or a string that is not closed takes the rest of the text; its end would be searched for again from every later one.
_TOKEN = re.compile(_PIECES + r"""| (?P<unclosed>/\*.*|".*)""", re.VERBOSE | re.DOTALL)
_JUNK = re.compile(r"[\w.]+|.", re.DOTALL)
# In prose a quotation mark or `/*` may be unpaired: a string ends with its line, and neither contains the beginning of
# a program.
_STRING, _COMMENT = r'"(?:[^"\\]|\\.)*"', r"/\*.*?\*/"
_IN_PROSE = re.compile(
    _PIECES.replace(_STRING, r'"(?:(?!def\s@|%\d+\s?=)[^"\\\n]|\\.)*"?').replace(_COMMENT, r"/\*(?:(?!/\*).)*?\*/"),
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
    add = tokens.append
    position, end = 0, len(text)
    match = (_IN_PROSE if in_prose else _TOKEN).match
    while position < end:
        found = match(text, position)
        if found is None:
            junk = _junk(text, position)
            add(Token("unknown", junk, position))
            position += len(junk)
            continue
        kind = found.lastgroup or ""
        if kind == "local":
            name = found.group()
            bare = name.rstrip(":")
            add(Token(kind, bare, position))
            if bare != name:
                add(Token("mark", ":", position + len(bare)))
        elif kind == "unclosed":
            add(Token("unknown", found.group()[:2], position))
        elif kind != "space":
            add(Token(kind, found.group(), position))
        position = found.end()
    add(Token(END, "the end of the text", end))
    return tokens


def _junk(text: str, position: int) -> str:
    found = _JUNK.match(text, position)
    assert found is not None, "it takes any character"
    return found.group()


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


class Cursor:
    """Base of the reader: the tokens, and the current position."""

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
        self.skip_comments()
        if self.token.text != text or self.token.kind == "string":
            raise self.fail(f"`{text}`")
        self.at += 1

    def accept(self, text: str) -> bool:
        self.skip_comments()
        if self.token.text != text or self.token.kind == "string":
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
        return self.token.kind == "mark" and self.token.text == text

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
