"""A position in the tokens of a text: lookahead, advance, and errors about the expected token."""

from __future__ import annotations

import re
from functools import lru_cache

from workbench.dialects.relay.text.tokens import END, Token, tokenize
from workbench.errors import ParseError

_COMMENT = re.compile(r"/\*\s*(?:ty=(?P<type>.*?))?\s*(?:\bspan=(?P<span>.*?))?\s*\*/", re.DOTALL)

_LAYER = re.compile(r"/\*\s*([\w.:\-]+(?:/[\w.:\-]+)+)\s*\*/")


@lru_cache(maxsize=4096)
def _type_and_span(comment: str) -> tuple[str, str]:
    found = _COMMENT.fullmatch(comment)
    if found is None:
        # TVM 0.8 wrote only the span of a call, the name of its layer in the frontend
        layer = _LAYER.fullmatch(comment)
        return "", f"{layer.group(1)}:0:0" if layer else ""
    # a line may have been broken inside a type
    return " ".join((found.group("type") or "").split()), found.group("span") or ""


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
