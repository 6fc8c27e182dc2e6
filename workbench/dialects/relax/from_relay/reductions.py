"""Operators that reduce many elements to one."""

from __future__ import annotations

from math import prod

from tvm import relax

from workbench.dialects.relax.from_relay.call import Call
from workbench.dialects.relax.from_relay.elementwise import Translation


def _reduced(name: str) -> Translation:
    def translated(call: Call) -> relax.Expr:
        axes = call.axes(len(call.shape()))
        return getattr(relax.op, name)(call.inputs[0], axes, call.attr("keepdims", False))

    return translated


def _arg(name: str) -> Translation:
    """Return the translation of `argmax` and `argmin`: Relay's index is an int32, Relax's an int64."""

    def translated(call: Call) -> relax.Expr:
        shape, value = call.shape(), call.inputs[0]
        axes = call.axes(len(shape))
        if len(axes) == len(shape):
            value, axis = call.emit(relax.op.reshape(value, (prod(shape),))), 0
        else:
            axis = axes[0]
        found = call.emit(getattr(relax.op, name)(value, axis, False))
        return relax.op.reshape(call.emit(relax.op.astype(found, call.result.dtype)), call.result_shape)

    return translated


def _variance(call: Call) -> relax.Expr:
    """Return the variance around a given mean: `mean((x - mean)**2)`, divided by `n - 1` where it is unbiased."""
    shape, dtype = call.shape(), call.type().dtype
    axes = call.axes(len(shape))
    mean = call.inputs[1]
    if len(call.shape(1)) != len(shape):
        mean = call.emit(relax.op.reshape(mean, [1 if a in axes else d for a, d in enumerate(shape)]))
    away = call.emit(relax.op.subtract(call.inputs[0], mean))
    squares = call.emit(relax.op.multiply(away, away))
    total = call.emit(relax.op.sum(squares, axes, call.attr("keepdims", False)))
    count = prod(shape[a] for a in axes) - bool(call.attr("unbiased", False))
    return relax.op.divide(total, relax.const(count, dtype))


TABLE: dict[str, Translation] = {
    **{name: _reduced(name) for name in ("sum", "mean", "max", "min", "prod")},
    **{name: _arg(name) for name in ("argmax", "argmin")},
    "variance": _variance,
}
"Relay's name of an operator -> its translation to Relax."
