"""Reads a whole text: the global functions of a module, or one bare function; their blocks, bindings and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.dialects.nesting import drive
from workbench.dialects.relay.parser.ast import Expr, Module, Pattern
from workbench.dialects.relay.parser.tokens import COMMENT, END, Cursor, ObjectText, literal_type
from workbench.errors import ParseError

DEEPEST = 2000
"nested blocks; TVM's own recursion fails far earlier"


def parse(text: str) -> Module:
    """Read a module, or one bare function, as TVM prints it.

    Raises ParseError: gives the line, the column, the expected token and the snippet.
    """
    return Reader(text).module()


class Scope(list[str]):
    """The names that one function or block binds."""


class Names:
    """The variables in scope. Blocks nest, so each name keeps a stack, and the cost does not depend on the depth."""

    def __init__(self) -> None:
        self._bound: dict[str, list[Expr]] = {}

    def find(self, name: str) -> Expr | None:
        found = self._bound.get(name)
        return found[-1] if found else None

    def bind(self, scope: Scope, name: str, variable: Expr) -> None:
        scope.append(name)
        self._bound.setdefault(name, []).append(variable)

    def leave(self, scope: Scope) -> None:
        """Remove the variables that the block bound."""
        for name in scope:
            self._bound[name].pop()
        scope.clear()


@dataclass(slots=True, eq=False)
class Temporary:
    """A value that TVM numbered: %0, %1, ..."""

    value: Expr
    scope: Scope | None
    "the scope that binds it; None while only uses of it were read"
    offset: int
    "offset of its first occurrence"


_FIELD = re.compile(r"(.+)\.([0-9]{1,9})", re.DOTALL)
_REFS = {"ref": 1, "ref_read": 1, "ref_write": 2}
"and the number of values that each takes"


@dataclass(slots=True)
class OpenCall:
    """A call whose closing parenthesis is not yet read; without a callee it is a tuple."""

    callee: Expr | None
    arguments: list[Expr] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)


class Reader(Cursor):
    """Reads modules, functions, blocks and expressions."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.names = Names()
        self.constants: dict[str, Expr] = {}
        self.constructors: set[str] = set()
        "of the types that the text defines"
        self.temporaries: dict[str, Temporary] = {}
        "%0, %1, ... of the function being read, wherever they are bound in it"
        self.crossing = False
        "whether that function uses one outside the block that binds it"
        self.crossed: list[Expr] = []
        "the functions that do"
        self.depth = 0
        "functions and blocks that are open"

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

    # -- functions and blocks: generators that yield the constructs in them, and that `drive` runs without recursion

    def function(self) -> Expr:
        """Read a whole function, its header and its body, and everything nested in it."""
        self.temporaries.clear()
        self.crossing, self.depth = False, 0
        read: Expr = drive(self.function_value())
        for name, known in self.temporaries.items():
            if known.scope is None:
                raise ParseError(f"a variable that is bound here (%{name} is not)", self.text, known.offset)
        if self.crossing:
            self.crossed.append(read)
        return read

    def function_value(self) -> Iterator[Any]:
        line, scope = self.line(), Scope()
        params, attrs, result = self.header(scope)
        body = yield self.braced(scope)
        type, span = self.annotation()
        return Expr(
            "function", args=(body,), attrs=attrs, type=type, span=span, line=line, params=params, result=result
        )

    def header(self, scope: Scope) -> tuple[tuple[Expr, ...], dict[str, Any], str]:
        """Read type parameters, parameters, attributes and return type, up to the `{`."""
        if self.accept("["):
            while not self.accept("]"):
                if self.token.kind == END:
                    raise self.fail("`]` after the type parameters")
                self.at += 1
        self.expect("(")
        params: list[Expr] = []
        attrs: dict[str, Any] = {}
        while not self.accept(")"):
            if self.token.kind == "local":
                params.append(self.variable(scope))
            elif self.token.kind == "name":
                self.attribute(attrs)
            else:
                raise self.fail("a parameter `%x: type`, an attribute `name=value`, or `)`")
            self.separator()
        result = self.type_text(("{",)) if self.accept("->") else ""
        return tuple(params), attrs, result

    def braced(self, scope: Scope) -> Iterator[Any]:
        self.expect("{")
        body = yield self.block(scope)
        self.expect("}")
        return body

    def block(self, scope: Scope) -> Iterator[Any]:
        """Read bindings and their result, a let around it for each one of the block's lets."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail(f"at most {DEEPEST:,} functions and branches in one another")
        lets: list[tuple[Expr, Expr, int]] = []
        body: Expr | None = None
        while body is None:
            body = yield self.statement(scope, lets)
        for variable, value, line in reversed(lets):
            body = Expr("let", args=(variable, value, body), type=body.type, line=line)
        self.depth -= 1
        self.names.leave(scope)
        return body

    def statement(self, scope: Scope, lets: list[tuple[Expr, Expr, int]]) -> Iterator[Any]:
        """Read one binding, or the result of the block, and return the result."""
        self.skip_comments()
        token, line = self.token, self.line()
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)].text
        if token.text == "let":
            self.at += 1
            variable = self.variable(scope)
            self.expect("=")
            value = yield self.value(scope)
            self.expect(";")
            lets.append((variable, value, line))
        elif token.text == "free_var":
            self.free_variable(scope)
        elif token.kind == "local" and following == "=":
            name = token.text[1:]
            self.unbound_yet(name)
            self.at += 2
            value = yield self.value(scope)
            value.line = value.line or line
            self.bind(name, value, scope)
            self.end_binding()
        else:
            return (yield self.value(scope))
        return None

    def free_variable(self, scope: Scope) -> None:
        self.at += 1
        self.variable(scope)
        self.expect(";")

    def end_binding(self) -> None:
        self.accept(";")

    def value(self, scope: Scope) -> Expr | Iterator[Any]:
        """Read an expression, or return the generator that does: for one with a block of its own."""
        self.skip_comments()
        token, line = self.token, self.line()
        # a let that is a value is a block, in parentheses unless another let binds it
        if token.text == "let":
            return self.block(Scope())
        if self.at_mark("(") and self.after_comments(self.at + 1).text == "let":
            return self.parenthesized()
        if token.text not in _CONSTRUCTS:
            return self.operand(scope, line)
        self.at += 1
        return _CONSTRUCTS[token.text](self, scope, line)

    def parenthesized(self) -> Iterator[Any]:
        self.at += 1
        body = yield self.block(Scope())
        self.expect(")")
        self.annotation()
        return body

    def called_in_place(self, scope: Scope, _line: int) -> Iterator[Any]:
        function = yield self.function_value()
        return self.operand(scope, function.line, function)

    def branches(self, scope: Scope, line: int) -> Iterator[Any]:
        self.expect("(")
        condition = self.operand(scope, line)
        self.expect(")")
        then = yield self.braced(Scope())
        self.expect("else")
        if self.token.text == "if":
            # the arm is the nested if itself, without braces
            nested = yield self.block(Scope())
            return Expr("if", args=(condition, then, nested), type=then.type, line=line)
        other = yield self.braced(Scope())
        type, span = self.annotation()
        return Expr("if", args=(condition, then, other), type=type or then.type, span=span, line=line)

    def clauses(self, scope: Scope, line: int) -> Iterator[Any]:
        self.accept("?")
        self.expect("(")
        data = self.operand(scope, line)
        self.expect(")")
        self.expect("{")
        patterns: list[Pattern] = []
        bodies: list[Expr] = []
        while not self.accept("}"):
            inner = Scope()
            patterns.append(self.pattern(inner))
            body = yield self.braced(inner)
            bodies.append(body)
            self.accept(",")
        type, span = self.annotation()
        type = type or (bodies[0].type if bodies else "")
        return Expr("match", args=(data, *bodies), patterns=tuple(patterns), type=type, span=span, line=line)

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

    # -- expressions without a block of their own

    def variable(self, scope: Scope) -> Expr:
        """Return a variable where it is bound: its name, and its type if the text gives one."""
        self.skip_comments()
        line = self.line()
        if self.token.kind != "local":
            raise self.fail("a variable, `%x`")
        name = self.token.text[1:]
        self.at += 1
        attrs: dict[str, Any] = {}
        if self.accept("{"):
            # PlanDevices writes the device of a parameter: `%x {virtual_device=...}: type`
            while not self.accept("}"):
                self.attribute(attrs)
                self.accept(",")
        type, _ = self.annotation()
        if self.accept(":"):
            written = self.type_text((",", ")", "=", "}", ";"))
            after, _ = self.annotation()
            type = after or type or written
        variable = Expr("var", name, attrs=attrs, type=type, line=line)
        self.names.bind(scope, name, variable)
        return variable

    def operand(self, scope: Scope, line: int, value: Expr | None = None) -> Expr:
        """Return an atom, a tuple or a call, nested as deeply as the text nests them; with a value, its calls."""
        open_calls: list[OpenCall] = []
        while True:
            self.skip_comments()
            if value is None and self.at_mark("("):
                self.at += 1
                open_calls.append(OpenCall(None))
            elif value is None:
                value = self.atom(scope, line)
            if value is not None and self.at_mark("("):
                self.at += 1
                open_calls.append(OpenCall(value))
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

    def attributes(self, call: OpenCall) -> None:
        """Read the `name=value` attributes after a call's arguments.

        TVM 0.7 kept some operators' attributes outside the text, `meta[relay.attrs.OnDeviceAttrs][0]`: the value
        of an attribute that the text does not name.
        """
        self.skip_comments()
        while call.callee is not None and self.token.kind == "meta" and "[relay.Constant]" not in self.token.text:
            call.attrs["attrs"] = ObjectText(self.token.text)
            self.at += 1
            self.separator()
        while call.callee is not None and self.token.kind == "name" and self.tokens[self.at + 1].text == "=":
            self.attribute(call.attrs)
            self.separator()

    def closed(self, call: OpenCall, line: int) -> Expr:
        type, span = self.annotation()
        callee, arguments = call.callee, tuple(call.arguments)
        if callee is None:
            return Expr("tuple", args=arguments, type=type, span=span, line=line)
        if callee.kind == "op" and callee.text in _REFS:
            if len(arguments) != _REFS[callee.text]:
                raise self.fail(f"as many values in {callee.text}(...) as it takes, {_REFS[callee.text]}, before this")
            return Expr("ref", callee.text, arguments, type=type, span=span, line=line)
        return Expr("call", args=(callee, *arguments), attrs=call.attrs, type=type, span=span, line=line)

    def atom(self, scope: Scope, line: int) -> Expr:
        token = self.token
        kind = token.kind
        if kind == "local":
            return self.local(scope, line)
        if kind == "meta":
            return self.meta(line)
        if kind == "number" or token.text in ("True", "False"):
            self.at += 1
            type, span = self.annotation()
            return Expr("constant", token.text, type=type or literal_type(token.text), span=span, line=line)
        if kind == "global":
            self.at += 1
            self.annotation()
            return Expr("global", token.text[1:], line=line)
        if kind == "name":
            self.at += 1
            if not token.text[0].isupper() and token.text not in self.constructors:
                return Expr("op", token.text, line=line)
            type, span = self.annotation()
            return Expr("constructor", token.text, type=type, span=span, line=line)
        raise self.fail("an expression")

    def local(self, scope: Scope, line: int) -> Expr:
        token = self.token
        name = token.text[1:]
        found = self.names.find(name) or self.shared(name, scope)
        index = ""
        if found is None and (field := _FIELD.fullmatch(name)):
            name, index = field.groups()
            found = self.names.find(name) or self.shared(name, scope)
        if found is None:
            found, index = self.unbound(token.text[1:]), ""
        self.at += 1
        type, span = self.annotation()
        if index:
            return Expr("get_item", index, (found,), type=type, span=span, line=line)
        if type and not found.type and found.kind == "var":
            found.type = type
        return found

    def unbound(self, name: str) -> Expr:
        """Return the expression for an unbound name; raises an error, as TVM prints none."""
        raise self.fail(f"a variable that is bound here (%{name} is not)")

    def shared(self, name: str, scope: Scope) -> Expr | None:
        """Return the value that TVM numbered, wherever in the function it is bound.

        TVM binds a value where its printer first visits it: inside a branch, though other blocks use it too, and
        in the text even after a use. `graph.homes` finds the block of such a value.
        """
        known = self.temporaries.get(name)
        if known is None and not name.isdigit():
            return None
        if known is None:
            known = self.temporaries[name] = Temporary(Expr("pending"), None, self.token.offset)
        self.crossing |= known.scope is not scope
        return known.value

    def unbound_yet(self, name: str) -> None:
        """Check that a number is not bound yet; a second binding begins another program."""
        known = self.temporaries.get(name)
        if known is not None and known.scope is not None:
            raise self.fail(f"a number that is not bound yet (%{name} is)")

    def bind(self, name: str, value: Expr, scope: Scope) -> None:
        """Bind a number to its value, also for uses before it."""
        known = self.temporaries.get(name)
        if known is None or known.scope is not None:
            self.temporaries[name] = Temporary(value, scope, self.token.offset)
            return
        for slot in Expr.__slots__:
            setattr(known.value, slot, getattr(value, slot))
        known.scope = scope

    def meta(self, line: int) -> Expr:
        """Return a constant stored outside the text; one index is one object, so its uses share an Expr."""
        text = self.token.text
        self.at += 1
        type, span = self.annotation()
        known = self.constants.get(text)
        if known is None:
            known = self.constants[text] = Expr("constant", text, type=type, span=span, line=line)
        known.type = known.type or type
        return known


_CONSTRUCTS: dict[str, Callable[[Reader, Scope, int], Iterator[Any]]] = {
    "fn": Reader.called_in_place,
    "if": Reader.branches,
    "match": Reader.clauses,
    "match?": Reader.clauses,
}
"the word that opens an expression with blocks -> the method that reads the rest of it"
