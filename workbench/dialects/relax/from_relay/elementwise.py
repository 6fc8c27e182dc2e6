"""Operators that compute each element from the elements at the same index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

from workbench.dialects.relax.from_relay.call import Call

Translation = Callable[[Call], relax.Expr]


def same(name: str) -> Translation:
    """Return the translation to the operator of that name in Relax, with the same inputs."""
    return lambda call: getattr(relax.op, name)(*call.inputs)


def identity(call: Call) -> relax.Expr:
    """Return the input of an operator that changes no value: a mark for another pass, a copy between devices."""
    return call.inputs[0]


def _cast(call: Call) -> relax.Expr:
    return relax.op.astype(call.inputs[0], call.attr("dtype", "float32"))


def _cast_like(call: Call) -> relax.Expr:
    return relax.op.astype(call.inputs[0], call.type(1).dtype)


def _clip(call: Call) -> relax.Expr:
    dtype = call.type().dtype
    low, high = call.attr("a_min"), call.attr("a_max")
    number: Any = float if "float" in dtype else int
    return relax.op.clip(call.inputs[0], number(low), number(high))


def _rounded(call: Call) -> relax.Expr:
    """Round half away from zero, as Relay does; Relax's `round` takes halves to the even number."""
    value, dtype = call.inputs[0], call.type().dtype
    half = relax.const(0.5, dtype)
    size = call.emit(relax.op.floor(call.emit(relax.op.add(call.emit(relax.op.abs(value)), half))))
    return relax.op.multiply(call.emit(relax.op.sign(value)), size)


def _fixed_point_multiply(call: Call) -> relax.Expr:
    """Return `x * multiplier * 2**(shift - 31)`, rounded half up, in integers."""
    multiplier, shift = call.attr("multiplier"), call.attr("shift")
    right = 31 - shift
    wide = call.emit(relax.op.astype(call.inputs[0], "int64"))
    product = call.emit(relax.op.multiply(wide, relax.const(multiplier, "int64")))
    raised = call.emit(relax.op.add(product, relax.const(1 << (right - 1), "int64")))
    moved = call.emit(relax.op.right_shift(raised, relax.const(right, "int64")))
    return relax.op.astype(moved, call.type().dtype)


def _leaky_relu(call: Call) -> relax.Expr:
    return relax.op.nn.leakyrelu(call.inputs[0], call.attr("alpha", 0.01))


def _prelu(call: Call) -> relax.Expr:
    return relax.op.nn.prelu(call.inputs[0], call.inputs[1], call.attr("axis", 1))


_ONE = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor isfinite isinf isnan log logical_not negative rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc bitwise_not"
)
_TWO = (
    "add subtract multiply divide power maximum minimum equal not_equal less less_equal greater greater_equal floor_divide "
    "floor_mod mod logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift"
)
TABLE: dict[str, Translation] = {
    **{name: same(name) for name in f"{_ONE} {_TWO} where".split()},
    **{f"fast_{name}": same(name) for name in ("exp", "tanh", "erf")},
    **dict.fromkeys(("copy", "device_copy", "on_device", "annotation.stop_fusion", "annotation.cast_hint"), identity),
    "cast": _cast,
    "cast_like": _cast_like,
    "clip": _clip,
    "round": _rounded,
    "fixed_point_multiply": _fixed_point_multiply,
    "nn.relu": lambda call: relax.op.nn.relu(call.inputs[0]),
    "nn.leaky_relu": _leaky_relu,
    "nn.prelu": _prelu,
}
"Relay's name of an operator -> its translation to Relax."
