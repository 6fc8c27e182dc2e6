"""Conversion between TVM's DFPatterns and our Patterns."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

from workbench.analysis.patterns import PatternNode
from workbench.analysis.patterns.pattern import Apart
from workbench.analysis.patterns.program import tensor_parts
from workbench.dialects.pattern_objects import (
    MAKE,
    READ,
    Make,
    Paired,
    PatternLanguage,
    Read,
    known_operator,
    read_expr,
)
from workbench.errors import reason_of


def paired(pattern: Any) -> Paired:
    """Return a pattern of any form with TVM's objects; raises as `PatternLanguage.pair`."""
    return LANGUAGE.pair(pattern.pattern if isinstance(pattern, dfp.DFPatternCallback) else pattern)


@cache
def skips_leaves() -> bool:
    """Return whether this TVM lets variables and constants enter the path of `dominates`, tested on three operators."""
    x = relay.var("x", shape=(1,))
    expr = relay.tanh(relay.add(relay.nn.relu(x), relay.const(1.0)))
    pattern = dfp.dominates(dfp.is_op("nn.relu")(dfp.wildcard()), dfp.wildcard(), dfp.is_op("tanh")(dfp.wildcard()))
    return bool(pattern.match(expr))


def _constant(node: PatternNode, _: list[dfp.DFPattern]) -> dfp.DFPattern:
    value, dtype = node.fields["value"], node.fields["dtype"] or None
    return dfp.is_expr(relay.const(np.array(value) if isinstance(value, list) else value, dtype))


def _type(text: str) -> tvm.ir.Type:
    shape, dtype = tensor_parts(text)
    if dtype is not None:
        return relay.TensorType(shape, dtype)
    try:
        return (
            tvm.relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {text}) {{ %x }}')["main"].params[0].type_annotation
        )
    except (tvm.TVMError, tvm.error.DiagnosticError) as error:
        raise ValueError(f"{text} is not a type of Relay: {reason_of(error)}") from None


def _many(node: PatternNode, children: list[dfp.DFPattern]) -> list[dfp.DFPattern] | None:
    return None if node.fields["any"] else children


_MAKE: dict[str, Make] = {
    **MAKE,
    "wildcard": lambda _, __: dfp.wildcard(),
    "constant": lambda _, __: dfp.is_constant(),
    "op": lambda n, _: dfp.is_op(known_operator(n)),
    "expr": _constant,
    "var": lambda n, _: dfp.is_var(n.fields.get("name", "")),
    "call": lambda n, c: dfp.CallPattern(c[0], _many(n, c[1:])),
    "tuple": lambda n, c: dfp.is_tuple(_many(n, c)),
    "get_item": lambda n, c: dfp.is_tuple_get_item(c[0], n.fields["index"]),
    "function": lambda n, c: dfp.FunctionPattern(_many(n, c[:-1]), c[-1]),
    "if": lambda _, c: dfp.is_if(*c),
    "let": lambda _, c: dfp.is_let(*c),
    "type": lambda n, c: c[0].has_type(_type(n.fields["type"])),
    "dominates": lambda _, c: dfp.dominates(*c),
}


def _listed(kind: str, first: list[Any], many: Any, last: list[Any]) -> Apart:
    return [*first, *(many or ()), *last], kind, {"any": many is None}


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


_READ: dict[str, Read] = {
    **READ,
    "ExprPattern": lambda p: read_expr(p.expr, p.expr.data if isinstance(p.expr, relay.Constant) else None),
    "VarPattern": lambda p: ([], "var", {"name": str(p.name)}),
    "CallPattern": lambda p: _listed("call", [p.op], p.args, []),
    "TuplePattern": lambda p: _listed("tuple", [], p.fields, []),
    "FunctionPattern": lambda p: _listed("function", [], p.params, [p.body]),
    "IfPattern": lambda p: ([p.cond, p.true_branch, p.false_branch], "if", {}),
    "LetPattern": lambda p: ([p.var, p.value, p.body], "let", {}),
    "AltPattern": lambda p: ([p.left, p.right], "alt", {}),
    "AttrPattern": lambda p: ([p.pattern], "attr", {"attrs": {k: plain(p.attrs[k]) for k in sorted(p.attrs.keys())}}),
    "TypePattern": lambda p: ([p.pattern], "type", {"type": type_text(p.type)}),
    "ShapePattern": lambda p: ([p.pattern], "shape", {"shape": [plain(d) for d in p.shape]}),
    "DominatorPattern": lambda p: ([p.parent, p.path, p.child], "dominates", {}),
}

LANGUAGE = PatternLanguage(dfp.DFPattern, "tvm.relay.dataflow_pattern", _MAKE, _READ)
