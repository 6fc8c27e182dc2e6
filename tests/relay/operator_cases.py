"""What Relay's TVM computes: for a small function of each operator that `wb.to_relax` translates, and for the samples.

Run as `.venv-relay/bin/python tests/relay/operator_cases.py`, it writes `tests/data/relay_operators.npz` and
`relay_samples.npz`: the texts, the inputs and the outputs that the Relax lane compares with. A test holds the files to it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

sys.path.insert(0, str(Path(__file__).parents[2]))

import workbench as wb
from workbench.dialects.relay.compiler import build
from workbench.dialects.relay.compiler.build import RelayRunning

DATA = Path(__file__).parents[1] / "data"
SMALL: dict[str, dict[str, int]] = {
    "bert": {"layers": 2, "hidden": 32, "seq": 8, "heads": 2},
    "resnet18": {"image": 32, "width": 8},
}
Made = tuple[relay.Expr, list[relay.Var]]


def cases() -> Iterator[tuple[str, Made]]:
    """Name and function body of each case."""
    yield from _elementwise()
    yield from _shapes()
    yield from _reductions()
    yield from _neural()


def _one(function: Callable[..., relay.Expr], *shapes: tuple[int, ...], dtype: str = "float32", **attrs: Any) -> Made:
    """An operator of as many inputs as there are shapes."""
    inputs = [relay.var(f"x{place}", shape=shape, dtype=dtype) for place, shape in enumerate(shapes)]
    return function(*inputs, **attrs), inputs


def _elementwise() -> Iterator[tuple[str, Made]]:
    unary = (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor isfinite "
        "isinf isnan log negative rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
    )
    for name in unary.split():
        yield name, _one(getattr(relay, name), (2, 5))
    for name in ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum"]:
        yield name, _one(getattr(relay, name), (2, 3, 4), (3, 1))
    for name in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
        yield name, _one(getattr(relay, name), (4, 4), (4, 4), dtype="int8")
    for name in ["floor_divide", "floor_mod", "mod"]:
        yield name, _one(lambda a, b, n=name: getattr(relay, n)(a, b + relay.const(9)), (8,), (8,), dtype="int32")
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        yield name, _one(getattr(relay, name), (8,), (8,), dtype="int32")
    yield "bitwise_not", _one(relay.bitwise_not, (8,), dtype="int32")
    for name in ["left_shift", "right_shift"]:
        yield name, _one(lambda a, b, n=name: getattr(relay, n)(a, relay.abs(b)), (8,), (8,), dtype="int32")
    for name in ["logical_and", "logical_or", "logical_xor"]:
        yield (
            name,
            _one(lambda a, b, n=name: getattr(relay, n)(a > relay.const(0.0), b > relay.const(0.0)), (9,), (9,)),
        )
    yield "logical_not", _one(lambda a: relay.logical_not(a > relay.const(0.0)), (9,))
    yield "where", _one(lambda a, b, c: relay.where(a > relay.const(0.0), b, c), (2, 3), (2, 3), (2, 3))
    yield "cast", _one(lambda x: relay.cast(x * relay.const(9.0), "int8"), (2, 5))
    yield "cast_like", _one(lambda x, y: relay.cast_like(x, relay.cast(y, "float64")), (2, 5), (2, 5))
    yield "clip", _one(relay.clip, (2, 5), a_min=-0.25, a_max=0.5)
    yield "clip int", _one(relay.clip, (2, 5), dtype="int32", a_min=-1, a_max=2)
    yield "round", _one(lambda x: relay.round(relay.cast(x, "float32") * relay.const(0.5)), (16,), dtype="int32")
    for shift in (-3, 0, 2):
        made = _one(relay.fixed_point_multiply, (16,), dtype="int32", multiplier=1395864371, shift=shift)
        yield f"fixed_point_multiply {shift}", made
    for name in ["exp", "tanh", "erf"]:
        yield f"fast_{name}", _one(tvm.get_global_func(f"relay.op._make.fast_{name}"), (2, 5))
    yield "relu", _one(relay.nn.relu, (2, 5))
    yield "leaky_relu", _one(relay.nn.leaky_relu, (2, 5), alpha=0.2)
    yield "prelu", _one(relay.nn.prelu, (2, 3, 4, 4), (3,))
    yield "copy", _one(relay.copy, (3,))
    yield "stop_fusion", _one(relay.annotation.stop_fusion, (3,))


def _shapes() -> Iterator[tuple[str, Made]]:
    yield "reshape", _one(relay.reshape, (2, 3, 4), newshape=(0, -1))
    yield "reshape codes", _one(relay.reshape, (2, 3, 4), newshape=(-4, 1, 2, -3))
    yield "reshape_like", _one(relay.reshape_like, (2, 6), (3, 4))
    yield "batch_flatten", _one(relay.nn.batch_flatten, (2, 3, 4))
    yield "transpose", _one(relay.transpose, (2, 3, 4), axes=(0, 2, -2))
    yield "transpose reversed", _one(relay.transpose, (2, 3, 4))
    yield "broadcast_to", _one(relay.broadcast_to, (3, 1), shape=(2, 3, 4))
    yield "broadcast_to_like", _one(relay.broadcast_to_like, (3, 1), (2, 3, 4))
    yield "concatenate", _one(lambda a, b: relay.concatenate([a, b], axis=-1), (2, 3), (2, 4))
    yield "stack", _one(lambda a, b: relay.stack([a, b], axis=-1), (2, 3), (2, 3))
    yield "split", _one(lambda x: relay.split(x, 3, axis=1)[1], (2, 6))
    yield "split at", _one(lambda x: relay.split(x, (1, 4), axis=1)[1], (2, 6))
    yield "concatenate of a split", _one(lambda x: relay.concatenate(relay.split(x, 2, axis=1), axis=0), (2, 6))
    yield "strided_slice", _one(relay.strided_slice, (4, 6), begin=[1, 0], end=[3, 6], strides=[1, 2])
    yield "strided_slice back", _one(relay.strided_slice, (6,), begin=[-1], end=[-7], strides=[-2])
    yield "strided_slice axes", _one(relay.strided_slice, (4, 6), begin=[1], end=[99], axes=[1])
    yield "strided_slice size", _one(relay.strided_slice, (4, 6), begin=[1, 2], end=[2, -1], slice_mode="size")
    for mode in ("clip", "wrap"):
        yield (
            f"take {mode}",
            _one(lambda x, m=mode: relay.take(x, relay.const([[0, 5], [-2, 1]]), axis=0, mode=m), (4, 3)),
        )
    yield "take flat", _one(lambda x: relay.take(x, relay.const([0, 7, 99])), (4, 3))
    yield "squeeze", _one(relay.squeeze, (1, 3, 1), axis=[0])
    yield "squeeze all", _one(relay.squeeze, (1, 3, 1))
    yield "expand_dims", _one(relay.expand_dims, (2, 3), axis=1, num_newaxis=2)
    yield "full", _one(lambda x: relay.full(relay.const(2.5), (2, 3), "float32") + x, (3,))
    yield "full_like", _one(lambda x: relay.full_like(x, relay.const(2.5)), (3,))
    yield "zeros", _one(lambda x: relay.zeros((2, 3), "float32") + x, (3,))
    yield "zeros_like", _one(relay.zeros_like, (3,))
    yield "ones", _one(lambda x: relay.ones((2, 3), "float32") + x, (3,))
    yield "ones_like", _one(relay.ones_like, (3,))
    yield (
        "arange",
        _one(lambda x: relay.arange(relay.const(1.0), relay.const(7.0), relay.const(2.0), "float32") + x, (3,)),
    )
    yield "tile", _one(relay.tile, (2, 3), reps=(2, 1, 2))
    yield "repeat", _one(relay.repeat, (2, 3), repeats=2, axis=1)
    yield "reverse", _one(relay.reverse, (2, 3), axis=1)
    yield "gather", _one(lambda x: relay.gather(x, 1, relay.const([[0, 2], [1, 1]])), (2, 3))
    yield (
        "one_hot",
        _one(
            lambda x: relay.one_hot(relay.const([0, 2]), relay.const(2.0), relay.const(-1.0), 3, -1, "float32") + x,
            (3,),
        ),
    )
    yield "pad", _one(relay.nn.pad, (2, 3), pad_width=((0, 1), (2, 0)), pad_value=-1.5)
    yield "pad reflect", _one(relay.nn.pad, (2, 3), pad_width=((0, 0), (1, 2)), pad_mode="reflect")


def _reductions() -> Iterator[tuple[str, Made]]:
    for name in ["sum", "mean", "max", "min", "prod"]:
        yield name, _one(getattr(relay, name), (2, 3, 4), axis=[0, -1])
        yield f"{name} kept", _one(getattr(relay, name), (2, 3, 4), axis=1, keepdims=True)
    yield "sum all", _one(relay.sum, (2, 3, 4))
    yield "sum others", _one(relay.sum, (2, 3, 4), axis=1, exclude=True)
    for name in ["argmax", "argmin"]:
        yield name, _one(getattr(relay, name), (2, 5), axis=1)
        yield f"{name} kept", _one(getattr(relay, name), (2, 5), axis=0, keepdims=True)
        yield f"{name} all", _one(getattr(relay, name), (2, 5))
    yield "variance", _one(relay.variance, (2, 3, 4), axis=[1, 2])
    yield "variance unbiased", _one(relay.variance, (2, 3, 4), axis=-1, keepdims=True, unbiased=True)


def _neural() -> Iterator[tuple[str, Made]]:
    yield "conv2d", _one(relay.nn.conv2d, (1, 4, 8, 8), (6, 4, 3, 3), kernel_size=(3, 3), channels=6, padding=(1, 0))
    made = _one(
        relay.nn.conv2d,
        (1, 4, 8, 8),
        (4, 1, 3, 3),
        kernel_size=(3, 3),
        channels=4,
        groups=4,
        strides=(2, 2),
        dilation=(2, 1),
    )
    yield "conv2d depthwise", made
    made = _one(
        relay.nn.conv2d,
        (1, 8, 8, 4),
        (3, 3, 4, 6),
        kernel_size=(3, 3),
        channels=6,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    yield "conv2d NHWC", made
    made = _one(
        relay.nn.conv2d, (1, 4, 8, 8), (6, 4, 3, 3), dtype="int8", kernel_size=(3, 3), channels=6, out_dtype="int32"
    )
    yield "conv2d int8", made
    yield "conv1d", _one(relay.nn.conv1d, (1, 4, 9), (6, 4, 3), kernel_size=3, channels=6, padding=(1, 1), strides=2)
    made = _one(
        relay.nn.conv2d_transpose,
        (1, 4, 5, 5),
        (4, 6, 3, 3),
        kernel_size=(3, 3),
        channels=6,
        strides=(2, 2),
        padding=(1, 1),
        output_padding=(1, 1),
    )
    yield "conv2d_transpose", made
    yield "dense", _one(relay.nn.dense, (2, 5), (3, 5))
    yield "dense int8", _one(relay.nn.dense, (2, 5), (3, 5), dtype="int8", out_dtype="int32")
    yield "matmul", _one(relay.nn.matmul, (5, 2), (5, 3), transpose_a=True)
    yield "batch_matmul", _one(relay.nn.batch_matmul, (2, 4, 5), (2, 3, 5))
    yield "batch_matmul plain", _one(relay.nn.batch_matmul, (2, 4, 5), (1, 5, 3), transpose_b=False)
    yield "bias_add", _one(relay.nn.bias_add, (2, 3, 4, 4), (3,))
    yield "bias_add last", _one(relay.nn.bias_add, (2, 5), (5,), axis=-1)
    positive = lambda v: relay.abs(v) + relay.const(0.5)  # noqa: E731  a variance
    yield (
        "batch_norm",
        _one(lambda x, g, b, m, v: relay.nn.batch_norm(x, g, b, m, positive(v))[0], (2, 3, 4, 4), *[(3,)] * 4),
    )
    made = _one(
        lambda x, g, b, m, v: relay.nn.batch_norm(x, g, b, m, positive(v), axis=-1, epsilon=0.1, scale=False)[0],
        (2, 3),
        *[(3,)] * 4,
    )
    yield "batch_norm unscaled", made
    yield "layer_norm", _one(relay.nn.layer_norm, (2, 3, 4), (4,), (4,), epsilon=1e-3)
    yield "layer_norm uncentred", _one(relay.nn.layer_norm, (2, 3, 4), (4,), (4,), center=False)
    yield "group_norm", _one(relay.nn.group_norm, (2, 4, 3, 3), (4,), (4,), num_groups=2)
    yield "instance_norm", _one(relay.nn.instance_norm, (2, 4, 3, 3), (4,), (4,))
    yield "softmax", _one(relay.nn.softmax, (2, 3, 4), axis=1)
    yield "log_softmax", _one(relay.nn.log_softmax, (2, 5))
    yield "fast_softmax", _one(relay.nn.fast_softmax, (2, 5))
    yield "max_pool2d", _one(relay.nn.max_pool2d, (1, 3, 7, 7), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    yield "max_pool2d ceil", _one(relay.nn.max_pool2d, (1, 3, 8, 8), pool_size=(3, 3), strides=(2, 2), ceil_mode=True)
    yield "avg_pool2d", _one(relay.nn.avg_pool2d, (1, 3, 7, 7), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    made = _one(relay.nn.avg_pool2d, (1, 3, 7, 7), pool_size=(2, 2), padding=(1, 1), count_include_pad=True)
    yield "avg_pool2d padded", made
    yield "global_avg_pool2d", _one(relay.nn.global_avg_pool2d, (1, 3, 4, 4))
    yield "global_max_pool2d NHWC", _one(relay.nn.global_max_pool2d, (1, 4, 4, 3), layout="NHWC")
    yield "adaptive_avg_pool2d", _one(relay.nn.adaptive_avg_pool2d, (1, 3, 6, 6), output_size=(2, 3))
    yield "dropout", _one(lambda x: relay.nn.dropout(x) + x, (2, 3))
    yield ("resize2d", _one(lambda x: relay.image.resize2d(x, (5, 7), method="linear"), (1, 2, 3, 4)))
    made = _one(
        lambda x: relay.image.resize2d(
            x, (6, 8), method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"
        ),
        (1, 2, 3, 4),
    )
    yield "resize2d nearest", made


def text(made: Made) -> str:
    """The case as TVM prints it, with the values of its constants."""
    return relay.transform.InferType()(_module(made)).astext()


def _module(made: Made) -> tvm.IRModule:
    return tvm.IRModule.from_expr(relay.Function(made[1], made[0]))


def inputs(made: Made, name: str) -> list[np.ndarray]:
    """Numbers for the case's inputs: many signs and magnitudes, and none that an operator cannot take."""
    random = np.random.default_rng(sum(map(ord, name)))
    low = {"log": 0.1, "sqrt": 0.1, "rsqrt": 0.1, "power": 0.1, "acosh": 1.0}.get(name, -0.95)
    found = []
    for variable in made[1]:
        kind = variable.type_annotation
        shape = tuple(int(d) for d in kind.shape)
        if "int" in kind.dtype:
            found.append(random.integers(-7, 8, shape).astype(kind.dtype))
        else:
            found.append(random.uniform(low, max(1.0, low * 2), shape).astype(kind.dtype))
    return found


def outputs(made: Made, given: list[np.ndarray]) -> np.ndarray:
    """What a build at opt level 0, without SimplifyExpr and FoldConstant, computes."""
    with tvm.transform.PassContext(opt_level=0, disabled_pass=["SimplifyExpr", "FoldConstant"]):
        executor = graph_executor.GraphModule(relay.build(_module(made), "llvm")["default"](tvm.cpu()))
    for variable, value in zip(made[1], given, strict=True):
        executor.set_input(variable.name_hint, value)
    executor.run()
    return executor.get_output(0).numpy()


def operators() -> dict[str, Any]:
    """What the first file holds."""
    kept: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for name, made in cases():
        texts[name] = text(made)
        given = inputs(made, name)
        kept |= {f"{name}/x{place}": value for place, value in enumerate(given)}
        kept[f"{name}/out"] = outputs(made, given)
    return {"texts": packed(texts), **kept}


def samples() -> dict[str, Any]:
    """What the second file holds; the parameters are not in it: the Relax samples make the same ones."""
    kept: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for name in wb.samples.names("relay"):
        workload = wb.samples.load(name, **SMALL.get(name, {}))
        texts[name] = workload.module.astext()
        running = build.COMPILER.compiled(
            workload,
            "llvm",
            {"opt_level": 0, "disabled": ["SimplifyExpr", "FoldConstant"], "required": [], "options": {}},
        )
        on = RelayRunning(workload, running.library, tvm.cpu(), seed=0)
        kept |= {f"{name}/{key}": value for key, value in on.inputs.items()}
        kept[f"{name}/out"] = on.outputs()[0]
    return {"texts": packed(texts), **kept}


def packed(texts: dict[str, str]) -> np.ndarray:
    """Texts as an array of bytes, which a file of arrays can hold without pickling."""
    return np.frombuffer(json.dumps(texts).encode(), "uint8")


def main() -> None:
    """Write the files."""
    DATA.mkdir(exist_ok=True)
    for name, made in (("relay_operators.npz", operators()), ("relay_samples.npz", samples())):
        np.savez_compressed(DATA / name, **made)
        print(f"{name}: {(DATA / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
