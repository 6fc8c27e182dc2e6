"""Operators that move, join and split values."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax

from workbench.dialects.relax import compat
from workbench.dialects.relax.from_relay.call import Call
from workbench.dialects.relax.from_relay.elementwise import Translation
from workbench.errors import LoadError


def _reshape(call: Call) -> relax.Expr:
    # the type of the result already resolves Relay's codes for a new shape (0, -1 to -4)
    return relax.op.reshape(call.inputs[0], call.result_shape)


def _transpose(call: Call) -> relax.Expr:
    rank = len(call.shape())
    axes = call.attr("axes")
    return relax.op.permute_dims(call.inputs[0], [a % rank for a in axes] if axes else list(range(rank))[::-1])


def _broadcast_to(call: Call) -> relax.Expr:
    return relax.op.broadcast_to(call.inputs[0], call.result_shape)


def _concatenate(call: Call) -> relax.Expr:
    return relax.op.concat(_fields(call), axis=call.attr("axis", 0))


def _stack(call: Call) -> relax.Expr:
    axis = call.attr("axis", 0) % len(call.result_shape)
    return relax.op.concat(
        [call.emit(relax.op.expand_dims(each, axis)) for each in _fields(call)],
        axis=axis,
    )


def _fields(call: Call) -> list[relax.Expr]:
    """Return the values of the one argument, a tuple."""
    if len(call.inputs) == 1 and isinstance(call.inputs[0], relax.Tuple):
        return list(call.inputs[0].fields)
    count = call.types[0].count("Tensor[")
    return [call.emit(relax.TupleGetItem(call.inputs[0], place)) for place in range(count)]


def _split(call: Call) -> relax.Expr:
    return relax.op.split(call.inputs[0], call.attr("indices_or_sections", 1), call.attr("axis", 0))


def _strided_slice(call: Call) -> relax.Expr:
    """Translate begin, end and stride per axis; in Relay's `size` mode the end is a length, and -1 means all the rest."""
    shape = call.shape()
    begin, end = list(call.attr("begin")), list(call.attr("end"))
    axes = [a % len(shape) for a in call.attr("axes") or range(len(begin))]
    strides = list(call.attr("strides") or [1])
    strides = strides * len(begin) if len(strides) == 1 else strides
    if call.attr("slice_mode", "end") == "size":
        starts = [b + shape[a] if b < 0 else b for a, b in zip(axes, begin, strict=False)]
        end = [shape[a] if e < 0 else b + e for a, b, e in zip(axes, starts, end, strict=False)]
        strides = [1] * len(begin)
    last = [shape[a] if b >= shape[a] else b for a, b in zip(axes, end, strict=False)]
    return relax.op.strided_slice(call.inputs[0], axes[: len(begin)], begin, last, strides[: len(begin)])


def _take(call: Call) -> relax.Expr:
    data, indices = call.inputs[:2]
    if call.attr("batch_dims", 0):
        raise LoadError(f"take (%{call.node.id}) with batch_dims has no counterpart in Relax")
    axis = call.attr("axis")
    if axis is None:
        data, axis = call.emit(relax.op.reshape(data, (prod(call.shape()),))), 0
    mode = call.attr("mode", "clip")
    size = call.shape()[axis] if call.attr("axis") is not None else prod(call.shape())
    if mode == "clip":
        indices = call.emit(relax.op.clip(indices, 0, int(size) - 1))
    elif mode == "wrap":
        indices = call.emit(relax.op.floor_mod(indices, relax.const(size, call.type(1).dtype)))
    return relax.op.take(data, indices, axis)


def _squeeze(call: Call) -> relax.Expr:
    return relax.op.squeeze(call.inputs[0], call.attr("axis"))


def _expand_dims(call: Call) -> relax.Expr:
    return relax.op.reshape(call.inputs[0], call.result_shape)


def _full(call: Call) -> relax.Expr:
    # the value comes last: `full(value)`, `full_like(data, value)`
    return relax.op.full(call.result_shape, call.inputs[-1], call.result.dtype)


def _filled(value: float) -> Translation:
    return lambda call: relax.op.full(call.result_shape, relax.const(value, call.result.dtype), call.result.dtype)


def _arange(call: Call) -> relax.Expr:
    start, stop, step = (_number(call, place) for place in range(3))
    return relax.const(np.arange(start, stop, step).astype(call.result.dtype))


def _number(call: Call, place: int) -> Any:
    if call.numbers[place] is None:
        raise LoadError(f"{call.node.op} (%{call.node.id}) needs numbers that are known before it runs")
    return call.numbers[place]


def _tile(call: Call) -> relax.Expr:
    return relax.op.tile(call.inputs[0], list(call.attr("reps")))


def _repeat(call: Call) -> relax.Expr:
    return relax.op.repeat(call.inputs[0], call.attr("repeats"), call.attr("axis"))


def _reverse(call: Call) -> relax.Expr:
    return relax.op.flip(call.inputs[0], call.attr("axis"))


def _gather(call: Call) -> relax.Expr:
    return relax.op.gather_elements(call.inputs[0], call.inputs[1], call.attr("axis", 0))


def _one_hot(call: Call) -> relax.Expr:
    dtype = call.result.dtype
    on, off = (compat.number(np.dtype(dtype).type(_number(call, place)).item()) for place in (1, 2))
    made = relax.op.one_hot(call.inputs[0], on, off, call.attr("depth"), call.attr("axis", -1))
    return relax.op.astype(call.emit(made), dtype)


def _pad(call: Call) -> relax.Expr:
    widths = [int(w) for pair in call.attr("pad_width") for w in pair]
    mode = call.attr("pad_mode", "constant")
    value = float(_number(call, 1)) if mode == "constant" else 0.0
    return relax.op.nn.pad(call.inputs[0], widths, mode, value)


TABLE: dict[str, Translation] = {
    **dict.fromkeys(("reshape", "contrib_reverse_reshape", "reshape_like", "nn.batch_flatten"), _reshape),
    "transpose": _transpose,
    **dict.fromkeys(("broadcast_to", "broadcast_to_like"), _broadcast_to),
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "strided_slice": _strided_slice,
    "take": _take,
    "squeeze": _squeeze,
    "expand_dims": _expand_dims,
    **dict.fromkeys(("full", "full_like"), _full),
    **dict.fromkeys(("zeros", "zeros_like"), _filled(0)),
    **dict.fromkeys(("ones", "ones_like"), _filled(1)),
    "arange": _arange,
    "tile": _tile,
    "repeat": _repeat,
    "reverse": _reverse,
    "gather": _gather,
    "one_hot": _one_hot,
    "nn.pad": _pad,
}
"Relay's name of an operator -> its translation to Relax."
