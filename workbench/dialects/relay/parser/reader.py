"""A whole text: the global functions of a module, or one bare function; their blocks and bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.dialects.relay.parser.ast import Expr, Module, Pattern
from workbench.dialects.relay.parser.expressions import Expressions, Frame, Scope
from workbench.dialects.relay.parser.tokens import COMMENT, END
from workbench.errors import ParseError

DEEPEST = 2000
"nested blocks; TVM's own recursion fails far earlier"


def parse(text: str) -> Module:
    """Read a module, or one bare function, as TVM prints it.

    Raises ParseError: gives the line, the column, the expected token and the snippet.
    """
    return Reader(text).module()


class Reader(Expressions):
    """Reads modules, functions and blocks: an explicit stack of unfinished constructs, never recursion."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.crossed: list[Expr] = []
        "the functions in which a value is used outside the block that binds it"

    def module(self) -> Module:
        functions: dict[str, Expr] = {}
        while True:
            self.skip_comments()
            token = self.token
            # the JSON after `#[metadata]` is for TVM's own parser: the values of the constants
            if token.kind == END or token.text == "#[metadata]":
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

    # -- functions and blocks

    def function(self) -> Expr:
        """Read a whole function, its header and its body, and everything nested in it."""
        result: list[Expr] = []
        stack: list[Frame] = []
        self.temporaries.clear()
        self.crossing = False
        self.open_function(stack, result.append)
        while stack:
            self.advance(stack)
        for name, known in self.temporaries.items():
            if known.scope is None:
                raise ParseError(f"a variable that is bound here (%{name} is not)", self.text, known.offset)
        if self.crossing:
            self.crossed.append(result[0])
        return result[0]

    def open_function(self, stack: list[Frame], done: Callable[[Expr], None]) -> None:
        line = self.line()
        scope = Scope()
        params, attrs, result = self.header(scope)

        def finish(body: Expr) -> None:
            self.expect("}")
            type, span = self.annotation()
            done(
                Expr(
                    "function", args=(body,), attrs=attrs, type=type, span=span, line=line, params=params, result=result
                )
            )

        self.expect("{")
        stack.append(Frame(finish, scope))

    def header(self, scope: Scope) -> tuple[tuple[Expr, ...], dict[str, Any], str]:
        """Read type parameters, parameters, attributes and return type, up to the `{`."""
        if self.accept("["):
            while not self.accept("]"):
                if self.token.kind == END:
                    raise self.fail("`]` after the type parameters")
                self.at += 1
        self.skip_comments()
        self.expect("(")
        params: list[Expr] = []
        attrs: dict[str, Any] = {}
        while not self.accept(")"):
            self.skip_comments()
            if self.token.kind == "local":
                params.append(self.variable(scope))
            elif self.token.kind == "name":
                self.attribute(attrs)
            else:
                raise self.fail("a parameter `%x: type`, an attribute `name=value`, or `)`")
            self.separator()
        result = self.type_text(("{",)) if self.accept("->") else ""
        return tuple(params), attrs, result

    def step(self, stack: list[Frame]) -> None:
        """Read one binding, or the result, of the innermost open block."""
        frame = stack[-1]
        self.skip_comments()
        token, line = self.token, self.line()
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)].text
        if token.text == "let":
            self.at += 1
            variable = self.variable(frame.scope)
            self.expect("=")
            self.value(frame, stack, self.bind_let(frame, variable, line))
        elif token.text == "free_var":
            self.free_variable(frame)
        elif token.kind == "local" and following == "=":
            self.unbound_yet(token.text[1:])
            self.at += 2
            self.value(frame, stack, self.bind_temp(frame, token.text[1:], line))
        else:
            self.value(frame, stack, self.close_block(frame, stack))

    def free_variable(self, frame: Frame) -> None:
        self.at += 1
        self.variable(frame.scope)
        self.expect(";")

    def bind_let(self, frame: Frame, variable: Expr, line: int) -> Callable[[Expr], None]:
        def done(value: Expr) -> None:
            self.expect(";")
            frame.lets.append((variable, value, line))

        return done

    def bind_temp(self, frame: Frame, name: str, line: int) -> Callable[[Expr], None]:
        def done(value: Expr) -> None:
            if not value.line:
                value.line = line
            self.bind(name, value, frame.scope)
            self.end_binding()

        return done

    def end_binding(self) -> None:
        self.accept(";")

    def close_block(self, frame: Frame, stack: list[Frame]) -> Callable[[Expr], None]:
        def done(body: Expr) -> None:
            for variable, value, line in reversed(frame.lets):
                body = Expr("let", args=(variable, value, body), type=body.type, line=line)
            stack.pop()
            self.names.leave(frame.scope)
            self.finished.append((frame.done, body))

        return done

    def advance(self, stack: list[Frame]) -> None:
        """Take a step, and pass each completed construct to the one around it: in a loop, however many end together."""
        if len(stack) > DEEPEST:
            raise self.fail(f"at most {DEEPEST:,} functions and branches in one another")
        self.step(stack)
        while self.finished:
            done, value = self.finished.pop()
            done(value)

    # -- expressions

    def value(self, frame: Frame, stack: list[Frame], done: Callable[[Expr], None]) -> None:
        """Read one expression and pass it to `done`; a construct with a block of its own is pushed and finished later."""
        self.skip_comments()
        token, line = self.token, self.line()
        if token.text == "fn":
            self.at += 1
            self.open_function(stack, self.called_in_place(frame, done))
        elif token.text == "if":
            self.at += 1
            self.open_if(frame, stack, done, line)
        elif self.at_mark("(") and self.after_comments(self.at + 1).text == "let":
            self.at += 1
            self.open_block(stack, done, ")")
        elif token.text == "let":
            self.open_block(stack, done)
        elif token.text in ("match", "match?"):
            self.at += 1
            self.open_match(frame, stack, done, line)
        else:
            done(self.operand(frame.scope, line))

    def open_block(self, stack: list[Frame], done: Callable[[Expr], None], end: str = "") -> None:
        """Open a let that is a value: TVM prints it as a block, in parentheses unless another let binds it."""

        def finish(body: Expr) -> None:
            if end:
                self.expect(end)
                self.annotation()
            done(body)

        stack.append(Frame(finish, Scope()))

    def called_in_place(self, frame: Frame, done: Callable[[Expr], None]) -> Callable[[Expr], None]:
        def finish(function: Expr) -> None:
            done(self.suffix(function, frame.scope, function.line))

        return finish

    # -- if and match

    def open_if(self, frame: Frame, stack: list[Frame], done: Callable[[Expr], None], line: int) -> None:
        self.expect("(")
        condition = self.operand(frame.scope, line)
        self.expect(")")
        self.expect("{")

        def then_done(then: Expr) -> None:
            self.expect("}")
            self.expect("else")

            def else_done(other: Expr) -> None:
                self.expect("}")
                type, span = self.annotation()
                done(Expr("if", args=(condition, then, other), type=type or then.type, span=span, line=line))

            def chained_done(nested: Expr) -> None:
                done(Expr("if", args=(condition, then, nested), type=then.type, line=line))

            if self.token.text == "if":
                # the arm is the nested if itself, without braces
                stack.append(Frame(chained_done, Scope()))
                return
            self.expect("{")
            stack.append(Frame(else_done, Scope()))

        stack.append(Frame(then_done, Scope()))

    def open_match(self, frame: Frame, stack: list[Frame], done: Callable[[Expr], None], line: int) -> None:
        self.accept("?")
        self.expect("(")
        data = self.operand(frame.scope, line)
        self.expect(")")
        self.expect("{")
        patterns: list[Pattern] = []
        bodies: list[Expr] = []

        def clause() -> None:
            if self.accept("}"):
                type, span = self.annotation()
                result = Expr("match", args=(data, *bodies), patterns=tuple(patterns), span=span, line=line)
                result.type = type or (bodies[0].type if bodies else "")
                done(result)
                return
            scope = Scope()
            patterns.append(self.pattern(scope))
            self.expect("{")
            stack.append(Frame(clause_done, scope))

        def clause_done(body: Expr) -> None:
            bodies.append(body)
            self.expect("}")
            self.accept(",")
            clause()

        clause()

    def pattern(self, scope: Scope) -> Pattern:
        start, depth = self.token.offset, 0
        variables: list[Expr] = []
        while not (depth == 0 and self.token.text == "=>"):
            if self.token.kind == END:
                raise self.fail("`=>` after the pattern")
            if self.token.kind == "local":
                variables.append(self.variable(scope))
                continue
            depth += {"(": 1, ")": -1}.get(self.token.text, 0)
            self.at += 1
        parts = COMMENT.split(self.text[start : self.token.offset])
        text = "".join(part.rstrip() for part in parts).strip()
        self.at += 1
        return Pattern(text, tuple(variables))
