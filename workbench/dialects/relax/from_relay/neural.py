"""Convolutions, matrix products, norms, pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from workbench.dialects.relax.from_relay.call import Call
from workbench.dialects.relax.from_relay.elementwise import Translation
from workbench.errors import LoadError


def _out_dtype(call: Call) -> str | None:
    return call.attr("out_dtype") or None


def _conv2d(call: Call) -> relax.Expr:
    return relax.op.nn.conv2d(
        *call.inputs,
        strides=tuple(call.attr("strides", (1, 1))),
        padding=tuple(call.attr("padding", (0, 0, 0, 0))),
        dilation=tuple(call.attr("dilation", (1, 1))),
        groups=call.attr("groups", 1),
        data_layout=call.attr("data_layout", "NCHW"),
        kernel_layout=call.attr("kernel_layout", "OIHW"),
        out_layout=call.attr("out_layout") or None,
        out_dtype=_out_dtype(call),
    )


def _conv1d(call: Call) -> relax.Expr:
    return relax.op.nn.conv1d(
        *call.inputs,
        strides=tuple(call.attr("strides", (1,))),
        padding=tuple(call.attr("padding", (0, 0))),
        dilation=tuple(call.attr("dilation", (1,))),
        groups=call.attr("groups", 1),
        data_layout=call.attr("data_layout", "NCW"),
        kernel_layout=call.attr("kernel_layout", "OIW"),
        out_dtype=_out_dtype(call),
    )


def _conv2d_transpose(call: Call) -> relax.Expr:
    return relax.op.nn.conv2d_transpose(
        *call.inputs,
        strides=tuple(call.attr("strides", (1, 1))),
        padding=tuple(call.attr("padding", (0, 0, 0, 0))),
        output_padding=tuple(call.attr("output_padding", (0, 0))),
        dilation=tuple(call.attr("dilation", (1, 1))),
        groups=call.attr("groups", 1),
        data_layout=call.attr("data_layout", "NCHW"),
        kernel_layout=call.attr("kernel_layout", "IOHW"),
        out_dtype=_out_dtype(call),
    )


def _dense(call: Call) -> relax.Expr:
    data, weight = _alike(call)
    return relax.op.matmul(data, call.permuted(weight, (1, 0)), _out_dtype(call))


def _alike(call: Call) -> list[relax.Expr]:
    """Return both sides of a product; if their types differ, cast to the type of the result as in Relay."""
    if call.type(0).dtype == call.type(1).dtype:
        return list(call.inputs)
    return [call.emit(relax.op.astype(value, call.result.dtype)) for value in call.inputs]


def _matmul(call: Call) -> relax.Expr:
    """Translate `nn.matmul` and `nn.batch_matmul`: either side may be transposed."""
    sides, given = [], _alike(call)
    for place, name in enumerate(("transpose_a", "transpose_b")):
        value = given[place]
        rank = len(call.shape(place))
        order = [*range(rank - 2), rank - 1, rank - 2]
        sides.append(call.permuted(value, order) if call.attr(name, False) else value)
    return relax.op.matmul(*sides, _out_dtype(call))


def _bias_add(call: Call) -> relax.Expr:
    data, bias = call.inputs
    rank = len(call.shape())
    axis = call.attr("axis", 1) % rank
    if axis != rank - 1:
        bias = call.emit(relax.op.reshape(bias, (*call.shape(1), *[1] * (rank - 1 - axis))))
    return relax.op.add(data, bias)


def _batch_norm(call: Call) -> relax.Expr:
    return relax.op.nn.batch_norm(
        *_scaled(call), axis=call.attr("axis", 1), epsilon=call.attr("epsilon", 1e-5), training=False
    )


def _layer_norm(call: Call) -> relax.Expr:
    return relax.op.nn.layer_norm(*_scaled(call), axes=[call.attr("axis", -1)], epsilon=call.attr("epsilon", 1e-5))


def _group_norm(call: Call) -> relax.Expr:
    axis = call.attr("axis", 1)
    rank = len(call.shape())
    return relax.op.nn.group_norm(
        *_scaled(call), call.attr("num_groups", 0), axis, list(range(axis + 1, rank)), call.attr("epsilon", 1e-5)
    )


def _instance_norm(call: Call) -> relax.Expr:
    axis = call.attr("axis", 1)
    inner = [a for a in range(1, len(call.shape())) if a != axis]
    return relax.op.nn.instance_norm(*_scaled(call), axis, inner, call.attr("epsilon", 1e-5))


def _scaled(call: Call) -> list[relax.Expr]:
    """Return the inputs of a norm; without `scale` the factor is 1, without `center` the offset is 0."""
    inputs = list(call.inputs)
    for place, name, value in ((1, "scale", 1), (2, "center", 0)):
        if not call.attr(name, True):
            type = call.type(place)
            inputs[place] = relax.const(np.full(call.shape(place), value, type.dtype))
    return inputs


def _softmax(name: str) -> Translation:
    return lambda call: getattr(relax.op.nn, name)(call.inputs[0], call.attr("axis", -1))


def _pool2d(name: str) -> Translation:
    def translated(call: Call) -> relax.Expr:
        options: dict[str, Any] = {"count_include_pad": call.attr("count_include_pad", False)} if "avg" in name else {}
        return getattr(relax.op.nn, name)(
            call.inputs[0],
            pool_size=tuple(call.attr("pool_size")),
            strides=tuple(call.attr("strides", (1, 1))),
            padding=tuple(call.attr("padding", (0, 0, 0, 0))),
            dilation=tuple(call.attr("dilation", (1, 1))),
            ceil_mode=call.attr("ceil_mode", False),
            layout=call.attr("layout", "NCHW"),
            **options,
        )

    return translated


def _global_pool2d(name: str) -> Translation:
    """Return a pooling over height and width, which stay as dimensions of 1."""

    def translated(call: Call) -> relax.Expr:
        layout = call.attr("layout", "NCHW")
        return getattr(relax.op, name)(call.inputs[0], [layout.index("H"), layout.index("W")], keepdims=True)

    return translated


def _adaptive_avg_pool2d(call: Call) -> relax.Expr:
    size = call.attr("output_size")
    layout = call.attr("layout", "NCHW")
    return relax.op.nn.adaptive_avg_pool2d(call.inputs[0], tuple(size) if size else None, layout)


def _dropout(call: Call) -> relax.Expr:
    """Return the data unchanged and a mask of ones: nothing is dropped at inference."""
    type = call.type()
    ones = call.emit(relax.op.full(call.shape(), relax.const(1, type.dtype), type.dtype))
    return relax.Tuple([call.inputs[0], ones])


def _resize2d(call: Call) -> relax.Expr:
    if call.attr("roi") and any(call.attr("roi")):
        raise LoadError(f"image.resize2d (%{call.node.id}) with a region has no test here, so it is not translated")
    return relax.op.image.resize2d(
        call.inputs[0],
        tuple(call.attr("size")),
        layout=call.attr("layout", "NCHW"),
        method=call.attr("method", "linear"),
        coordinate_transformation_mode=call.attr("coordinate_transformation_mode", "half_pixel"),
        rounding_method=call.attr("rounding_method") or "",
        cubic_alpha=call.attr("cubic_alpha", -0.5),
        cubic_exclude=call.attr("cubic_exclude", 0),
    )


TABLE: dict[str, Translation] = {
    "nn.conv1d": _conv1d,
    "nn.conv2d": _conv2d,
    "nn.conv2d_transpose": _conv2d_transpose,
    "nn.dense": _dense,
    **dict.fromkeys(("nn.matmul", "nn.batch_matmul"), _matmul),
    "nn.bias_add": _bias_add,
    "nn.batch_norm": _batch_norm,
    "nn.layer_norm": _layer_norm,
    "nn.group_norm": _group_norm,
    "nn.instance_norm": _instance_norm,
    "nn.softmax": _softmax("softmax"),
    "nn.log_softmax": _softmax("log_softmax"),
    "nn.fast_softmax": _softmax("softmax"),
    "nn.max_pool2d": _pool2d("max_pool2d"),
    "nn.avg_pool2d": _pool2d("avg_pool2d"),
    "nn.global_avg_pool2d": _global_pool2d("mean"),
    "nn.global_max_pool2d": _global_pool2d("max"),
    "nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "nn.dropout": _dropout,
    "image.resize2d": _resize2d,
}
"Relay's name of an operator -> its translation to Relax."
