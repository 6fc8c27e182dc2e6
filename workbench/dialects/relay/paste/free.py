"""The stated type of a variable that nothing binds, from its declaration or a use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from workbench.dialects.relay.parser.ast import Expr, field_type
from workbench.dialects.relay.paste.pieces import everything

SAME_TYPE = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "ceil",
        "clip",
        "copy",
        "cos",
        "cosh",
        "erf",
        "exp",
        "floor",
        "log",
        "log10",
        "log2",
        "logical_not",
        "negative",
        "nn.fast_softmax",
        "nn.leaky_relu",
        "nn.log_softmax",
        "nn.lrn",
        "nn.relu",
        "nn.softmax",
        "round",
        "rsqrt",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "annotation.stop_fusion",
        "on_device",
        "device_copy",
        "fixed_point_multiply",
    ]
)
"Operators whose result has the type of their first argument."

_TENSOR = re.compile(r"Tensor\[\(([^()]*)\), ?(\w+)\]")


class Tensor(NamedTuple):
    """A tensor type split into shape and dtype."""

    shape: tuple[str, ...]
    "numbers, `?` or names"
    dtype: str

    def __str__(self) -> str:
        return f"Tensor[({', '.join(self.shape)}), {self.dtype}]"


def tensor(text: str) -> Tensor | None:
    """Return a tensor type's shape and dtype; a scalar's type is its dtype alone.

    >>> tensor("Tensor[(1, 2), int8]")
    Tensor(shape=('1', '2'), dtype='int8')
    """
    found = _TENSOR.fullmatch(text)
    if found:
        return Tensor(tuple(dim.strip() for dim in found.group(1).split(",") if dim.strip()), found.group(2))
    return Tensor((), text) if re.fullmatch(r"(?:float|bfloat|int|uint)\d+|bool", text) else None


def uses(values: Iterable[Expr]) -> Iterable[tuple[Expr, int, Expr]]:
    """Yield each (call, place, argument) in the expressions of the values."""
    for call in everything(values):
        if call.kind == "call":
            for place, argument in enumerate(call.args[1:]):
                yield call, place, argument


def stated_types(free: Iterable[Expr], values: Iterable[Expr]) -> dict[Expr, str]:
    """Return the type of each variable that declares its own, or has a use that determines it; empty for the others."""
    types = {variable: variable.type for variable in free}
    for call, place, argument in uses(values):
        if argument in types and not types[argument]:
            types[argument] = _from_use(call, place)
    return types


def _from_use(call: Expr, place: int) -> str:
    callee = call.args[0]
    if callee.kind == "function":
        return callee.params[place].type if place < len(callee.params) else ""
    if callee.kind != "op":
        return ""
    if callee.text in SAME_TYPE and place == 0:
        return call.type
    if callee.text == "nn.batch_norm":
        return field_type(call.type, min(place, 1))
    if callee.text == "nn.dropout":
        return field_type(call.type, 0)
    result = tensor(call.type)
    if callee.text == "nn.bias_add" and result:
        axis = call.attrs.get("axis", 1)
        if place == 0:
            return call.type
        if isinstance(axis, int) and -len(result.shape) <= axis < len(result.shape):
            return str(Tensor((result.shape[axis],), result.dtype))
    return ""
