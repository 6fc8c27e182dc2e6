"""Relax types as TVM prints them in a module."""

from __future__ import annotations

from typing import Any

from workbench.dialects import compat


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
