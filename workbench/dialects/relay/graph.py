"""Conversion of Relay expressions to the neutral Graph, without TVM.

The walk visits in TVM's own post-DFS order (operator expression, then arguments left to right; parameters, then body),
so that the node order is that of TVM's passes. It keeps its own stack: chains of 20,000 operators must not end the
process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.dialects.importers.names import node_of_span
from workbench.dialects.nesting import Env, TooManyCopies, Walk
from workbench.dialects.relay.parser.ast import Expr, Module, field_type, operands_first, result_type
from workbench.errors import LoadError
from workbench.graph.model import Graph

IN_PLACE = ("Primitive", "Composite", "Compiler")
"A global function with one of these attributes is a kernel or an offloaded region, and is drawn where it is called."

Key = tuple[Expr, int]
"A block: the function, if or match that opens it, and the index of its part."

LONGEST_TYPE = 50_000
"characters of a tuple's type that is composed here; a longer one is left out"
DERIVED_TYPES = 10_000_000
"characters of all composed types in a graph"


def build_graph(
    module: Module,
    name: str,
    pattern_of: Callable[[str, bool], int | None],
    digests: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    origins: list[Expr] | None = None,
) -> Graph:
    """Return the graph of a module; `origins` is filled with the expression of each node, in node order.

    `pattern_of` returns an operator's fusion kind, given whether the shape of the result is known only at run time.
    `digests`: for a tensor constant's name in the text, a digest of its values. `names`: for a variable's name in the
    text, the name to show, if they differ.
    """
    given = module, name, pattern_of, digests or {}, names or {}
    walk = _Walk(*given)
    try:
        graph = walk.run()
    except TooManyCopies:
        walk = _Walk(*given, once=_called_often(module))
        graph = walk.run()
    if origins is not None:
        origins.extend(walk.origins)
    return graph


def plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as values of Python's own types, as in a file; those of the text may be of a subclass."""
    return {name: _plain_value(value) for name, value in attrs.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain_value, value))
    base = next((base for base in (bool, int, float, str) if isinstance(value, base)), None)
    return value if base in (None, type(value)) else base(value)


def _called_often(module: Module) -> set[Expr]:
    """Return the functions that more than one call draws in place."""
    exprs = operands_first(module.functions.values())
    calls = Counter(found[0] for expr in exprs if expr.kind == "call" and (found := callee_in_place(module, expr)))
    return {function for function, count in calls.items() if count > 1}


def callee_in_place(module: Module, call: Expr) -> tuple[Expr, str] | None:
    """Return the function that is drawn where it is called, and its name; None for another call."""
    callee = call.args[0]
    if callee.kind == "function":
        return callee, str(callee.attrs.get("Composite") or callee.attrs.get("global_symbol") or "")
    if callee.kind == "global":
        function = module.functions.get(callee.text)
        if function is not None and any(map(function.attrs.get, IN_PLACE)):
            return function, callee.text
    return None


@dataclass(slots=True, eq=False)
class _Block:
    key: Key
    outer: _Block | None
    depth: int


def homes(function: Expr) -> dict[Expr, Key]:
    """Return the block of each value that several use: the innermost one around all its uses.

    A block is the body of a function, an arm of an if, or a clause of a match. TVM's printer binds a shared value at its
    first use, inside a branch though other blocks use it too; TVM's own passes place it as is done here
    (src/relay/transforms/to_a_normal_form.cc, CalcScope).

    Raises LoadError: a value uses itself, which text can express and a program cannot.
    """
    block_of: dict[Expr, _Block] = {function.args[0]: _Block((function, 0), None, 0)}
    shared: dict[Expr, Key] = {}
    done: set[Expr] = set()
    for expr in reversed(operands_first(function.args)):
        if expr not in block_of:  # a parameter that nothing uses
            continue
        done.add(expr)
        here = block_of[expr]
        inside = {"function": 0, "if": 1, "match": 1}.get(expr.kind, len(expr.args))
        for place, operand in enumerate(expr.args):
            if operand in done:
                raise LoadError(
                    f"line {operand.line}: this value is made from itself; check the numbers %0, %1, ... of the text"
                )
            block = here if place < inside else _Block((expr, place), here, here.depth + 1)
            known = block_of.get(operand)
            block_of[operand] = block if known is None else _around(known, block)
            if known is not None and known is not block:
                shared[operand] = block_of[operand].key
    return {expr: key for expr, key in shared.items() if expr.kind not in ("var", "constant")}


def _around(a: _Block, b: _Block) -> _Block:
    """Return the innermost block around both."""
    while a.key != b.key:
        if a.depth < b.depth:
            a, b = b, a
        assert a.outer is not None, "the body of the function is around every block"
        a = a.outer
    return a


class _Env(Env):
    __slots__ = ("block",)

    block: Key


class _Walk(Walk):
    env_type, in_place_marks = _Env, IN_PLACE

    def __init__(
        self,
        module: Module,
        name: str,
        pattern_of: Callable[[str, bool], int | None],
        digests: Mapping[str, str],
        names: Mapping[str, str],
        once: Collection[Expr] = (),
    ) -> None:
        super().__init__(name, "relay", module.functions, once)
        self.module = module
        self.pattern_of = pattern_of
        self.digests = digests
        self.names = names
        self.derived = 0
        self.origins: list[Expr] = []
        self.homes = {expr: block for function in module.crossed for expr, block in homes(function).items()}

    # -- functions

    def key(self, expr: Expr) -> Expr:
        return expr

    def given(self, expr: Expr) -> dict[str, Any]:
        return plain(expr.attrs)

    def enter(self, function: Expr, env: _Env, arguments: list[int] | None = None) -> None:
        env.block = function, 0
        new = (self.add(env, "param", self.shown(p), (), p, attrs=plain(p.attrs)) for p in function.params)
        env.values.update(zip(function.params, new if arguments is None else arguments, strict=False))

    def body(self, function: Expr, env: _Env) -> Iterator[Any]:
        first = len(self.builder.nodes)
        output = yield self.value(function.args[0], env)
        group = self.builder.groups[env.group or 0]
        if not group.name and group.kind == "primitive":
            # TVM's name for the kernel, without the number that it appends
            nodes = (node for node in self.builder.nodes[first:] if node.group == group.id and node.kind == "op")
            ops = [node.op.replace(".", "_") for node in nodes]
            self.builder.rename(group.id, "_".join(["fused", *ops])[:80])
        return output

    # -- values

    def value(self, expr: Expr, env: _Env) -> Iterator[Any]:
        """Return the node of the value of `expr`, made if there is none yet."""
        found = env.find(expr)
        if found is not None:
            return found
        # Straight chains are by far the most common, so producers are walked with a plain list here; only constructs
        # that open a scope of their own go through the driver.
        stack = [(expr, self.home(expr, env))]
        while stack:
            current, here = stack[-1]
            if here.find(current) is not None:
                stack.pop()
                continue
            if current.kind in ("let", "function", "if", "match") or self.is_in_place_call(current):
                node = yield _SCOPES[current.kind](self, current, here)
            else:
                waiting = [arg for arg in self.operands(current) if here.find(arg) is None]
                if waiting:
                    stack.extend((arg, self.home(arg, here)) for arg in reversed(waiting))
                    continue
                node = self.leaf(current, here)
            self.copies.add(here.repeated)
            here.values[current] = node
            stack.pop()
        found = env.find(expr)
        assert found is not None
        return found

    def home(self, expr: Expr, env: _Env) -> _Env:
        """Return the env of the block that the value belongs to: `env`, or one around it."""
        block = self.homes.get(expr)
        home = env
        while block is not None and home.block != block and home.outer is not None:
            home = home.outer
        return home

    def operands(self, expr: Expr) -> tuple[Expr, ...]:
        """Return the operands of the expression that are values: a named callee is not."""
        if expr.kind == "call" and expr.args[0].kind in ("op", "global", "constructor"):
            return expr.args[1:]
        return expr.args

    def is_in_place_call(self, expr: Expr) -> bool:
        if expr.kind != "call":
            return False
        found = callee_in_place(self.module, expr)
        # drawing a function inside itself would never end
        return found is not None and found[0] not in self.once and found[0] not in self.open

    def visit_call(self, expr: Expr, env: _Env) -> Iterator[Any]:
        found = callee_in_place(self.module, expr)
        assert found is not None
        function, name = found
        output = yield self.in_place(function, name, expr.args[1:], env)
        return output

    def visit_function(self, expr: Expr, env: _Env) -> Iterator[Any]:
        """Draw a function that is a value: a node for the value, and a box for its body."""
        output = yield self.function(expr, "fn", env)
        return self.add(env, "function", "fn", (output,), expr)

    def visit_let(self, expr: Expr, env: _Env) -> Iterator[Any]:
        while expr.kind == "let":
            variable, value, body = expr.args
            node = yield self.value(value, env)
            self.copies.add(env.repeated)
            env.values[variable] = node
            self.hold(node, "let", self.shown(variable))
            expr = body
        node = yield self.value(expr, env)
        self.hold(node, "body")
        return node

    def visit_if(self, expr: Expr, env: _Env) -> Iterator[Any]:
        condition, then, other = expr.args
        inputs = [(yield self.value(condition, env))]
        for place, arm, name in ((1, then, "then"), (2, other, "else")):
            group = self.builder.group("branch", name, env.group)
            inner = _Env(group, env)
            inner.block = expr, place
            inputs.append((yield self.value(arm, inner)))
            self.builder.returns(group, inputs[-1])
        return self.add(env, "if", "if", inputs, expr)

    def visit_match(self, expr: Expr, env: _Env) -> Iterator[Any]:
        data, *bodies = expr.args
        inputs = [(yield self.value(data, env))]
        for place, (body, pattern) in enumerate(zip(bodies, expr.patterns, strict=True), 1):
            group = self.builder.group("branch", pattern.text, env.group)
            inner = _Env(group, env)
            inner.block = expr, place
            for variable in pattern.variables:
                inner.values[variable] = self.add(inner, "param", self.shown(variable), inputs[:1], variable)
            inputs.append((yield self.value(body, inner)))
            self.builder.returns(group, inputs[-1])
        return self.add(env, "match", "match", inputs, expr)

    def leaf(self, expr: Expr, env: _Env) -> int:
        """Return a node for an expression whose operands all have one."""
        inputs = [node for arg in self.operands(expr) if (node := env.find(arg)) is not None]
        kind, text = expr.kind, expr.text
        if kind == "call":
            return self.call(expr, inputs, env)
        if kind == "get_item":
            return self.add(env, "get_item", f".{text}", inputs, expr)
        if kind == "var":
            return self.add(env, "param", self.shown(expr), (), expr)
        if kind == "constructor":
            return self.add(env, "call", text, (), expr)
        return self.add(env, kind if kind != "op" else "global", text or kind, inputs, expr)

    def call(self, expr: Expr, inputs: list[int], env: _Env) -> int:
        callee = expr.args[0]
        if callee.kind == "op":
            pattern = self.pattern_of(callee.text, "?" in expr.type)
            return self.add(env, "op", callee.text, inputs, expr, attrs=self.attributes(expr), pattern=pattern)
        if callee.kind == "global":
            return self.add(env, "call", f"@{callee.text}", inputs, expr, attrs=self.attributes(expr))
        return self.add(env, "call", callee.text or "call", inputs, expr, attrs=self.attributes(expr))

    def add(self, env: _Env, kind: str, op: str, inputs: Any, expr: Expr, **fields: Any) -> int:
        if kind == "constant" and op in self.digests:
            fields["attrs"] = {"digest": self.digests[op]}
        type = expr.type or self.derived_type(expr, kind, inputs)
        if kind not in ("param", "constant") and (node := node_of_span(expr.span)):
            fields["source"] = (node,)
        self.origins.append(expr)
        return self.builder.node(kind, op, inputs, type=type, group=env.group, span=expr.span, line=expr.line, **fields)

    def derived_type(self, expr: Expr, kind: str, inputs: list[int]) -> str:
        """Return a type that the text leaves out: of a tuple, of one of its fields, of a call of a typed function."""
        types = [self.builder.nodes[i].type for i in inputs]
        if kind == "tuple" and all(types):
            length = sum(map(len, types))
            self.derived += length
            # nested tuples that hold the same tuple twice double their types' text with each line
            if length > LONGEST_TYPE or self.derived > DERIVED_TYPES:
                return ""
            return f"({', '.join(types)}{',' if len(types) == 1 else ''})"
        if kind == "get_item":
            return field_type(types[0], int(expr.text))
        if kind == "ref":
            return {
                "ref": f"ref({types[0]})",
                "ref_read": types[0].removeprefix("ref(").removesuffix(")"),
                "ref_write": "()",
            }[expr.text]
        if kind == "call" and types:
            return result_type(types[0])
        return ""

    def shown(self, variable: Expr) -> str:
        return self.names.get(variable.text, variable.text)

    def hold(self, id: int, how: str, name: str = "") -> None:
        """Record that a `let` binds a value, and the first name it gives; a parameter already has its own."""
        node = self.builder.nodes[id]
        if node.kind != "param":
            self.builder.hold(id, node.held or how, node.name or name)


_SCOPES: dict[str, Callable[[_Walk, Expr, _Env], Iterator[Any]]] = {
    "call": _Walk.visit_call,
    "function": _Walk.visit_function,
    "let": _Walk.visit_let,
    "if": _Walk.visit_if,
    "match": _Walk.visit_match,
}
"kinds of expressions that open a scope of their own -> the method that draws them"
