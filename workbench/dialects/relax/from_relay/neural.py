"""Relay's operators of neural networks as Relax's: convolutions, matrix products, norms, pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import relax

from workbench.dialects.relax.from_relay.operators import Call, Translation, of_first
from workbench.errors import LoadError

nn = relax.op.nn


def _attributes(call: Call, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes that have one name in both dialects, given their defaults in Relay."""
    found = {name: call.attr(name, default) for name, default in defaults.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _convolution(make: Callable[..., relax.Expr], *unset: str, **defaults: Any) -> Translation:
    """Return the translation of a convolution, given the attributes that are empty where they are not set."""

    def translated(call: Call) -> relax.Expr:
        optional = {name: call.attr(name) or None for name in ("out_dtype", *unset)}
        return make(*call.inputs, groups=call.attr("groups", 1), **_attributes(call, defaults), **optional)

    return translated


def _alike(call: Call) -> list[relax.Expr]:
    """Return both sides of a product; if their types differ, cast to the type of the result as in Relay."""
    if call.type(0).dtype == call.type(1).dtype:
        return list(call.inputs)
    return [call.emit(relax.op.astype(value, call.result.dtype)) for value in call.inputs]


def _product(call: Call, *transposed: bool) -> relax.Expr:
    """Return a matrix product, given whether each side is transposed."""
    sides = _alike(call)
    for place in (0, 1):
        if transposed[place]:
            rank = len(call.shape(place))
            order = [*range(rank - 2), rank - 1, rank - 2]
            sides[place] = call.emit(relax.op.permute_dims(sides[place], order))
    return relax.op.matmul(*sides, call.attr("out_dtype") or None)


def _bias_add(call: Call) -> relax.Expr:
    data, bias = call.inputs
    rank = len(call.shape())
    axis = call.attr("axis", 1) % rank
    if axis != rank - 1:
        bias = call.emit(relax.op.reshape(bias, (*call.shape(1), *[1] * (rank - 1 - axis))))
    return relax.op.add(data, bias)


def _norm(make: Callable[..., relax.Expr], axis: int = 1) -> Translation:
    """Return the translation of a norm; `make` gets its inputs, axis, epsilon and the call."""

    def translated(call: Call) -> relax.Expr:
        inputs = list(call.inputs)
        # without `scale` the factor is 1, without `center` the offset is 0
        for place, name, value in ((1, "scale", 1), (2, "center", 0)):
            if not call.attr(name, True):
                inputs[place] = relax.const(np.full(call.shape(place), value, call.type(place).dtype))
        return make(inputs, call.attr("axis", axis), call.attr("epsilon", 1e-5), call)

    return translated


def _group_norm(inputs: list[relax.Expr], axis: int, epsilon: float, call: Call) -> relax.Expr:
    inner = list(range(axis + 1, len(call.shape())))
    return nn.group_norm(*inputs, call.attr("num_groups", 0), axis, inner, epsilon)


def _instance_norm(inputs: list[relax.Expr], axis: int, epsilon: float, call: Call) -> relax.Expr:
    inner = [a for a in range(1, len(call.shape())) if a != axis]
    return nn.instance_norm(*inputs, axis, inner, epsilon)


def _pool2d(make: Callable[..., relax.Expr], **more: Any) -> Translation:
    defaults = {"pool_size": None, "strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    defaults |= {"ceil_mode": False, "layout": "NCHW", **more}
    return lambda call: make(call.inputs[0], **_attributes(call, defaults))


def _global_pool2d(make: Callable[..., relax.Expr]) -> Translation:
    """Return a pooling over height and width, which stay as dimensions of 1."""

    def translated(call: Call) -> relax.Expr:
        layout = call.attr("layout", "NCHW")
        return make(call.inputs[0], [layout.index("H"), layout.index("W")], keepdims=True)

    return translated


def _adaptive_avg_pool2d(call: Call) -> relax.Expr:
    size = call.attr("output_size")
    layout = call.attr("layout", "NCHW")
    return nn.adaptive_avg_pool2d(call.inputs[0], tuple(size) if size else None, layout)


def _dropout(call: Call) -> relax.Expr:
    """Return the data unchanged and a mask of ones: nothing is dropped at inference."""
    dtype = call.type().dtype
    return relax.Tuple([call.inputs[0], call.emit(relax.op.full(call.shape(), relax.const(1, dtype), dtype))])


def _resize2d(call: Call) -> relax.Expr:
    if call.attr("roi") and any(call.attr("roi")):
        raise LoadError(f"image.resize2d (%{call.node.id}) with a region has no test here, so it is not translated")
    defaults = {"layout": "NCHW", "method": "linear", "coordinate_transformation_mode": "half_pixel"}
    options = _attributes(call, {**defaults, "cubic_alpha": -0.5, "cubic_exclude": 0})
    rounding = call.attr("rounding_method") or ""
    return relax.op.image.resize2d(call.inputs[0], tuple(call.attr("size")), rounding_method=rounding, **options)


_PLANE = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), "data_layout": "NCHW"}
TABLE: dict[str, Translation] = {
    "nn.conv1d": _convolution(
        nn.conv1d, strides=(1,), padding=(0, 0), dilation=(1,), data_layout="NCW", kernel_layout="OIW"
    ),
    "nn.conv2d": _convolution(nn.conv2d, "out_layout", **_PLANE, kernel_layout="OIHW"),
    "nn.conv2d_transpose": _convolution(nn.conv2d_transpose, **_PLANE, output_padding=(0, 0), kernel_layout="IOHW"),
    "nn.dense": lambda call: _product(call, False, True),
    **dict.fromkeys(
        ("nn.matmul", "nn.batch_matmul"),
        lambda call: _product(call, call.attr("transpose_a", False), call.attr("transpose_b", False)),
    ),
    "nn.bias_add": _bias_add,
    "nn.batch_norm": _norm(
        lambda inputs, axis, epsilon, _: nn.batch_norm(*inputs, axis=axis, epsilon=epsilon, training=False)
    ),
    "nn.layer_norm": _norm(
        lambda inputs, axis, epsilon, _: nn.layer_norm(*inputs, axes=[axis], epsilon=epsilon), axis=-1
    ),
    "nn.group_norm": _norm(_group_norm),
    "nn.instance_norm": _norm(_instance_norm),
    "nn.relu": of_first(nn.relu),
    "nn.leaky_relu": of_first(nn.leakyrelu, alpha=0.01),
    "nn.prelu": lambda call: nn.prelu(call.inputs[0], call.inputs[1], call.attr("axis", 1)),
    **dict.fromkeys(("nn.softmax", "nn.fast_softmax"), of_first(nn.softmax, axis=-1)),
    "nn.log_softmax": of_first(nn.log_softmax, axis=-1),
    "nn.max_pool2d": _pool2d(nn.max_pool2d),
    "nn.avg_pool2d": _pool2d(nn.avg_pool2d, count_include_pad=False),
    "nn.global_avg_pool2d": _global_pool2d(relax.op.mean),
    "nn.global_max_pool2d": _global_pool2d(relax.op.max),
    "nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "nn.dropout": _dropout,
    "image.resize2d": _resize2d,
}
"Relay's name of an operator -> its translation to Relax"
