"""The naive way to read Relay: recursion over TVM's own objects. Slow, shallow graphs only, and easy to believe."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.printer import checksum
from workbench.graph.model import Graph

IN_PLACE = ("Primitive", "Composite", "Compiler")


def op_calls(module: tvm.IRModule) -> Counter:
    """How often each (operator, number of arguments, type) occurs, a function's body once for each place it is called."""
    found: Counter = Counter()

    def body(function: relay.Function) -> None:
        visit(function.body, set())

    def visit(expr: Any, seen: set) -> None:
        if expr in seen:
            return
        seen.add(expr)
        if isinstance(expr, relay.Call):
            callee = module[expr.op] if isinstance(expr.op, relay.GlobalVar) and in_place(module[expr.op]) else expr.op
            if isinstance(callee, tvm.ir.Op) and callee.name not in ("ref", "ref_read", "ref_write"):
                found[callee.name, len(expr.args), type_text(expr.checked_type)] += 1
            for arg in expr.args:
                visit(arg, seen)
            if isinstance(callee, relay.Function):
                body(callee)
            elif not isinstance(callee, (tvm.ir.Op, relay.GlobalVar)):
                visit(callee, seen)
        for part in parts(expr):
            visit(part, seen)

    for name in module.get_global_vars():
        if name.name_hint == "main" or not in_place(module[name]):
            body(module[name])
    return found


def type_text(type: Any) -> str:
    """As Relay's text has it; `str` of a tuple type speaks TVMScript."""
    if isinstance(type, tvm.ir.TupleType):
        fields = [type_text(field) for field in type.fields]
        return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"
    return str(type)


def in_place(function: Any) -> bool:
    return isinstance(function, relay.Function) and any(function.attrs and function.attrs.get(key) for key in IN_PLACE)


def parts(expr: Any) -> list[Any]:
    """The sub-expressions of anything but a call."""
    fields = {
        relay.Tuple: lambda e: list(e.fields),
        relay.TupleGetItem: lambda e: [e.tuple_value],
        relay.Let: lambda e: [e.value, e.body],
        relay.If: lambda e: [e.cond, e.true_branch, e.false_branch],
        relay.Match: lambda e: [e.data, *(clause.rhs for clause in e.clauses)],
        relay.RefCreate: lambda e: [e.value],
        relay.RefRead: lambda e: [e.ref],
        relay.RefWrite: lambda e: [e.ref, e.value],
        relay.Function: lambda e: [e.body],
    }
    return fields.get(type(expr), lambda e: [])(expr)


def graph_calls(graph: Graph) -> Counter:
    """The same of a Graph."""
    return Counter((node.op, len(graph.inputs[node.id]), node.type) for node in graph.ops)


class Terms:
    """Numbers for terms: equal numbers for equal (what, inputs) trees."""

    def __init__(self) -> None:
        self.numbers: dict[tuple, int] = {}

    def __call__(self, *what: Any) -> int:
        return self.numbers.setdefault(what, len(self.numbers))


def graph_term(graph: Graph, terms: Terms) -> int:
    """What the graph returns, as a term."""
    found: list[int] = []
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        name = node.attrs.get("digest", node.op) if node.kind == "constant" else node.op
        found.append(terms(node.kind, name if node.kind != "call" else "", *(found[i] for i in inputs)))
    return found[graph.outputs[0]]


def object_term(module: tvm.IRModule, terms: Terms) -> int:
    """What `main` returns, as a term."""
    variables: dict[relay.Var, int] = {}
    memo: dict[Any, int] = {}

    def term(expr: Any) -> int:
        if isinstance(expr, relay.Var):
            return variables[expr]
        if isinstance(expr, relay.Let):
            variables[expr.var] = term(expr.value)
            return term(expr.body)
        if expr not in memo:
            memo[expr] = visit(expr)
        return memo[expr]

    def visit(expr: Any) -> int:
        nonlocal memo
        if isinstance(expr, relay.Constant):
            suffix = {"float32": "f", "float16": "f16"}.get(expr.data.dtype)
            return terms("constant", checksum(expr.data) if expr.data.shape else f"{expr.data.numpy():g}{suffix}")
        if isinstance(expr, relay.Call) and isinstance(expr.op, relay.Function):
            arguments = [term(arg) for arg in expr.args]
            variables.update(zip(expr.op.params, arguments, strict=True))
            # its parameters mean something else at each call
            outside, memo = memo, {}
            inside = term(expr.op.body)
            memo = outside
            return inside
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
            return terms("op", expr.op.name, *map(term, expr.args))
        if isinstance(expr, relay.Call):
            return terms("call", "", term(expr.op), *map(term, expr.args))
        if isinstance(expr, relay.Function):
            variables.update((p, terms("param", p.name_hint)) for p in expr.params)
            return terms("function", "fn", term(expr.body))
        kind, name = {
            relay.Tuple: ("tuple", "tuple"),
            relay.TupleGetItem: ("get_item", f".{getattr(expr, 'index', '')}"),
            relay.If: ("if", "if"),
            relay.RefCreate: ("ref", "ref"),
            relay.RefRead: ("ref", "ref_read"),
            relay.RefWrite: ("ref", "ref_write"),
        }[type(expr)]
        return terms(kind, name, *map(term, parts(expr)))

    main = module["main"]
    variables.update((p, terms("param", p.name_hint)) for p in main.params)
    return term(main.body)
