"""Kinds, operands and types of Relax expressions; attributes and values of constants as plain Python values."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Mapping
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from workbench.dialects import arrays
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
    if sort == "get_item":
        return [expr.tuple_value]
    if sort != "call":
        return expr.fields[:] if sort == "tuple" else []
    callee, arguments = expr.op, expr.args[:]
    called = sort_of(callee)
    if called != "op":
        return arguments if called in ("global", "extern") else [callee, *arguments]
    if callee.name in _CALLEE_AND_ARGUMENTS:
        return arguments[1:]
    if callee.name in _CALLEE_AND_TUPLE:
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
    return _printed(tvm_ffi.StructuralKey(type))


@lru_cache(maxsize=4096)
def _printed(type: tvm_ffi.StructuralKey) -> str:
    """Return the text of a type; an equal one that was printed is found in a third of the time."""
    # str of a str: TVM's text is a subclass of str that holds a TVM object
    text = str(str(type.key))
    return "I.StringType()" if text.startswith("ir.StringType") else text


def type_parts(type: Any) -> list[Any]:
    """Return the types inside a tuple's or a function's type."""
    if isinstance(type, compat.TupleType):
        return list(type.fields)
    if isinstance(type, compat.FuncType):
        return [*(type.params or ()), type.ret]
    return []


def call_attributes(op: str, attrs: Any) -> dict[str, Any]:
    """Return the attributes of an operator call that differ from the defaults of its Python constructor."""
    if attrs is None:
        return {}
    found = {name: plain(getattr(attrs, name)) for name in _fields(type(attrs))}
    if isinstance(attrs, tvm.ir.DictAttrs):
        found = {str(name): plain(value) for name, value in attrs.items()}
    defaults = defaults_of(op)
    return {
        name: value for name, value in found.items() if name not in defaults or not _is_default(value, defaults[name])
    }


def function_attributes(function: Any) -> dict[str, Any]:
    """Return the attributes of a function."""
    return {} if function.attrs is None else {str(name): plain(value) for name, value in function.attrs.items()}


@cache
def _fields(attrs: type) -> tuple[str, ...]:
    info = getattr(attrs, "__tvm_ffi_type_info__", None)
    return tuple(field.name for field in info.fields if not field.name.startswith("_")) if info is not None else ()


def _is_default(value: Any, default: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    defaults = list(default) if isinstance(default, (list, tuple)) else [default]
    if values == defaults:
        return isinstance(value, bool) == isinstance(default, bool)
    # `padding=(0, 0)` is stored as [0, 0, 0, 0], and `strides=1` as [1, 1]
    return isinstance(value, list) and len(set(map(str, (*values, *defaults)))) == 1


def plain(value: Any) -> Any:
    """Return a number, string, None, or lists and dicts of them; anything else as TVM prints it."""
    inner = compat.plain_value(value)
    if inner is None or isinstance(inner, (bool, int, float, str)):
        return inner
    if isinstance(value, (tvm.ir.Array, list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (tvm.ir.Map, Mapping)):
        return {str(key): plain(item) for key, item in value.items()}
    return str(value)


def constant_text(constant: Any) -> str:
    """Return a scalar's value, `constant` for a tensor, or a data type's name."""
    value = compat.value_of(constant)
    if not isinstance(value, tvm.runtime.Tensor):
        return str(value)
    return str(value.numpy()[()]) if len(value.shape) == 0 else "constant"


def checksum(constant: Any) -> str:
    """Return CRC-32 of a tensor constant's bytes as hexadecimal text; empty for a constant that is not a tensor."""
    value = compat.value_of(constant)
    if not isinstance(value, tvm.runtime.Tensor) or len(value.shape) == 0:
        return ""
    return f"{zlib.crc32(arrays.bytes_of(value).data):08x}"


@cache
def defaults_of(op: str) -> Mapping[str, Any]:
    """Return the defaults that an operator's Python constructor gives its attributes; empty without such a constructor."""
    try:
        constructor = attrgetter(op.removeprefix("relax."))(relax.op)
        parameters = inspect.signature(constructor).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if p.default is not p.empty}
