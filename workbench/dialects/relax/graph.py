"""Conversion of Relax functions to the neutral Graph, from TVM's own objects.

A Relax function is a list of bindings, so the walk is a loop over them. Nested constructs (branches, local functions,
kernels called in place, tuples not yet normalised) go through a driver that keeps its own stack, as in the Relay walk:
a chain of 20,000 operators must not end the process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.importers.names import node_of, scope_of
from workbench.dialects.nesting import Env, TooManyCopies, Walk
from workbench.dialects.relax import compat
from workbench.dialects.relax.answers import Drawn
from workbench.dialects.relax.compat import identity, type_of
from workbench.dialects.relax.expressions import (
    CALLERS,
    call_attributes,
    callee_name,
    checksum,
    constant_text,
    function_attributes,
    operands_of,
    plain,
    sort_of,
    type_text,
)
from workbench.graph.model import Graph

IN_PLACE = ("Primitive", "Composite", "Codegen")
"A function with one of these attributes is a kernel or an offloaded region, and is drawn where it is called."

OPAQUE = 8
"The kind for FuseOps of every call except `call_tir` of a PrimFunc."


def build_graph(
    module: tvm.IRModule,
    name: str,
    bindings: dict[int, Any] | None = None,
    shown: dict[int, list[int]] | None = None,
    drawn: dict[int, list[Drawn]] | None = None,
) -> Graph:
    """Return the graph of a module, and fill the tables that are given.

    `bindings`: the binding of each node that has one. `shown`: for each expression, by identity, its nodes, those of
    parameters and of bound values. `drawn`: for each parameter and each bound variable, by identity, its nodes.
    """
    kept = {} if bindings is None else bindings, shown, {} if drawn is None else drawn
    try:
        return _Walk(module, name, *kept).run()
    except TooManyCopies:
        for each in kept:
            if each is not None:
                each.clear()
        return _Walk(module, name, *kept, once=_called_often(module)).run()


def _called_often(module: tvm.IRModule) -> set[int]:
    """Return the identities of the kernels that more than one call mentions."""
    functions = {str(var.name_hint): function for var, function in module.functions_items()}
    local: dict[int, Any] = {}
    calls: Counter[int] = Counter()

    def count(expr: Any) -> None:
        sort = sort_of(expr)
        if sort == "sequence":
            bindings = [binding for block in expr.blocks for binding in block.bindings]
            local.update((identity(each.var), each.value) for each in bindings if sort_of(each.value) == "function")
        elif sort == "call":
            callee = functions.get(expr.op.name_hint) if sort_of(expr.op) == "global" else expr.op
            calls[identity(callee)] += 1

    for function in functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, count)
    known = local | {identity(function): function for function in (*functions.values(), *local.values())}
    often = [known[key] for key, uses in calls.items() if uses > 1 and key in known]
    relax_functions = (function for function in often if sort_of(function) == "function")
    return {identity(each) for each in relax_functions if any(map(function_attributes(each).get, IN_PLACE))}


class _Env(Env):
    __slots__ = ("block", "functions", "shared")

    def __init__(self, group: int | None, outer: _Env | None = None, repeated: bool = False) -> None:
        super().__init__(group, outer, repeated)
        self.block = 0
        "the binding block that is drawn, as in Node.block"
        self.shared = outer is not None and outer.shared
        "inside a function that every call of its kind shares: its variables have the names of one of them"
        self.functions: dict[int, relax.Function] = {}

    def local_function(self, key: int) -> relax.Function | None:
        env: _Env | None = self
        while env is not None and key not in env.functions:
            env = env.outer
        return None if env is None else env.functions[key]


class _Walk(Walk):
    env_type, in_place_marks = _Env, IN_PLACE

    def __init__(
        self,
        module: tvm.IRModule,
        name: str,
        bindings: dict[int, Any],
        shown: dict[int, list[int]] | None,
        drawn: dict[int, list[Drawn]],
        once: Collection[int] = (),
    ) -> None:
        # TVM returns the functions in the order of a hash map
        named = sorted(
            ((str(var.name_hint), function) for var, function in module.functions_items()), key=lambda pair: pair[0]
        )
        functions = {name: function for name, function in named if isinstance(function, relax.Function)}
        super().__init__(name, "relax", functions, once)
        self.patterns = {
            name: None if function.attrs is None else plain(function.attrs.get("op_pattern"))
            for name, function in named
            if not isinstance(function, relax.Function)
        }
        self.bindings = bindings
        self.shown = shown
        self.drawn = drawn
        self.blocks = 0

    # -- functions

    def key(self, expr: Any) -> int:
        return identity(expr)

    def given(self, expr: relax.Function | relax.Call) -> dict[str, Any]:
        if isinstance(expr, relax.Call):
            return call_attributes(callee_name(expr.op), expr.attrs)
        return function_attributes(expr)

    def enter(self, function: relax.Function, env: _Env, arguments: list[int] | None = None) -> None:
        env.shared = env.shared or arguments is not None
        new = (self.add(env, "param", compat.name_of(param), (), type_of(param)) for param in function.params)
        for param, node in zip(function.params, new if arguments is None else arguments, strict=False):
            env.values[identity(param)] = node
            self.show(param, node)
            self.draw(param, node)

    def draw(self, variable: Any, node: int, start: int | None = None) -> None:
        """Record the nodes of a variable: those from `start` on, or the one node of a parameter."""
        drawn = Drawn(node, node + 1, node) if start is None else Drawn(start, len(self.builder.nodes), node)
        self.drawn.setdefault(identity(variable), []).append(drawn)

    def body(self, function: relax.Function, env: _Env) -> Iterator[Any]:
        return self.sequence(function.body, env)

    def closure(self, function: relax.Function, env: _Env, name: str) -> Iterator[Any]:
        """Draw a function that is a value: a node for the value, and a box for its body."""
        output = yield self.function(function, name or "fn", env)
        return self.add(env, "function", "fn", (output,), type_of(function), name=name)

    # -- bindings

    def sequence(self, body: Any, env: _Env) -> Iterator[Any]:
        if sort_of(body) != "sequence":
            return (yield self.value(body, env))
        for block in body.blocks:
            self.blocks += 1
            number = self.blocks if isinstance(block, relax.DataflowBlock) else -self.blocks
            for binding in block.bindings[:]:
                variable, value = binding.var, binding.value
                self.copies.add(env.repeated)
                if sort_of(value) == "function" and self.is_in_place(value):
                    env.functions[identity(variable)] = value
                    continue
                env.block = number
                name, start = compat.name_of(variable), len(self.builder.nodes)
                node = yield self.value(value, env, name)
                if type(binding) is relax.MatchCast:
                    node = self.add(env, "match", "match_cast", (node,), type_of(variable), name=name)
                env.values[identity(variable)] = node
                self.draw(variable, node, start)
                self.bindings.setdefault(node, binding)
                if type(variable) is not relax.DataflowVar:
                    self.builder.hold(node, "block")
                elif sort_of(value) == "variable" and not self.builder.nodes[node].held:
                    self.builder.hold(node, "alias")
        return (yield self.value(body.body, env))

    def value(self, expr: Any, env: _Env, name: str = "") -> Iterator[Any]:
        """Return the node of the value of `expr`, made if there is none yet; `name` is the variable it is bound to."""
        stack = [expr]
        node = env.find(identity(expr))
        while stack and node is None:
            current = stack[-1]
            if env.find(identity(current)) is not None:
                stack.pop()
                continue
            bound = name if len(stack) == 1 else ""
            scoped = self.scoped(current, env, bound)
            if scoped is not None:
                made = yield scoped
            else:
                operands = operands_of(current)
                inputs = [env.find(identity(operand)) for operand in operands]
                waiting = [operand for operand, found in zip(operands, inputs, strict=True) if found is None]
                if waiting:
                    stack.extend(reversed(waiting))
                    continue
                made = self.leaf(current, inputs, env, bound)
            self.copies.add(env.repeated)
            env.values[identity(current)] = made
            self.show(current, made)
            stack.pop()
        return env.find(identity(expr))

    def show(self, expr: Any, node: int) -> None:
        if self.shown is not None:
            self.shown.setdefault(identity(expr), []).append(node)

    # -- expressions with a scope of their own

    def scoped(self, expr: Any, env: _Env, name: str) -> Iterator[Any] | None:
        """Draw an expression with a scope of its own; return None for a plain node."""
        sort = sort_of(expr)
        if sort == "call":
            found = self.callee_in_place(expr.op, env)
            return None if found is None else self.in_place(*found, expr.args, env)
        if sort == "variable":
            function = env.local_function(identity(expr))
            return None if function is None else self.closure(function, env, compat.name_of(expr))
        if sort == "function":
            return self.closure(expr, env, name)
        if sort == "if":
            return self.visit_if(expr, env, name)
        return self.sequence(expr, env) if sort == "sequence" else None

    def callee_in_place(self, callee: Any, env: _Env) -> tuple[relax.Function, str] | None:
        sort = sort_of(callee)
        if sort == "op":
            return None
        if sort == "global":
            function, name = self.functions.get(callee.name_hint), str(callee.name_hint)
        else:
            function = callee if sort == "function" else env.local_function(identity(callee))
            name = "" if function is None or function.attrs is None else str(function.attrs.get("Composite") or "")
        if function is None or not self.is_in_place(function) or identity(function) in self.open:
            return None
        return function, name

    def visit_if(self, expr: relax.If, env: _Env, name: str) -> Iterator[Any]:
        inputs = [(yield self.value(expr.cond, env))]
        for arm, label in ((expr.true_branch, "then"), (expr.false_branch, "else")):
            group = self.builder.group("branch", label, env.group)
            inputs.append((yield self.sequence(arm, _Env(group, env))))
            self.builder.returns(group, inputs[-1])
        return self.add(env, "if", "if", inputs, type_of(expr), name=name)

    # -- plain nodes

    def leaf(self, expr: Any, inputs: Any, env: _Env, name: str) -> int:
        """Return a node for an expression whose operands all have one."""
        sort, type = sort_of(expr), type_of(expr)
        if sort == "call":
            return self.call(expr, inputs, env, name)
        if sort == "get_item":
            return self.add(env, "get_item", f".{expr.index}", inputs, type, name=name)
        if sort == "tuple":
            return self.add(env, "tuple", "tuple", inputs, type, name=name)
        if sort == "constant":
            digest = checksum(expr)
            return self.add(env, "constant", constant_text(expr), (), type, attrs={"digest": digest} if digest else {})
        if sort in ("global", "extern", "op"):
            return self.add(env, "global", callee_name(expr), (), type)
        if sort in ("shape", "variable"):
            # an unbound variable is a symbolic dimension used as a value
            return self.add(env, "shape", str(expr), (), type, name=name)
        value = plain(expr)
        quoted = isinstance(value, str) and sort != "data_type"
        return self.add(env, "constant", json.dumps(value) if quoted else str(value), (), type)

    def call(self, call: relax.Call, inputs: Any, env: _Env, name: str) -> int:
        callee, type = call.op, type_of(call)
        sort, named = sort_of(callee), callee_name(callee)
        if sort == "op":
            attrs = self.attributes(call)
            if named not in CALLERS:
                return self.add(env, "op", named, inputs, type, attrs=attrs, name=name)
            inner = call.args[0]
            if named != "relax.call_tir":
                attrs = {"called_by": named, **attrs}
            pattern = self.pattern(inner)
            return self.add(env, "op", callee_name(inner), inputs, type, attrs=attrs, pattern=pattern, name=name)
        if sort == "extern" or (sort == "global" and named in self.patterns):
            # CallTIRRewrite turns a call_tir into a call of the PrimFunc itself
            return self.add(env, "op", named, inputs, type, pattern=OPAQUE, name=name)
        return self.add(env, "call", f"@{named}" if sort == "global" else named or "call", inputs, type, name=name)

    def pattern(self, callee: Any) -> int | None:
        """Return the fusion pattern kind of a kernel; None for a PrimFunc without one from AnnotateTIROpPattern."""
        return self.patterns.get(callee.name_hint) if sort_of(callee) == "global" else OPAQUE

    def add(self, env: _Env, kind: str, op: str, inputs: Any, type: Any, name: str = "", **fields: Any) -> int:
        if "." in name:  # an importer's: names that users write have no dots, and printed text has underscores for them
            fields["scope"] = scope_of(name)
            if not env.shared:
                fields["source"] = (node_of(name),)
            name = name.replace(".", "_")
        # TVM's text is a subclass of str that holds a TVM object
        fields |= {"group": env.group, "block": env.block}
        return self.builder.node(kind, str(op), inputs, type=type_text(type), name=name, **fields)
