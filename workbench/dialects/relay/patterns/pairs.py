"""Conversion between TVM's DFPatterns and our Patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

from workbench.analysis.patterns import Pattern, PatternBuilder, PatternNode
from workbench.analysis.patterns.pattern import PatternError
from workbench.analysis.patterns.program import tensor_parts
from workbench.analysis.patterns.read import parse
from workbench.errors import UnknownName, last_line


@dataclass(frozen=True)
class Paired:
    """A Pattern with TVM's own object for each sub-pattern."""

    pattern: Pattern
    objects: tuple[dfp.DFPattern, ...]
    "in the order of pattern.nodes"

    @property
    def root(self) -> dfp.DFPattern:
        return self.objects[self.pattern.root]


def paired(pattern: Any) -> Paired:
    """Return a pattern of any form, paired: a DFPattern, a DFPatternCallback, text, or a Pattern.

    Raises
    ------
    PatternError
        It is none of these, or TVM rejects it.
    UnknownName
        It names an operator that TVM does not have.
    """
    pattern = getattr(pattern, "pattern", pattern) if isinstance(pattern, dfp.DFPatternCallback) else pattern
    if isinstance(pattern, dfp.DFPattern):
        return _read(pattern)
    if isinstance(pattern, str):
        pattern = parse(pattern)
    if isinstance(pattern, Pattern):
        return Paired(pattern, tuple(_made(pattern)))
    raise PatternError(
        f"a {type(pattern).__name__} is not a pattern; give a DFPattern of tvm.relay.dataflow_pattern, or its text"
    )


@cache
def skips_leaves() -> bool:
    """Return whether this TVM lets variables and constants enter the path of `dominates`, tested on three operators."""
    x = relay.var("x", shape=(1,))
    expr = relay.tanh(relay.add(relay.nn.relu(x), relay.const(1.0)))
    pattern = dfp.dominates(dfp.is_op("nn.relu")(dfp.wildcard()), dfp.wildcard(), dfp.is_op("tanh")(dfp.wildcard()))
    return bool(pattern.match(expr))


# -- from ours to TVM's


def _made(pattern: Pattern) -> list[dfp.DFPattern]:
    made: list[dfp.DFPattern] = []
    for node in pattern.nodes:
        children = [made[child] for child in node.children]
        try:
            made.append(_MAKERS[node.kind](node, children))
        except (tvm.TVMError, TypeError, ValueError) as error:
            raise PatternError(f"TVM rejects `{node.label}`: {last_line(error)}") from None
    return made


def _operator(node: PatternNode, _: list[dfp.DFPattern]) -> dfp.DFPattern:
    name = node.fields["name"]
    known = tvm.ir.Op.list_op_names()
    if name not in known:
        raise UnknownName("operator", name, list(known))
    return dfp.is_op(name)


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
        raise ValueError(f"{text} is not a type of Relay: {last_line(error)}") from None


def _many(node: PatternNode, children: list[dfp.DFPattern]) -> list[dfp.DFPattern] | None:
    return None if node.fields["any"] else children


_MAKERS: dict[str, Callable[[PatternNode, list[dfp.DFPattern]], dfp.DFPattern]] = {
    "wildcard": lambda _, __: dfp.wildcard(),
    "constant": lambda _, __: dfp.is_constant(),
    "op": _operator,
    "expr": _constant,
    "var": lambda n, _: dfp.is_var(n.fields.get("name", "")),
    "call": lambda n, c: dfp.CallPattern(c[0], _many(n, c[1:])),
    "tuple": lambda n, c: dfp.is_tuple(_many(n, c)),
    "get_item": lambda n, c: dfp.is_tuple_get_item(c[0], n.fields["index"]),
    "function": lambda n, c: dfp.FunctionPattern(_many(n, c[:-1]), c[-1]),
    "if": lambda _, c: dfp.is_if(*c),
    "let": lambda _, c: dfp.is_let(*c),
    "alt": lambda _, c: dfp.AltPattern(*c),
    "attr": lambda n, c: c[0].has_attr(dict(n.fields["attrs"])),
    "type": lambda n, c: c[0].has_type(_type(n.fields["type"])),
    "shape": lambda n, c: c[0].has_shape(list(n.fields["shape"])),
    "dtype": lambda n, c: c[0].has_dtype(n.fields["dtype"]),
    "dominates": lambda _, c: dfp.dominates(*c),
}


# -- from TVM's to ours


def _read(root: dfp.DFPattern) -> Paired:
    """Read a DFPattern; Python cannot distinguish a redirected wildcard from any other, so it is read as one."""
    return Paired(*PatternBuilder.read(root, _taken_apart))


def _taken_apart(pattern: dfp.DFPattern) -> tuple[list[dfp.DFPattern], str, dict[str, Any]]:
    """Return children, kind and fields of a DFPattern."""
    name = type(pattern).__name__
    if name not in _READERS:
        raise PatternError(f"{name} is a kind of pattern that the workbench does not know yet")
    return _READERS[name](pattern)


def _listed(first: list[Any], many: Any, last: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    return [*first, *(many or ()), *last], {"any": many is None}


def _call(p: Any) -> tuple[list[Any], str, dict[str, Any]]:
    children, fields = _listed([p.op], p.args, [])
    return children, "call", fields


def _tuple(p: Any) -> tuple[list[Any], str, dict[str, Any]]:
    children, fields = _listed([], p.fields, [])
    return children, "tuple", fields


def _function(p: Any) -> tuple[list[Any], str, dict[str, Any]]:
    children, fields = _listed([], p.params, [p.body])
    return children, "function", fields


def _expr(p: Any) -> tuple[list[Any], str, dict[str, Any]]:
    if isinstance(p.expr, tvm.ir.Op):
        return [], "op", {"name": p.expr.name}
    if isinstance(p.expr, relay.Constant) and not p.expr.data.shape:
        value, dtype = p.expr.data.numpy().item(), p.expr.data.dtype
        return [], "expr", {"text": f"const({value!r}, {dtype!r})", "value": value, "dtype": dtype}
    words = str(p.expr).strip().replace("\n", " ")
    return [], "expr", {"text": words if len(words) < 60 else words[:57] + "..."}


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


_READERS: dict[str, Callable[[Any], tuple[list[Any], str, dict[str, Any]]]] = {
    "WildcardPattern": lambda _: ([], "wildcard", {}),
    "ConstantPattern": lambda _: ([], "constant", {}),
    "ExprPattern": _expr,
    "VarPattern": lambda p: ([], "var", {"name": str(p.name)}),
    "CallPattern": _call,
    "TuplePattern": _tuple,
    "FunctionPattern": _function,
    "TupleGetItemPattern": lambda p: ([p.tuple], "get_item", {"index": int(p.index)}),
    "IfPattern": lambda p: ([p.cond, p.true_branch, p.false_branch], "if", {}),
    "LetPattern": lambda p: ([p.var, p.value, p.body], "let", {}),
    "AltPattern": lambda p: ([p.left, p.right], "alt", {}),
    "AttrPattern": lambda p: ([p.pattern], "attr", {"attrs": {k: plain(p.attrs[k]) for k in sorted(p.attrs.keys())}}),
    "TypePattern": lambda p: ([p.pattern], "type", {"type": type_text(p.type)}),
    "ShapePattern": lambda p: ([p.pattern], "shape", {"shape": [plain(d) for d in p.shape]}),
    "DataTypePattern": lambda p: ([p.pattern], "dtype", {"dtype": str(p.dtype)}),
    "DominatorPattern": lambda p: ([p.parent, p.path, p.child], "dominates", {}),
}
