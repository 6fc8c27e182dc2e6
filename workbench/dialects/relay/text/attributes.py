"""Attributes: `name=value`, of operators and of functions."""

from __future__ import annotations

import re
from typing import Any

from workbench.dialects.relay.text.cursor import Cursor
from workbench.dialects.relay.text.tokens import END, Token
from workbench.errors import ParseError

DEEPEST = 32
"lists in lists: TVM prints two; TVM and Python recurse over them"
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
        """A number, string, name or list of them; nested lists are read with a stack of unfinished lists."""
        open_lists: list[list[Any]] = []
        while True:
            self.skip_comments()
            token = self.token
            if token.kind == END:
                raise self.fail("the value of an attribute")
            self.at += 1
            if token.text == "[" and token.kind == "mark":
                if len(open_lists) == DEEPEST:
                    raise ParseError(f"no list in {DEEPEST} others", self.text, token.offset)
                open_lists.append([])
                continue
            if token.text == "]" and open_lists:
                value: Any = open_lists.pop()
            elif token.kind == "mark" and token.text == "," and open_lists:
                continue
            elif token.kind == "mark" and token.text == "{":
                self.at -= 1
                value = self.object_text(token.offset)
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

    def object_text(self, start: int) -> str:
        """An attribute that is an object or a map, `VirtualDevice(device_type=1)`, stays the text it is."""
        depth = 0
        while self.token.kind != END:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(self.token.text, 0)
            self.at += 1
            if depth == 0:
                # a Target prints its address in memory, by which equal modules would differ from run to run
                return _ADDRESS.sub("Target(", self.text[start : self.tokens[self.at - 1].offset + 1])
        raise self.fail("`)` or `}`")


_SUFFIX = re.compile(r"(?:(?<=[0-9.])|(?<=nf)|(?<=an))(?:bf16|[fiu][0-9]*)$")
"the type that TVM writes behind a number: 1.5f, 2i64, -inff"


def literal(token: Token) -> Any:
    """The Python value of a literal token; anything that is not one stays the text it was."""
    if token.kind == "string":
        return token.text[1:-1]
    if token.kind == "number":
        plain = _SUFFIX.sub("", token.text)
        try:
            return int(plain)
        except ValueError:
            return float(plain)
    return {"True": True, "False": False, "None": None}.get(token.text, token.text)
