"""Types of variables that nothing binds: stated by a declaration or a use, or assumed for a module, which needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.analysis.tensors import Tensor, tensor
from workbench.dialects.relay.parser.ast import Expr, field_type, operands_first

_SAME_TYPE = """
    abs acos acosh annotation.stop_fusion asin asinh atan atanh ceil clip copy cos cosh device_copy erf exp
    fixed_point_multiply floor log log10 log2 logical_not negative nn.fast_softmax nn.leaky_relu nn.log_softmax nn.lrn
    nn.relu nn.softmax on_device round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
"operators whose result has the type of their first argument"
_BINARY = "add subtract multiply divide floor_divide maximum minimum power mod left_shift right_shift"
_RESHAPING = "reshape nn.batch_flatten expand_dims squeeze transpose reverse_reshape"
IMAGE_CHANNELS = 3


def uses(values: Iterable[Expr]) -> Iterable[tuple[Expr, int, Expr]]:
    """Yield each (call, place, argument) in the expressions of the values."""
    for call in operands_first(values):
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
    if callee.text in _SAME_TYPE.split() and place == 0:
        return call.type
    if callee.text == "nn.batch_norm":
        return field_type(call.type, min(place, 1))
    if callee.text == "nn.dropout":
        return field_type(call.type, 0)
    result = tensor(call.type)
    if callee.text == "nn.bias_add" and result:
        if place == 0:
            return call.type
        axis = call.attrs.get("axis", 1)
        if isinstance(axis, int) and -len(result.shape) <= axis < len(result.shape):
            return str(Tensor((result.shape[axis],), result.dtype))
    return ""


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
        shape = [result.shape[to] for to in sorted(range(len(axes)), key=axes.__getitem__)]
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
                shape.insert(axis, 1)
            return Tensor(tuple(shape), result.dtype), "as squeeze needs it"
    return result, f"{call.args[0].text} gives the number of elements, the shape is a guess"


def _conv2d(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str] | None:
    attrs = call.attrs
    kernel, groups = attrs.get("kernel_size"), attrs.get("groups", 1)
    layouts = (attrs.get("data_layout", "NCHW"), attrs.get("kernel_layout", "OIHW"))
    if layouts != ("NCHW", "OIHW") or not isinstance(kernel, list) or len(kernel) != 2 or _rank(result) != 4:
        return None
    if not isinstance(groups, int) or groups < 1:
        return None
    batch, made, *sides = map(int, result.shape)
    other, channels = tensor(call.args[2 - place].type), 0
    if other is not None and len(other.shape) == 4 and isinstance(other.shape[1], int):
        channels = other.shape[1] * (groups if place == 0 else 1)
    why = "its other operand gives the channels" if channels else f"{IMAGE_CHANNELS} input channels are a guess"
    channels = channels or (groups if groups > 1 else IMAGE_CHANNELS)
    if place == 1:
        return Tensor((made, channels // groups, *kernel), result.dtype), why
    return Tensor(
        (batch, channels, *(_before(side, axis, attrs) for axis, side in enumerate(sides))), result.dtype
    ), why


def _before(side: int, axis: int, attrs: Mapping[str, Any]) -> int:
    """Return the length of a side before a convolution made it `side`."""

    def of_axis(name: str) -> int:
        value = attrs.get(name)
        return value[axis] if isinstance(value, list) and len(value) > axis and isinstance(value[axis], int) else 1

    padding = attrs.get("padding", [0])
    ends = [p for p in padding if isinstance(p, int)] if isinstance(padding, list) else [0]
    total = ends[axis] + ends[axis + 2] if len(ends) == 4 else 2 * ends[min(axis, len(ends) - 1)] if ends else 0
    return max((side - 1) * of_axis("strides") + of_axis("dilation") * (of_axis("kernel_size") - 1) + 1 - total, 1)


def _dense(call: Expr, place: int, result: Tensor) -> tuple[Tensor, str] | None:
    if _rank(result) != 2:
        return None
    other = tensor(call.args[2 - place].type)
    inner = other.shape[1] if other and len(other.shape) == 2 else result.shape[1]
    why = "its other operand gives the inner size" if other else f"the inner size {inner} is a guess"
    return Tensor((result.shape[place], inner), result.dtype), why


def _rank(type: Tensor) -> int:
    """Return the number of dimensions of a known shape, 0 for any other."""
    return len(type.shape) if type.known else 0


_RULES: dict[str, Rule] = {
    "cast": _cast,
    "nn.conv2d": _conv2d,
    "nn.dense": _dense,
    **dict.fromkeys(_BINARY.split(), _binary),
    **dict.fromkeys(_RESHAPING.split(), _reshaping),
}
