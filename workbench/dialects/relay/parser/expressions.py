"""Names in scope, and expressions without a block of their own: atoms, tuples, calls, nested as deeply as in the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workbench.dialects.relay.parser.ast import Expr
from workbench.dialects.relay.parser.tokens import Attributes, ObjectText, literal_type


class Names:
    """The variables in scope. Blocks nest, so each name keeps a stack, and the cost does not depend on the depth."""

    def __init__(self) -> None:
        self._bound: dict[str, list[Expr]] = {}

    def find(self, name: str) -> Expr | None:
        found = self._bound.get(name)
        return found[-1] if found else None

    def bind(self, scope: Scope, name: str, variable: Expr) -> None:
        scope.names.append(name)
        self._bound.setdefault(name, []).append(variable)

    def leave(self, scope: Scope) -> None:
        """Remove the variables that the block bound."""
        for name in scope.names:
            self._bound[name].pop()
        scope.names.clear()


class Scope:
    """One function or block, and the variables that it binds."""

    __slots__ = ("names",)

    def __init__(self) -> None:
        self.names: list[str] = []


@dataclass(slots=True, eq=False)
class Temporary:
    """A value that TVM numbered: %0, %1, ..."""

    value: Expr
    scope: Scope | None
    "the scope that binds it; None while only uses of it were read"
    offset: int
    "offset of its first occurrence"


class Frame:
    """A construct that waits for its parts: the action when the part being read is done."""

    __slots__ = ("done", "lets", "scope")

    def __init__(self, done: Callable[[Expr], None], scope: Scope) -> None:
        self.done = done
        self.scope = scope
        self.lets: list[tuple[Expr, Expr, int]] = []


_FIELD = re.compile(r"(.+)\.([0-9]{1,9})", re.DOTALL)
_REFS = {"ref": 1, "ref_read": 1, "ref_write": 2}
"and the number of values that each takes"


@dataclass(slots=True)
class OpenCall:
    """A call whose closing parenthesis is not yet read; a tuple if there is no callee."""

    callee: Expr | None
    arguments: list[Expr] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)


class Expressions(Attributes):
    """Reads expressions without blocks."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.names = Names()
        self.constants: dict[str, Expr] = {}
        self.constructors: set[str] = set()
        "of the types that the text defines"
        self.temporaries: dict[str, Temporary] = {}
        "%0, %1, ... of the function being read, wherever they are bound in it"
        self.finished: list[tuple[Callable[[Expr], None], Expr]] = []
        "completed constructs, and the callback that waits for each"
        self.crossing = False
        "whether that function uses one outside the block that binds it"

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

    def operand(self, scope: Scope, line: int) -> Expr:
        """Return an expression without a block: an atom, a tuple, a call; nested as deeply as the text nests them."""
        open_calls: list[OpenCall] = []
        value: Expr | None = None
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

    def suffix(self, value: Expr, scope: Scope, line: int) -> Expr:
        """Return a value with its calls: a function literal may be called in place."""
        if not self.at_mark("("):
            return value
        self.at += 1
        call = OpenCall(value)
        while not self.accept(")"):
            call.arguments.append(self.operand(scope, line))
            self.separator()
        return self.closed(call, line)

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
        in the text even after a use. blocks.py finds the block of such a value.
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
