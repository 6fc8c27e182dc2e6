"""Attributes of calls and functions, and the values of constants, as plain Python values."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Mapping
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import tvm
from tvm import relax

from workbench.dialects import arrays
from workbench.dialects.relax import compat


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


@lru_cache
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
