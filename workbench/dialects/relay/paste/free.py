"""Types of variables that nothing binds: stated by a declaration or a use, or assumed for a module, which needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from workbench.dialects.relay.parser.ast import Expr, field_type
from workbench.dialects.relay.paste.salvage import everything

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


_BINARY = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "floor_divide",
        "maximum",
        "minimum",
        "power",
        "mod",
        "left_shift",
        "right_shift",
    ]
)
_RESHAPING = frozenset(["reshape", "nn.batch_flatten", "expand_dims", "squeeze", "transpose", "reverse_reshape"])
IMAGE_CHANNELS = 3

Rule = Callable[[Expr, int, Tensor], "tuple[Tensor, str] | None"]


def assumed_types(unknown: Iterable[Expr], values: Iterable[Expr]) -> dict[Expr, tuple[str, str]]:
    """Return variable -> (its type, the assumption), from its first use that allows one."""
    found: dict[Expr, tuple[str, str]] = {}
    wanted = set(unknown)
    for call, place, argument in uses(values):
        result = tensor(call.type)
        if argument not in wanted or argument in found or result is None or call.args[0].kind != "op":
            continue
        rule = _RULES.get(call.args[0].text)
        answer = rule(call, place, result) if rule else None
        if answer:
            type, assumption = answer
            found[argument] = str(type) if type.shape else type.dtype, assumption
    return found


def _cast(_call: Expr, _place: int, result: Tensor) -> tuple[Tensor, str]:
    dtype = "float32" if result.dtype.startswith(("int", "uint", "bool")) else "int32"
    return Tensor(result.shape, dtype), f"its cast gives the shape, {dtype} is a guess"


def _binary(call: Expr, _place: int, result: Tensor) -> tuple[Tensor, str]:
    return result, f"as large as the result of {call.args[0].text}, which may have stretched it"


def _reshaping(call: Expr, _place: int, result: Tensor) -> tuple[Tensor, str]:
    axes = call.attrs.get("axes")
    if call.args[0].text == "transpose" and isinstance(axes, list) and sorted(axes) == list(range(len(result.shape))):
        shape = [""] * len(axes)
        for to, source in enumerate(axes):
            shape[source] = result.shape[to]
        return Tensor(tuple(shape), result.dtype), "as transpose needs it"
    if call.args[0].text == "expand_dims":
        axis, count = call.attrs.get("axis", 0), call.attrs.get("num_newaxis", 1)
        if isinstance(axis, int) and isinstance(count, int):
            axis %= max(len(result.shape), 1)
            return Tensor(result.shape[:axis] + result.shape[axis + count :], result.dtype), "as expand_dims needs it"
    if call.args[0].text == "squeeze":
        axes = call.attrs.get("axis")
        if isinstance(axes, list) and all(isinstance(axis, int) and axis >= 0 for axis in axes):
            shape = list(result.shape)
            for axis in sorted(axes):
                shape.insert(axis, "1")
            return Tensor(tuple(shape), result.dtype), "as squeeze needs it"
    return result, f"{call.args[0].text} gives the number of elements, the shape is a guess"


def _conv2d(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str] | None:
    attrs = call.attrs
    kernel, groups = attrs.get("kernel_size"), attrs.get("groups", 1)
    layouts = (attrs.get("data_layout", "NCHW"), attrs.get("kernel_layout", "OIHW"))
    shape = _numbers(result.shape)
    if layouts != ("NCHW", "OIHW") or not isinstance(kernel, list) or len(kernel) != 2 or len(shape) != 4:
        return None
    if not isinstance(groups, int) or groups < 1:
        return None
    other, channels = tensor(call.args[2 - place].type), 0
    if other is not None and len(other.shape) == 4 and other.shape[1].isdigit():
        channels = int(other.shape[1]) * (groups if place == 0 else 1)
    why = "its other operand gives the channels" if channels else f"{IMAGE_CHANNELS} input channels are a guess"
    channels = channels or (groups if groups > 1 else IMAGE_CHANNELS)
    if place == 1:
        return Tensor(tuple(map(str, (shape[1], channels // groups, *kernel))), result.dtype), why
    sides = [_before(shape[2 + i], i, attrs) for i in (0, 1)]
    return Tensor(tuple(map(str, (shape[0], channels, *sides))), result.dtype), why


def _before(side: int, axis: int, attrs: object) -> int:
    """Return the length of a side before a convolution made it `side`."""

    def pair(name: str, default: int) -> int:
        value = attrs.get(name, [default, default])  # type: ignore[attr-defined]
        return (
            value[axis] if isinstance(value, list) and len(value) > axis and isinstance(value[axis], int) else default
        )

    padding = attrs.get("padding", [0, 0, 0, 0])  # type: ignore[attr-defined]
    ends = [p for p in padding if isinstance(p, int)] if isinstance(padding, list) else [0]
    total = ends[axis] + ends[axis + 2] if len(ends) == 4 else 2 * ends[min(axis, len(ends) - 1)] if ends else 0
    return max((side - 1) * pair("strides", 1) + pair("dilation", 1) * (pair("kernel_size", 1) - 1) + 1 - total, 1)


def _dense(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str] | None:
    shape = _numbers(result.shape)
    if len(shape) != 2:
        return None
    other = tensor(call.args[2 - place].type)
    inner = other.shape[1] if other and len(other.shape) == 2 else str(shape[1])
    why = "its other operand gives the inner size" if other else f"the inner size {inner} is a guess"
    return Tensor((str(shape[place]), inner), result.dtype), why


def _numbers(shape: Iterable[str]) -> list[int]:
    dims = list(shape)
    return [int(dim) for dim in dims] if all(dim.isdecimal() and len(dim) < 19 for dim in dims) else []


_RULES: dict[str, Rule] = {
    "cast": _cast,
    "nn.conv2d": _conv2d,
    "nn.dense": _dense,
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_RESHAPING, _reshaping),
}
