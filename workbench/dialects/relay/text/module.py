"""A whole text: the global functions of a module, or one bare function."""

from __future__ import annotations

from workbench.dialects.relay.ast import Expr, Module
from workbench.dialects.relay.text.functions import Functions
from workbench.dialects.relay.text.tokens import END


def parse(text: str) -> Module:
    """Read a module, or one bare function, as TVM prints it.

    Raises
    ------
    ParseError
        Gives the line, the column, the expected token and the snippet.
    """
    return Reader(text).module()


class Reader(Functions):
    """Reads the outermost level."""

    def module(self) -> Module:
        functions: dict[str, Expr] = {}
        while True:
            self.skip_comments()
            token = self.token
            if token.kind == END:
                return Module(functions, self.crossed, list(self.constants.values()))
            if token.text == "#[metadata]":
                # the JSON after it is for TVM's own parser: the values of the constants
                return Module(functions, self.crossed, list(self.constants.values()))
            if token.kind == "version":
                self.at += 1
            elif token.text == "def":
                self.at += 1
                self.skip_comments()
                name = self.token
                if name.kind != "global":
                    raise self.fail("the name of a global function, `@main`")
                if name.text[1:] in functions:
                    raise self.fail(f"a name that no function before has ({name.text} has been defined)")
                self.at += 1
                functions[name.text[1:]] = self.function()
            elif token.text in ("type", "extern"):
                self.type_definition()
            elif token.text == "fn" and not functions:
                self.at += 1
                functions["main"] = self.function()
            else:
                raise self.fail("`def @name(...)`, `fn (...)` or the end of the text")

    def type_definition(self) -> None:
        """Record the names of a type's constructors: TVM's own Prelude has some in lower case, like operators."""
        depth = 0
        while self.token.kind != END:
            before, token = self.tokens[self.at - 1], self.token
            self.at += 1
            if depth == 1 and token.kind == "name" and before.text in ("{", ","):
                self.constructors.add(token.text)
            depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(token.text, 0)
            if depth == 0 and token.text in ("}", ";"):
                return
        raise self.fail("`}` at the end of the type definition")
