"""Relay's operators as Relax's, one translation each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from workbench.analysis.tensors import Tensor, tensor
from workbench.errors import LoadError
from workbench.graph.model import Node


@dataclass(frozen=True)
class Call:
    """A call of a Relay operator: its node, and the Relax values of its inputs."""

    node: Node
    inputs: tuple[relax.Expr, ...]
    types: tuple[str, ...]
    "the inputs' types, as Relay prints them"
    emit: Callable[[relax.Expr], relax.Var]
    "binds a value"
    numbers: tuple[Any, ...]
    "for each input the value of a scalar constant, None for any other"

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute; Relay's text leaves out those with their default."""
        return self.node.attrs.get(name, default)

    def type(self, place: int = 0) -> Tensor:
        """Return the type of an input that is a tensor of known shape; raises LoadError if it is not one."""
        return self._known(self.types[place])

    @property
    def result(self) -> Tensor:
        """Return the type of the result, as `type` does for an input."""
        return self._known(self.node.type)

    def shape(self, place: int = 0) -> tuple[int, ...]:
        """Return the dimensions of an input."""
        return tuple(map(int, self.type(place).shape))

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Return the dimensions of the result."""
        return tuple(map(int, self.result.shape))

    def axes(self, rank: int) -> list[int]:
        """Return the axes of a reduction: all if none is named, the others if `exclude` is set."""
        said = self.attr("axis")
        listed = range(rank) if said is None else [said] if isinstance(said, int) else said
        chosen = {axis % rank for axis in listed}
        return sorted(set(range(rank)) - chosen if self.attr("exclude", False) and said is not None else chosen)

    def number(self, place: int) -> Any:
        """Return the value of an input that is a scalar constant; raises LoadError if it is not one."""
        if self.numbers[place] is None:
            raise LoadError(f"{self.node.op} (%{self.node.id}) needs numbers that are known before it runs")
        return self.numbers[place]

    def _known(self, type: str) -> Tensor:
        found = tensor(type)
        if found is None or not found.known:
            raise LoadError(
                f"{self.node.op} (%{self.node.id}) has type {type or 'unknown'}; only tensors of known shape can be translated"
            )
        return found


Translation = Callable[[Call], relax.Expr]
nn = relax.op.nn


def of_first(make: Callable[..., relax.Expr], **attributes: Any) -> Translation:
    """Return the translation to an operator of the first input and of attributes, each given with its default in Relay."""
    return lambda call: make(call.inputs[0], *(call.attr(name, default) for name, default in attributes.items()))


def same(name: str) -> Translation:
    """Return the translation to the operator of that name in Relax, with the same inputs."""
    return lambda call: getattr(relax.op, name)(*call.inputs)


def _unchanged(call: Call) -> relax.Expr:
    """Return the input of an operator that changes no value: a mark for another pass, a copy between devices."""
    return call.inputs[0]


# -- each element by itself


def _clip(call: Call) -> relax.Expr:
    number: Any = float if "float" in call.type().dtype else int
    return relax.op.clip(call.inputs[0], number(call.attr("a_min")), number(call.attr("a_max")))


def _rounded(call: Call) -> relax.Expr:
    """Round half away from zero, as Relay does; Relax's `round` takes halves to the even number."""
    value, half = call.inputs[0], relax.const(0.5, call.type().dtype)
    size = call.emit(relax.op.floor(call.emit(relax.op.add(call.emit(relax.op.abs(value)), half))))
    return relax.op.multiply(call.emit(relax.op.sign(value)), size)


def _fixed_point_multiply(call: Call) -> relax.Expr:
    """Return `x * multiplier * 2**(shift - 31)`, rounded half up, in integers."""
    right = 31 - call.attr("shift")
    wide = call.emit(relax.op.astype(call.inputs[0], "int64"))
    product = call.emit(relax.op.multiply(wide, relax.const(call.attr("multiplier"), "int64")))
    raised = call.emit(relax.op.add(product, relax.const(1 << (right - 1), "int64")))
    moved = call.emit(relax.op.right_shift(raised, relax.const(right, "int64")))
    return relax.op.astype(moved, call.type().dtype)


# -- many elements to one


def _reduced(name: str) -> Translation:
    return lambda call: getattr(relax.op, name)(
        call.inputs[0], call.axes(len(call.shape())), call.attr("keepdims", False)
    )


def _arg(name: str) -> Translation:
    """Return the translation of `argmax` and `argmin`: Relay's index is an int32, Relax's an int64."""

    def translated(call: Call) -> relax.Expr:
        shape, value = call.shape(), call.inputs[0]
        axes = call.axes(len(shape))
        if len(axes) == len(shape):
            value, axes = call.emit(relax.op.reshape(value, (prod(shape),))), [0]
        found = call.emit(getattr(relax.op, name)(value, axes[0], False))
        return relax.op.reshape(call.emit(relax.op.astype(found, call.result.dtype)), call.result_shape)

    return translated


def _variance(call: Call) -> relax.Expr:
    """Return the variance around a given mean: `mean((x - mean)**2)`, divided by `n - 1` where it is unbiased."""
    shape, mean = call.shape(), call.inputs[1]
    axes = call.axes(len(shape))
    if len(call.shape(1)) != len(shape):
        mean = call.emit(relax.op.reshape(mean, [1 if a in axes else d for a, d in enumerate(shape)]))
    away = call.emit(relax.op.subtract(call.inputs[0], mean))
    squares = call.emit(relax.op.multiply(away, away))
    total = call.emit(relax.op.sum(squares, axes, call.attr("keepdims", False)))
    count = prod(shape[a] for a in axes) - bool(call.attr("unbiased", False))
    return relax.op.divide(total, relax.const(count, call.type().dtype))


# -- values moved, joined and split


def _reshape(call: Call) -> relax.Expr:
    # the type of the result already resolves Relay's codes for a new shape (0, -1 to -4)
    return relax.op.reshape(call.inputs[0], call.result_shape)


def _transpose(call: Call) -> relax.Expr:
    rank = len(call.shape())
    axes = call.attr("axes")
    return relax.op.permute_dims(call.inputs[0], [a % rank for a in axes] if axes else list(range(rank))[::-1])


def _stack(call: Call) -> relax.Expr:
    axis = call.attr("axis", 0) % len(call.result_shape)
    return relax.op.concat([call.emit(relax.op.expand_dims(each, axis)) for each in _fields(call)], axis=axis)


def _fields(call: Call) -> list[relax.Expr]:
    """Return the values of the one argument, a tuple."""
    if len(call.inputs) == 1 and isinstance(call.inputs[0], relax.Tuple):
        return list(call.inputs[0].fields)
    count = call.types[0].count("Tensor[")
    return [call.emit(relax.TupleGetItem(call.inputs[0], place)) for place in range(count)]


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
    axis, shape = call.attr("axis"), call.shape()
    if axis is None:
        data, axis, shape = call.emit(relax.op.reshape(data, (prod(shape),))), 0, (prod(shape),)
    mode = call.attr("mode", "clip")
    if mode == "clip":
        indices = call.emit(relax.op.clip(indices, 0, shape[axis] - 1))
    elif mode == "wrap":
        indices = call.emit(relax.op.floor_mod(indices, relax.const(shape[axis], call.type(1).dtype)))
    return relax.op.take(data, indices, axis)


def _filled(value: float) -> Translation:
    return lambda call: relax.op.full(call.result_shape, relax.const(value, call.result.dtype), call.result.dtype)


def _one_hot(call: Call) -> relax.Expr:
    dtype = call.result.dtype
    on, off = (np.dtype(dtype).type(call.number(place)).item() for place in (1, 2))
    made = relax.op.one_hot(call.inputs[0], on, off, call.attr("depth"), call.attr("axis", -1))
    return relax.op.astype(call.emit(made), dtype)


def _pad(call: Call) -> relax.Expr:
    widths = [int(w) for pair in call.attr("pad_width") for w in pair]
    mode = call.attr("pad_mode", "constant")
    return relax.op.nn.pad(call.inputs[0], widths, mode, float(call.number(1)) if mode == "constant" else 0.0)


# -- neural networks: convolutions, matrix products, norms, pooling


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
_SAME = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor isfinite isinf isnan log logical_not negative rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc bitwise_not where "
    "add subtract multiply divide power maximum minimum equal not_equal less less_equal greater greater_equal floor_divide "
    "floor_mod mod logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift"
)
TABLE: dict[str, Translation] = {
    **{name: same(name) for name in _SAME.split()},
    **{f"fast_{name}": same(name) for name in ("exp", "tanh", "erf")},
    **dict.fromkeys(("copy", "device_copy", "on_device", "annotation.stop_fusion", "annotation.cast_hint"), _unchanged),
    "cast": of_first(relax.op.astype, dtype="float32"),
    "cast_like": lambda call: relax.op.astype(call.inputs[0], call.type(1).dtype),
    "clip": _clip,
    "round": _rounded,
    "fixed_point_multiply": _fixed_point_multiply,
    **{name: _reduced(name) for name in ("sum", "mean", "max", "min", "prod")},
    **{name: _arg(name) for name in ("argmax", "argmin")},
    "variance": _variance,
    **dict.fromkeys(
        ("reshape", "contrib_reverse_reshape", "reshape_like", "nn.batch_flatten", "expand_dims"), _reshape
    ),
    "transpose": _transpose,
    **dict.fromkeys(
        ("broadcast_to", "broadcast_to_like"), lambda call: relax.op.broadcast_to(call.inputs[0], call.result_shape)
    ),
    "concatenate": lambda call: relax.op.concat(_fields(call), axis=call.attr("axis", 0)),
    "stack": _stack,
    "split": of_first(relax.op.split, indices_or_sections=1, axis=0),
    "strided_slice": _strided_slice,
    "take": _take,
    "squeeze": of_first(relax.op.squeeze, axis=None),
    # the value comes last: `full(value)`, `full_like(data, value)`
    **dict.fromkeys(
        ("full", "full_like"), lambda call: relax.op.full(call.result_shape, call.inputs[-1], call.result.dtype)
    ),
    **dict.fromkeys(("zeros", "zeros_like"), _filled(0)),
    **dict.fromkeys(("ones", "ones_like"), _filled(1)),
    "arange": lambda call: relax.const(np.arange(*map(call.number, range(3))).astype(call.result.dtype)),
    "tile": lambda call: relax.op.tile(call.inputs[0], list(call.attr("reps"))),
    "repeat": of_first(relax.op.repeat, repeats=None, axis=None),
    "reverse": of_first(relax.op.flip, axis=None),
    "gather": lambda call: relax.op.gather_elements(call.inputs[0], call.inputs[1], call.attr("axis", 0)),
    "one_hot": _one_hot,
    "nn.pad": _pad,
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
