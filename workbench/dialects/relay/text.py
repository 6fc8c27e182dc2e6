"""Reads the text that TVM prints for Relay, without TVM.

TVM's printer is the one interface that every Relay-era version shares, it costs one call whatever the module's size, and
people paste its output; so the graph of a live module is read from its text too. The reader is an explicit stack of
unfinished constructs (`_Frame`), never recursion: graphs nest as deeply as people's models do.

Grammar: https://tvm.apache.org/docs/v0.17.0/reference/langref/relay_expr.html
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from workbench.dialects.relay.ast import Expr, Module, Pattern
from workbench.dialects.relay.tokens import END, Token, tokenize
from workbench.errors import ParseError

_COMMENT = re.compile(r"/\*\s*(?:ty=(?P<type>.*?))?\s*(?:\bspan=(?P<span>.*?))?\s*\*/", re.DOTALL)
_FIELD = re.compile(r"(.+)\.([0-9]{1,9})", re.DOTALL)
_ADDRESS = re.compile(r"\bTarget\(id=[0-9a-f]+, ?")
_REFS = ("ref", "ref_read", "ref_write")


def parse(text: str) -> Module:
    """Read a module, or one bare function, as TVM prints it.

    Raises
    ------
    ParseError
        With the line, the column, what was expected there and the snippet.
    """
    return _Reader(text).module()


@lru_cache(maxsize=4096)
def _type_and_span(comment: str) -> tuple[str, str]:
    found = _COMMENT.fullmatch(comment)
    if found is None:
        return "", ""
    return found.group("type") or "", found.group("span") or ""


class _Scope:
    """The variables of one function or block, and where to look next."""

    __slots__ = ("outer", "values")

    def __init__(self, outer: _Scope | None = None) -> None:
        self.values: dict[str, Expr] = {}
        self.outer = outer

    def find(self, name: str) -> Expr | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None


@dataclass(slots=True, eq=False)
class _Temporary:
    """%0, %1, ...: a value that TVM numbered."""

    value: Expr
    scope: _Scope | None
    "where it is bound; None while only its uses were read"
    offset: int
    "where it was seen first"


class _Frame:
    """A construct that waits for its parts: what to do when the part that is being read is done."""

    __slots__ = ("done", "lets", "scope")

    def __init__(self, done: Callable[[Expr], None], scope: _Scope) -> None:
        self.done = done
        self.scope = scope
        self.lets: list[tuple[Expr, Expr, int]] = []


@dataclass(slots=True)
class _OpenCall:
    """A call, or a tuple where there is no callee, whose closing parenthesis is still to come."""

    callee: Expr | None
    arguments: list[Expr] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.line_at = 0
        self.line_count = 1
        self.constants: dict[str, Expr] = {}
        self.temporaries: dict[str, _Temporary] = {}
        "%0, %1, ... of the function that is being read, wherever in it they were bound"
        self.crossed: list[Expr] = []
        self.crossing = False
        "whether that function uses one outside the block that binds it"

    # -- tokens

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
        """The line of the current token; counted forward, so that the whole text is counted once."""
        offset = self.token.offset
        if offset >= self.line_at:
            self.line_count += self.text.count("\n", self.line_at, offset)
            self.line_at = offset
            return self.line_count
        return self.text.count("\n", 0, offset) + 1

    def annotation(self) -> tuple[str, str]:
        """The type and span of the comment that stands here, if one does."""
        type, span = "", ""
        while self.tokens[self.at].kind == "comment":
            found_type, found_span = _type_and_span(self.tokens[self.at].text)
            type, span = type or found_type, span or found_span
            self.at += 1
        return type, span

    # -- module

    def module(self) -> Module:
        functions: dict[str, Expr] = {}
        while True:
            self.skip_comments()
            token = self.token
            if token.kind == END:
                return Module(functions, self.crossed)
            if token.text == "#[metadata]":
                # what follows is JSON for TVM's own parser: the values of the constants
                return Module(functions, self.crossed)
            if token.kind == "version":
                self.at += 1
            elif token.text == "def":
                self.at += 1
                self.skip_comments()
                name = self.token
                if name.kind != "global":
                    raise self.fail("the name of a global function, `@main`")
                self.at += 1
                functions[name.text[1:]] = self.function_at(_Scope())
            elif token.text in ("type", "extern"):
                self.skip_type_definition()
            elif token.text == "fn" and not functions:
                self.at += 1
                functions["main"] = self.function_at(_Scope())
            else:
                raise self.fail("`def @name(...)`, `fn (...)` or the end of the text")

    def skip_type_definition(self) -> None:
        depth = 0
        while self.token.kind != END:
            self.at += 1
            depth += {"{": 1, "}": -1}.get(self.tokens[self.at - 1].text, 0)
            if depth == 0 and self.tokens[self.at - 1].text in ("}", ";"):
                return
        raise self.fail("`}` at the end of the type definition")

    # -- functions and blocks

    def function_at(self, outer: _Scope) -> Expr:
        """Read a whole function, its header and its body, and everything nested in it."""
        result: list[Expr] = []
        stack: list[_Frame] = []
        self.temporaries.clear()
        self.crossing = False
        self.open_function(outer, stack, result.append)
        while stack:
            self.step(stack)
        for name, known in self.temporaries.items():
            if known.scope is None:
                raise ParseError(f"a variable that is bound here (%{name} is not)", self.text, known.offset)
        if self.crossing:
            self.crossed.append(result[0])
        return result[0]

    def open_function(self, outer: _Scope, stack: list[_Frame], done: Callable[[Expr], None]) -> None:
        line = self.line()
        scope = _Scope(outer)
        params, attrs = self.header(scope)

        def finish(body: Expr) -> None:
            self.expect("}")
            type, span = self.annotation()
            done(Expr("function", args=(body,), attrs=attrs, type=type, span=span, line=line, params=params))

        self.expect("{")
        stack.append(_Frame(finish, scope))

    def header(self, scope: _Scope) -> tuple[tuple[Expr, ...], dict[str, Any]]:
        """Type parameters, parameters, attributes and return type, up to the `{`."""
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
        if self.accept("->"):
            self.type_text(("{",))
        return tuple(params), attrs

    def variable(self, scope: _Scope) -> Expr:
        """A variable where it is bound: its name, and its type if the text gives one."""
        self.skip_comments()
        line = self.line()
        if self.token.kind != "local":
            raise self.fail("a variable, `%x`")
        name = self.token.text[1:]
        self.at += 1
        attrs: dict[str, Any] = {}
        if self.accept("{"):
            # PlanDevices writes where a parameter lives: `%x {virtual_device=...}: type`
            while not self.accept("}"):
                self.attribute(attrs)
                self.accept(",")
        type, _ = self.annotation()
        if self.accept(":"):
            written = self.type_text((",", ")", "=", "}"))
            after, _ = self.annotation()
            type = after or type or written
        variable = Expr("var", name, attrs=attrs, type=type, line=line)
        scope.values[name] = variable
        return variable

    def type_text(self, ends: tuple[str, ...]) -> str:
        """The text of a type, up to a comment or to one of `ends` outside all brackets."""
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
        return "" if start is None else self.text[start : self.tokens[self.at].offset].strip()

    def step(self, stack: list[_Frame]) -> None:
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
            self.at += 1
            self.variable(frame.scope)
            self.expect(";")
        elif token.kind == "local" and following == "=":
            self.at += 2
            self.value(frame, stack, self.bind_temp(frame, token.text[1:], line))
        else:
            self.value(frame, stack, self.close_block(frame, stack))

    def bind_let(self, frame: _Frame, variable: Expr, line: int) -> Callable[[Expr], None]:
        def done(value: Expr) -> None:
            self.expect(";")
            frame.lets.append((variable, value, line))

        return done

    def bind_temp(self, frame: _Frame, name: str, line: int) -> Callable[[Expr], None]:
        def done(value: Expr) -> None:
            if not value.line:
                value.line = line
            self.bind(name, value, frame.scope)
            self.accept(";")

        return done

    def close_block(self, frame: _Frame, stack: list[_Frame]) -> Callable[[Expr], None]:
        def done(body: Expr) -> None:
            for variable, value, line in reversed(frame.lets):
                body = Expr("let", args=(variable, value, body), type=body.type, line=line)
            stack.remove(frame)
            frame.done(body)

        return done

    # -- expressions

    def value(self, frame: _Frame, stack: list[_Frame], done: Callable[[Expr], None]) -> None:
        """Read one expression and hand it to `done`; a construct with a block of its own is pushed and finished later."""
        self.skip_comments()
        token, line = self.token, self.line()
        if token.text == "fn":
            self.at += 1
            self.open_function(frame.scope, stack, self.called_in_place(frame, done))
        elif token.text == "if":
            self.at += 1
            self.open_if(frame, stack, done, line)
        elif self.at_mark("(") and self.after_comments(self.at + 1).text == "let":
            self.at += 1
            self.open_block(frame, stack, done, ")")
        elif token.text == "let":
            self.open_block(frame, stack, done)
        elif token.text in ("match", "match?"):
            self.at += 1
            self.open_match(frame, stack, done, line)
        else:
            done(self.operand(frame.scope, line))

    def after_comments(self, at: int) -> Token:
        while self.tokens[at].kind == "comment":
            at += 1
        return self.tokens[at]

    def open_block(self, frame: _Frame, stack: list[_Frame], done: Callable[[Expr], None], end: str = "") -> None:
        """A let that is a value: TVM prints it as a block, in parentheses unless it is bound by another let."""

        def finish(body: Expr) -> None:
            if end:
                self.expect(end)
                self.annotation()
            done(body)

        stack.append(_Frame(finish, _Scope(frame.scope)))

    def called_in_place(self, frame: _Frame, done: Callable[[Expr], None]) -> Callable[[Expr], None]:
        def finish(function: Expr) -> None:
            done(self.suffix(function, frame.scope, function.line))

        return finish

    def open_if(self, frame: _Frame, stack: list[_Frame], done: Callable[[Expr], None], line: int) -> None:
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

            if self.token.text == "if":
                # `else if`: the arm is the nested if itself, without braces
                self.at += 1
                self.open_if(
                    frame,
                    stack,
                    lambda nested: done(Expr("if", args=(condition, then, nested), type=then.type, line=line)),
                    line,
                )
                return
            self.expect("{")
            stack.append(_Frame(else_done, _Scope(frame.scope)))

        stack.append(_Frame(then_done, _Scope(frame.scope)))

    def open_match(self, frame: _Frame, stack: list[_Frame], done: Callable[[Expr], None], line: int) -> None:
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
            scope = _Scope(frame.scope)
            patterns.append(self.pattern(scope))
            self.expect("{")
            stack.append(_Frame(clause_done, scope))

        def clause_done(body: Expr) -> None:
            bodies.append(body)
            self.expect("}")
            self.accept(",")
            clause()

        clause()

    def pattern(self, scope: _Scope) -> Pattern:
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
        text = re.sub(r"\s*/\*.*?\*/", "", self.text[start : self.token.offset], flags=re.DOTALL).strip()
        self.at += 1
        return Pattern(text, tuple(variables))

    def operand(self, scope: _Scope, line: int) -> Expr:
        """An expression without a block: an atom, a tuple, a call; nested as deeply as the text nests them."""
        open_calls: list[_OpenCall] = []
        value: Expr | None = None
        while True:
            self.skip_comments()
            if value is None and self.at_mark("("):
                self.at += 1
                open_calls.append(_OpenCall(None))
            elif value is None:
                value = self.atom(scope, line)
            if value is not None and self.at_mark("("):
                self.at += 1
                open_calls.append(_OpenCall(value))
                value = None
            elif value is not None and not open_calls:
                return value
            elif value is not None:
                open_calls[-1].arguments.append(value)
                self.separator()
                value = None
            if value is None:
                call = open_calls[-1]
                self.attributes(call)
                if self.accept(")"):
                    value = self.closed(call, line)
                    open_calls.pop()

    def at_mark(self, text: str) -> bool:
        return self.token.kind == "mark" and self.token.text == text

    def separator(self) -> None:
        """A comma, unless the list ends here."""
        self.skip_comments()
        if not self.at_mark(")"):
            self.expect(",")

    def attributes(self, call: _OpenCall) -> None:
        """The `name=value` attributes that stand after a call's arguments."""
        self.skip_comments()
        while call.callee is not None and self.token.kind == "name" and self.tokens[self.at + 1].text == "=":
            self.attribute(call.attrs)
            self.separator()

    def closed(self, call: _OpenCall, line: int) -> Expr:
        type, span = self.annotation()
        callee, arguments = call.callee, tuple(call.arguments)
        if callee is None:
            return Expr("tuple", args=arguments, type=type, span=span, line=line)
        if callee.kind == "op" and callee.text in _REFS:
            return Expr("ref", callee.text, arguments, type=type, span=span, line=line)
        return Expr("call", args=(callee, *arguments), attrs=call.attrs, type=type, span=span, line=line)

    def suffix(self, value: Expr, scope: _Scope, line: int) -> Expr:
        """A function literal may be called where it stands."""
        if not self.at_mark("("):
            return value
        self.at += 1
        call = _OpenCall(value)
        while not self.accept(")"):
            call.arguments.append(self.operand(scope, line))
            self.separator()
        return self.closed(call, line)

    def atom(self, scope: _Scope, line: int) -> Expr:
        token = self.token
        kind = token.kind
        if kind == "local":
            return self.local(scope, line)
        if kind == "meta":
            return self.meta(line)
        if kind == "number" or token.text in ("True", "False"):
            self.at += 1
            type, span = self.annotation()
            return Expr("constant", token.text, type=type, span=span, line=line)
        if kind == "global":
            self.at += 1
            self.annotation()
            return Expr("global", token.text[1:], line=line)
        if kind == "name":
            self.at += 1
            if not token.text[0].isupper():
                return Expr("op", token.text, line=line)
            type, span = self.annotation()
            return Expr("constructor", token.text, type=type, span=span, line=line)
        raise self.fail("an expression")

    def local(self, scope: _Scope, line: int) -> Expr:
        token = self.token
        name = token.text[1:]
        found = scope.find(name) or self.shared(name, scope)
        index = ""
        if found is None and (field := _FIELD.fullmatch(name)):
            name, index = field.groups()
            found = scope.find(name) or self.shared(name, scope)
        if found is None:
            raise self.fail(f"a variable that is bound here (%{token.text[1:]} is not)")
        self.at += 1
        type, span = self.annotation()
        if index:
            return Expr("get_item", index, (found,), type=type, span=span, line=line)
        return found

    def shared(self, name: str, scope: _Scope) -> Expr | None:
        """The value that TVM numbered, wherever in the function it is bound.

        TVM binds a value where its printer comes across it first: inside a branch, though other blocks use it too, and
        in the text even after a use. Where such a value belongs is said in blocks.py.
        """
        known = self.temporaries.get(name)
        if known is None and not name.isdigit():
            return None
        if known is None:
            known = self.temporaries[name] = _Temporary(Expr("pending"), None, self.token.offset)
        self.crossing |= known.scope is not scope
        return known.value

    def bind(self, name: str, value: Expr, scope: _Scope) -> None:
        """Give a number its value, also where it was used before."""
        known = self.temporaries.get(name)
        if known is None or known.scope is not None:
            self.temporaries[name] = _Temporary(value, scope, self.token.offset)
            return
        for slot in Expr.__slots__:
            setattr(known.value, slot, getattr(value, slot))
        known.scope = scope

    def meta(self, line: int) -> Expr:
        """A constant kept beside the text; one index is one object, so its uses share an Expr."""
        text = self.token.text
        self.at += 1
        type, span = self.annotation()
        known = self.constants.get(text)
        if known is None:
            known = self.constants[text] = Expr("constant", text, type=type, span=span, line=line)
        return known

    # -- attributes

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
