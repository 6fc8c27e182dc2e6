"""Types for variables without a type in the text: a type that a use allows, reported as an assumption.

Only a module needs them; the graph of a text shows such a variable without a type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.dialects.relay.parser.ast import Expr
from workbench.dialects.relay.paste.free import Tensor, tensor, uses

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
            found[argument] = (_type_text(answer[0]), answer[1])
    return found


def _type_text(type: Tensor) -> str:
    return str(type) if type.shape else type.dtype


def _cast(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str]:  # noqa: ARG001  every rule is called the same way
    dtype = "float32" if result.dtype.startswith(("int", "uint", "bool")) else "int32"
    return Tensor(result.shape, dtype), f"its cast gives the shape, {dtype} is a guess"


def _binary(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str]:  # noqa: ARG001
    return result, f"as large as the result of {call.args[0].text}, which may have stretched it"


def _reshaping(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str]:  # noqa: ARG001
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
    known = tensor(call.args[2 - place].type)
    channels = _channels(known, place, groups)
    why = "its other operand gives the channels" if channels else f"{IMAGE_CHANNELS} input channels are a guess"
    channels = channels or (groups if groups > 1 else IMAGE_CHANNELS)
    if place == 1:
        return Tensor(tuple(map(str, (shape[1], channels // groups, *kernel))), result.dtype), why
    sides = [_before(shape[2 + i], i, attrs) for i in (0, 1)]
    return Tensor(tuple(map(str, (shape[0], channels, *sides))), result.dtype), why


def _channels(other: Tensor | None, place: int, groups: int) -> int:
    """Return the input channels that the other operand of a convolution determines, or 0."""
    if other is None or len(other.shape) != 4 or not other.shape[1].isdigit():
        return 0
    return int(other.shape[1]) * (groups if place == 0 else 1)


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
