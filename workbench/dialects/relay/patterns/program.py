"""A Relay module's expressions as Programs, in the order of TVM's matcher."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

from workbench.analysis.patterns import PatternNode
from workbench.analysis.patterns.pattern import PatternError
from workbench.analysis.patterns.program import Program, Row, other_type
from workbench.dialects.pattern_objects import Paired
from workbench.dialects.relay.passes.editing import Located, bound_by
from workbench.errors import reason_of
from workbench.graph.model import Graph

PARTITIONED = "PartitionedFromPattern"


def programs(module: tvm.IRModule, name: str) -> list[RelayProgram]:
    """Return one program for each function of the module, the entry first."""
    at = Located(module, name)
    shown = shown_as(at)
    functions = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, relay.Function)}
    ordered = sorted(functions, key=lambda each: each != "main")
    return [RelayProgram.of(functions[each], shown, at.graph, each) for each in ordered]


def shown_as(at: Located) -> dict[relay.Expr, tuple[int, ...]]:
    """Return the nodes of each expression that has any."""
    shown: dict[relay.Expr, list[int]] = {}
    for node, expr in enumerate(at.expressions):
        shown.setdefault(expr, []).append(node)
    return {expr: tuple(nodes) for expr, nodes in shown.items()}


class RelayProgram(Program):
    """Expressions of a Relay function; TVM checks the conditions of a sub-pattern on one of them."""

    expressions: tuple[relay.Expr, ...]
    paired: Paired
    "the pattern, which is set before it is matched"

    @classmethod
    def of(cls, root: relay.Expr, shown: Mapping[relay.Expr, tuple[int, ...]], graph: Graph, name: str) -> RelayProgram:
        """Return the program of all expressions in `root`."""
        order, recursive = expressions_of(root)
        place = {expr: i for i, expr in enumerate(order)}
        bound = {e.var: e.value for e in order if isinstance(e, relay.Let)}
        rows = [_row(expr, place, bound, recursive) for expr in order]
        program = cls(rows, [_nodes(expr, shown, bound) for expr in order], graph, name)
        program.expressions = tuple(order)
        program.skips_leaves = skips_leaves()
        program.closed = _closed(order, rows)
        return program

    def fault(self, pattern: PatternNode, row: int) -> tuple[str, str] | None:
        theirs, expr = self.paired.objects[pattern.id], self.expressions[row]
        if pattern.kind == "expr":
            same = tvm.ir.structural_equal(theirs.expr, expr)
            return None if same else ("expr-differs", f"is not {pattern.fields['text']}")
        if pattern.kind == "attr":
            return _attribute_fault(pattern, theirs, expr)
        return _type_fault(pattern, theirs, getattr(expr, "_checked_type_", None))


def expressions_of(root: relay.Expr) -> tuple[list[relay.Expr], set[relay.Expr]]:
    """Return every expression after its operands, and the calls by which a `let`-bound function calls itself."""
    order: list[relay.Expr] = []
    done: set[relay.Expr] = set()
    recursive: set[relay.Expr] = set()
    binding: list[relay.Var] = []
    # a step is an expression to visit, one to finish, or a variable whose binding begins (True) or ends (False)
    stack: list[tuple[Any, str]] = [(root, "visit")]
    while stack:
        expr, step = stack.pop()
        if step == "begin":
            binding.append(expr)
        elif step == "end":
            binding.pop()
        elif step == "finish":
            if expr not in done:
                done.add(expr)
                order.append(expr)
                if isinstance(expr, relay.Call) and binding and expr.op == binding[-1]:
                    recursive.add(expr)
        elif expr not in done and not (binding and isinstance(expr, relay.Var) and expr == binding[-1]):
            steps = [(part, "visit") for part in _parts(expr)]
            if isinstance(expr, relay.Let):
                steps = [(expr.var, "begin"), (expr.value, "visit"), (expr.var, "end"), *steps[::2]]
            stack += [(expr, "finish"), *reversed(steps)]
    return order, recursive


def _parts(expr: relay.Expr) -> list[relay.Expr]:
    if isinstance(expr, relay.Call):
        return [expr.op, *expr.args]
    if isinstance(expr, relay.Tuple):
        return list(expr.fields)
    if isinstance(expr, relay.Function):
        return [*expr.params, expr.body]
    if isinstance(expr, relay.Match):
        return [expr.data, *(part for clause in expr.clauses for part in (*bound_by(clause.lhs), clause.rhs))]
    return [getattr(expr, name) for name in _FIELDS.get(type(expr), ())]


_FIELDS = {
    relay.TupleGetItem: ("tuple_value",),
    relay.If: ("cond", "true_branch", "false_branch"),
    relay.Let: ("var", "value", "body"),
    relay.RefCreate: ("value",),
    relay.RefRead: ("ref",),
    relay.RefWrite: ("ref", "value"),
}


_KINDS = {
    relay.Call: "call",
    tvm.ir.Op: "op",
    relay.Var: "var",
    relay.Constant: "constant",
    relay.Tuple: "tuple",
    relay.TupleGetItem: "get_item",
    relay.Function: "function",
    relay.If: "if",
    relay.Let: "let",
    relay.GlobalVar: "global",
}


def _row(
    expr: relay.Expr,
    place: Mapping[relay.Expr, int],
    bound: Mapping[relay.Var, relay.Expr],
    recursive: set[relay.Expr],
) -> Row:
    kind = _KINDS.get(type(expr), "other")
    if kind in ("op", "constant", "global"):
        return Row(kind, expr.name if kind == "op" else getattr(expr, "name_hint", ""))
    if kind == "var":
        return Row(kind, expr.name_hint, (), (place[bound[expr]],) if expr in bound else ())
    parts = tuple(place[part] for part in _parts(expr))
    inputs = parts
    if kind in ("function", "let"):
        inputs = parts[-1:]
    elif expr in recursive:
        inputs = parts[1:]
    elif isinstance(expr, relay.Match):
        inputs = tuple(place[clause.rhs] for clause in expr.clauses)
    return Row(kind, "", parts, inputs, expr.index if kind == "get_item" else 0)


def _nodes(
    expr: relay.Expr, shown: Mapping[relay.Expr, tuple[int, ...]], bound: Mapping[relay.Var, relay.Expr]
) -> tuple[int, ...]:
    """Return the nodes of an expression; for `let` and a function called in place, those of the value."""
    while expr not in shown:
        if isinstance(expr, relay.Let):
            expr = expr.body
        elif isinstance(expr, relay.Var) and expr in bound:
            expr = bound[expr]
        elif isinstance(expr, relay.Call) and isinstance(expr.op, relay.Function):
            expr = expr.op.body
        else:
            return ()
    return shown[expr]


def _closed(order: list[relay.Expr], rows: list[Row]) -> frozenset[int]:
    found: set[int] = set()
    for i, expr in enumerate(order):
        if isinstance(expr, relay.Function) and expr.attrs and PARTITIONED in expr.attrs.keys():  # noqa: SIM118  TVM's
            found.add(i)
            stack = [rows[i].parts[-1]]
            while stack:
                row = stack.pop()
                if row not in found:
                    found.add(row)
                    stack.extend(rows[row].parts)
    return frozenset(found)


def _attribute_fault(pattern: PatternNode, theirs: dfp.DFPattern, expr: relay.Expr) -> tuple[str, str] | None:
    """Return TVM's answer for one expression without its operands, which do not affect it."""
    alone = expr
    if isinstance(expr, relay.Call):
        alone = relay.Call(relay.var("f"), [], expr.attrs)
    elif isinstance(expr, relay.Function):
        alone = relay.Function([], relay.const(0), attrs=expr.attrs)
    elif not isinstance(expr, tvm.ir.Op):
        return "no-attributes", "is not a call of an operator, so it has no attributes"
    try:
        if dfp.AttrPattern(dfp.wildcard(), theirs.attrs).match(alone):
            return None
    except tvm.TVMError as error:
        raise PatternError(f"TVM fails on `{pattern.label}`: {reason_of(error)}") from None
    return _differing(pattern, expr)


def _differing(pattern: PatternNode, expr: relay.Expr) -> tuple[str, str]:
    attrs: Any = getattr(expr, "attrs", None)
    known = [str(key) for key in attrs.keys()] if attrs else []  # noqa: SIM118  TVM's, not a dict
    for name, wanted in pattern.fields["attrs"].items():
        if name not in known:
            said = f"; it has {', '.join(known)}" if known else ""
            return "attribute-absent", f"has no attribute {name!r}{said}"
        found = plain(attrs[name])
        if found != wanted:
            return "attribute-differs", f"has {name}={found!r}, not {wanted!r}"
    return "attribute-differs", f"has {pattern.label.removeprefix('with ')} in another type of number or text"


def _type_fault(pattern: PatternNode, theirs: Any, found: tvm.ir.Type | None) -> tuple[str, str] | None:
    if found is None:
        return "no-type", "has no type of its own"
    if pattern.kind == "type":
        same = tvm.ir.structural_equal(theirs.type, found)
    elif not isinstance(found, relay.TensorType):
        same = False
    elif pattern.kind == "shape":
        same = tvm.ir.structural_equal(theirs.shape, found.shape)
    else:
        same = theirs.dtype == found.dtype
    if same:
        return None
    fault = other_type(pattern, type_text(found))
    return fault or (f"{pattern.kind}-differs", f"says {type_text(found)} with numbers of another integer type")


@cache
def skips_leaves() -> bool:
    """Return whether this TVM lets variables and constants enter the path of `dominates`, tested on three operators."""
    x = relay.var("x", shape=(1,))
    expr = relay.tanh(relay.add(relay.nn.relu(x), relay.const(1.0)))
    pattern = dfp.dominates(dfp.is_op("nn.relu")(dfp.wildcard()), dfp.wildcard(), dfp.is_op("tanh")(dfp.wildcard()))
    return bool(pattern.match(expr))


def plain(value: Any) -> Any:
    """Return an attribute's value without TVM's types."""
    if isinstance(value, (tvm.tir.IntImm, tvm.tir.FloatImm, tvm.tir.StringImm)):
        return value.value
    if isinstance(value, tvm.ir.container.Array):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, bool, type(None))) else str(value)


def type_text(type: Any) -> str:
    """Return a type as in Relay's text; `str` of a tuple type returns TVMScript."""
    if isinstance(type, tvm.ir.TupleType):
        fields = [type_text(each) for each in type.fields]
        return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"
    return str(type)
