"""Relay text as tokens. One regular expression, one pass, no copies of the text."""

from __future__ import annotations

import re
from typing import NamedTuple

# A variable's name runs to the next delimiter: importers put `/`, `:` and `.` in names. A colon at its end is followed
# by a type. Comments come first, because they may hold anything.
_PIECES = r"""
    (?P<comment>/\*.*?\*/)
  | (?P<space>\s+)
  | (?P<local>%[^\s,(){}\[\];=]*)
  | (?P<global>@[^\s,(){}\[\];=]+(?:(?<=_T\.Any)\(\))?)
  | (?P<meta>meta\[[\w.]+\]\[\d+\])
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<number>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf|nan)(?:f(?:16|32|64)?|bf16|i(?:8|16|32|64)|u(?:8|16|32|64))?\b(?![.\w]))
  | (?P<name>[A-Za-z_][\w.]*)
  | (?P<version>\#\[[^\[\]]*\])
  | (?P<arrow>->|=>)
  | (?P<mark>[(){}\[\],;:=?*<>-])
    """
_TOKEN = re.compile(_PIECES, re.VERBOSE | re.DOTALL)
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
            # an unclosed one would be searched for again at every later place
            last = not in_prose and text.startswith(("/*", '"'), position)
            junk = text[position : position + 2] if last else _junk(text, position)
            add(Token("unknown", junk, position))
            position = end if last else position + len(junk)
            continue
        kind = found.lastgroup or ""
        if kind == "local":
            name = found.group()
            bare = name.rstrip(":")
            add(Token(kind, bare, position))
            if bare != name:
                add(Token("mark", ":", position + len(bare)))
        elif kind != "space":
            add(Token(kind, found.group(), position))
        position = found.end()
    add(Token(END, "the end of the text", end))
    return tokens


def _junk(text: str, position: int) -> str:
    found = _JUNK.match(text, position)
    assert found is not None, "it takes any character"
    return found.group()
