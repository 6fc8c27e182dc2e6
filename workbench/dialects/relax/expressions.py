"""Kinds and operands of Relax expressions."""

from __future__ import annotations

from functools import cache
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.relax import compat

_SORTS: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    ("call", relax.Call),
    ("variable", compat.Variable),
    ("get_item", relax.TupleGetItem),
    ("tuple", relax.Tuple),
    ("constant", compat.Constant),
    ("shape", relax.ShapeExpr),
    ("op", tvm.ir.Op),
    ("global", tvm.ir.GlobalVar),
    ("extern", relax.ExternFunc),
    ("function", relax.Function),
    ("if", relax.If),
    ("sequence", relax.SeqExpr),
    ("data_type", compat.DataType),
)

# Operators that call their first argument, and take its arguments as a tuple, or one by one.
_CALLEE_AND_TUPLE = {
    "relax.call_tir",
    "relax.call_tir_inplace",
    "relax.call_tir_with_grad",
    "relax.call_dps_packed",
    "relax.call_builtin_with_ctx",
    "relax.vm.call_tir_dyn",
}
_CALLEE_AND_ARGUMENTS = {"relax.call_pure_packed", "relax.call_inplace_packed"}
CALLERS = _CALLEE_AND_TUPLE | _CALLEE_AND_ARGUMENTS


def sort_of(expr: Any) -> str:
    """Return the kind of a Relax expression; `literal` for a number, a string or a symbolic expression."""
    return _sort(type(expr))


@cache
def _sort(kind: type) -> str:
    # TVM's classes have an abstract metaclass, whose isinstance takes a microsecond; classes are few, values many
    return next((name for name, base in _SORTS if issubclass(kind, base)), "literal")


def operands_of(expr: Any) -> list[Any]:
    """Return the operands of an expression that are values: not a named callee, and the fields of a `call_tir`'s tuple."""
    sort = sort_of(expr)
    if sort == "call":
        return _operands_of_call(expr)
    if sort == "get_item":
        return [expr.tuple_value]
    return list(expr.fields) if sort == "tuple" else []


def _operands_of_call(call: Any) -> list[Any]:
    callee, arguments = call.op, list(call.args)
    sort = sort_of(callee)
    if sort != "op":
        return arguments if sort in ("global", "extern") else [callee, *arguments]
    name = callee.name
    if name in _CALLEE_AND_ARGUMENTS:
        return arguments[1:]
    if name in _CALLEE_AND_TUPLE:
        fields = list(arguments[1].fields) if sort_of(arguments[1]) == "tuple" else [arguments[1]]
        return [*fields, *arguments[2:]]
    return arguments


def callee_name(callee: Any) -> str:
    """Return the name of a callee, empty for a function without a name."""
    sort = sort_of(callee)
    if sort == "op":
        return str(callee.name)
    if sort == "global":
        return str(callee.name_hint)
    if sort == "extern":
        return str(callee.global_symbol)
    return compat.name_of(callee) if sort == "variable" else ""


def type_text(type: Any) -> str:
    """Return the text of a type, empty if TVM has not inferred one.

    A tuple printed by itself comes out in the dialect of TIR (`T.Tuple(R.Tensor((T.int64(4),), ...))`), unlike the same
    tuple inside a module, so its text is composed here.
    """
    if type is None:
        return ""
    if isinstance(type, compat.TupleType):
        return f"R.Tuple({', '.join(map(type_text, type.fields))})"
    if isinstance(type, compat.FuncType) and type.params is not None:
        params = [type_text(param) for param in type.params]
        return f"R.Callable(({', '.join(params)}{',' if len(params) == 1 else ''}), {type_text(type.ret)}, {bool(type.purity)})"
    if isinstance(type, compat.PrimType):
        return f"T.{compat.dtype_of(type)}"
    # str of a str: TVM's text is a subclass of str that holds a TVM object
    text = str(str(type))
    return "I.StringType()" if text.startswith("ir.StringType") else text


def type_parts(type: Any) -> list[Any]:
    """Return the types inside a tuple's or a function's type."""
    if isinstance(type, compat.TupleType):
        return list(type.fields)
    if isinstance(type, compat.FuncType):
        return [*(type.params or ()), type.ret]
    return []
