"""For each pass of Relay's catalogue a module where it applies, and what it then does to the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import relay


@dataclass(frozen=True)
class Case:
    """A module, the passes that come first, and what the pass under test adds to the text or takes out of it."""

    build: Callable[[], Any]
    gains: str = ""
    loses: str = ""
    before: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    target: str = ""
    "the target that must be current for the pass to do anything"


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var(name, shape=shape, dtype=dtype)


def const(*shape: int, value: float | None = None) -> relay.Constant:
    array = np.random.default_rng(0).random(shape) + 0.5 if value is None else np.full(shape, value)
    return relay.const(array.astype("float32"))


X = var("x", 1, 8, 8, 8)
D = var("d", 4, 8)
Q = var("q", 2, 4, 8)


def conv(data: relay.Expr, name: str) -> relay.Expr:
    return relay.nn.conv2d(data, var(name, 8, 8, 3, 3), padding=(1, 1))


def conv_constant(data: relay.Expr) -> relay.Expr:
    return relay.nn.conv2d(data, const(8, 8, 3, 3), padding=(1, 1), channels=8, kernel_size=(3, 3))


def three(make: Callable[[relay.Expr], relay.Expr], *shape: int) -> Callable[[], relay.Expr]:
    return lambda: relay.Tuple([make(var(f"w{place}", *shape)) for place in range(3)])


def let(used: bool) -> relay.Expr:
    name = relay.var("v")
    return relay.Let(name, relay.exp(D), relay.tanh(name if used else D))


def normalized() -> relay.Expr:
    return relay.nn.batch_norm(X, *(var(name, 8) for name in "gbmv"))[0]


def two_casts() -> relay.Expr:
    wide = relay.cast(var("i", 4, 4, dtype="int8"), "int32")
    return relay.Tuple([relay.add(wide, relay.const(1, "int32")), relay.multiply(wide, relay.const(2, "int32"))])


def conditional() -> relay.Expr:
    shared = relay.exp(D)
    return relay.If(var("c", dtype="bool"), relay.tanh(shared), relay.nn.relu(shared))


def closure() -> relay.Expr:
    y = var("y", 4, 8)
    return relay.Call(relay.Function([y], relay.add(y, D)), [D])


def fake_quantized() -> relay.Expr:
    half, zero = relay.const(0.5), relay.const(0)
    real = relay.qnn.op.dequantize(var("q", 4, 4, dtype="int8"), half, zero)
    return relay.qnn.op.quantize(relay.nn.relu(real), half, zero, out_dtype="int8")


def quantized_dense() -> relay.Expr:
    arguments = [var("q", 4, 8, dtype="int8"), var("w", 8, 8, dtype="int8")]
    scales = [relay.const(0), relay.const(0), relay.const(0.5), relay.const(0.5)]
    return relay.qnn.op.dense(*arguments, *scales, units=8)


def atrous() -> relay.Expr:
    split = relay.nn.space_to_batch_nd(var("a", 1, 4, 4, 8), block_shape=[2, 2], paddings=[[2, 2], [2, 2]])
    inner = relay.nn.conv2d(
        split,
        var("w", 3, 3, 8, 8),
        data_layout="NHWC",
        kernel_layout="HWIO",
        padding=(0, 0),
        channels=8,
        kernel_size=(3, 3),
    )
    return relay.nn.batch_to_space_nd(inner, block_shape=[2, 2], crops=[[0, 0], [0, 0]])


def transposed() -> relay.Expr:
    return relay.nn.conv2d_transpose(
        var("x", 1, 8, 8, 4),
        var("w", 3, 3, 6, 4),
        channels=6,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWOI",
    )


def dynamic() -> relay.Expr:
    return relay.reshape(D, relay.cast(relay.add(relay.const([4, 0], "int64"), relay.const([4, 4], "int64")), "int64"))


def joined() -> relay.Expr:
    return relay.exp(relay.concatenate([var(f"c{place}", 2, 2) for place in range(20)], 0))


def padded() -> relay.Expr:
    return relay.nn.conv2d(relay.nn.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1))), var("w", 8, 8, 3, 3))


def with_helper(called: bool, inline: bool = False) -> tvm.IRModule:
    module, helper, y = tvm.IRModule(), relay.GlobalVar("helper"), var("y", 4, 8)
    function = relay.Function([y], relay.exp(y), relay.TensorType((4, 8)))
    module[helper] = function.with_attr("Inline", tvm.tir.IntImm("int32", 1)) if inline else function
    module["main"] = relay.Function([D], relay.Call(helper, [D]) if called else relay.tanh(D))
    return module


def higher_order() -> tvm.IRModule:
    """Main hands a global function on as a value."""
    module, helper, y = tvm.IRModule(), relay.GlobalVar("helper"), var("y", 4, 8)
    module[helper] = relay.Function([y], relay.exp(y), relay.TensorType((4, 8)))
    name = relay.var("f")
    module["main"] = relay.Function([D], relay.Let(name, helper, relay.Call(name, [D])))
    return module


def offloaded() -> tvm.IRModule:
    """A function for another compiler, global, as partitioning leaves it."""
    module, helper, y = tvm.IRModule(), relay.GlobalVar("helper"), var("y", 4, 8)
    function = relay.Function([y], relay.exp(y), relay.TensorType((4, 8)))
    for key, value in {"Compiler": "mine", "global_symbol": "helper"}.items():
        function = function.with_attr(key, value)
    module[helper] = function.with_attr("Primitive", tvm.tir.IntImm("int32", 1))
    module["main"] = relay.Function([D], relay.Call(helper, [D]))
    return module


def inline_offloaded() -> tvm.IRModule:
    """The same, still written where it is called, beside a global function of its symbol."""
    y = var("y", 4, 8)
    function = relay.Function([y], relay.exp(y), relay.TensorType((4, 8)))
    for key, value in {"Compiler": "mine", "global_symbol": "outlined"}.items():
        function = function.with_attr(key, value)
    return tvm.IRModule.from_expr(
        relay.Function([D], relay.Call(function.with_attr("Primitive", tvm.tir.IntImm("int32", 1)), [D]))
    )


REGIONS = ("AnnotateTarget{targets=['mine']}",)
CASES = {
    "AlterOpLayout": Case(lambda: conv_constant(X), "NCHWc", target="llvm -mcpu=core-avx2"),
    "AnnotateTarget": Case(lambda: relay.exp(D), "annotation.compiler_begin", options={"targets": ["mine"]}),
    "BackwardFoldScaleAxis": Case(lambda: relay.multiply(conv_constant(X), const(8, 1, 1)), "squeeze"),
    "BatchingOps": Case(three(lambda w: relay.nn.dense(D, w), 8, 8), "nn.batch_matmul"),
    "BindParams": Case(lambda: relay.add(D, var("bound", 4, 8)), "meta[relay.Constant][0]"),
    "CanonicalizeCast": Case(two_casts, "%1 = cast("),
    "CanonicalizeOps": Case(lambda: relay.nn.bias_add(conv(X, "w"), var("b", 8)), "expand_dims", "nn.bias_add"),
    "CombineParallelBatchMatmul": Case(three(lambda w: relay.nn.batch_matmul(Q, w), 2, 4, 8), "concatenate"),
    "CombineParallelConv2D": Case(lambda: relay.Tuple([conv(X, f"w{i}") for i in range(3)]), "strided_slice"),
    "CombineParallelDense": Case(three(lambda w: relay.nn.dense(D, w), 8, 8), "nn.batch_matmul"),
    "ConvertLayout": Case(lambda: conv(X, "w"), 'data_layout="NHWC"'),
    "DeadCodeElimination": Case(lambda: let(used=False), loses="exp("),
    "DefuseOps": Case(lambda: relay.exp(relay.tanh(D)), loses="Primitive=1", before=("FuseOps",)),
    "DynamicToStatic": Case(dynamic, loses="dyn.reshape"),
    "EliminateCommonSubexpr": Case(lambda: relay.add(relay.exp(D), relay.exp(D)), "add(%0, %0)"),
    "EtaExpand": Case(higher_order, "= fn (%", options={"expand_global_var": True}),
    "FakeQuantizationToInteger": Case(fake_quantized, loses="qnn.dequantize"),
    "FastMath": Case(lambda: relay.tanh(D), "fast_tanh"),
    "FirstOrderGradient": Case(lambda: relay.exp(D), "multiply"),
    "FlattenAtrousConv": Case(atrous, "dilation=[2, 2]", "space_to_batch_nd"),
    "FoldConstant": Case(lambda: relay.add(D, relay.exp(const(4, 8))), loses="exp("),
    "FoldExplicitPadding": Case(padded, "padding=[1, 1, 1, 1]", "nn.pad("),
    "FoldScaleAxis": Case(lambda: relay.multiply(conv_constant(X), const(8, 1, 1)), loses="multiply("),
    "ForwardFoldScaleAxis": Case(lambda: conv_constant(relay.multiply(X, const(8, 1, 1))), "squeeze"),
    "FuseOps": Case(lambda: relay.exp(relay.tanh(D)), "Primitive=1"),
    "Inline": Case(lambda: with_helper(called=True, inline=True), "exp(%d)", "@helper"),
    "LambdaLift": Case(closure, "lifted_name"),
    "LazyGradientInit": Case(lambda: relay.exp(D), "GradCell"),
    "Legalize": Case(transposed, "axes=[0, 3, 1, 2]"),
    "ManifestLifetimes": Case(lambda: let(used=True), "memory.kill"),
    "MarkCompilerFunctionsAsExtern": Case(offloaded, "Extern=1"),
    "MergeCompilerRegions": Case(lambda: relay.exp(relay.tanh(D)), loses="annotation.compiler_end(%1", before=REGIONS),
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": Case(inline_offloaded, "def @outlined"),
    "PartialEvaluate": Case(closure, "add(%d, %d)"),
    "PartitionGraph": Case(
        lambda: relay.exp(relay.tanh(D)), 'Compiler="mine"', before=(*REGIONS, "MergeCompilerRegions")
    ),
    "RemoveUnusedFunctions": Case(lambda: with_helper(called=False), loses="@helper"),
    "SimplifyExpr": Case(lambda: relay.reshape(relay.reshape(D, (8, 4)), (2, 16)), loses="newshape=[8, 4]"),
    "SimplifyInference": Case(normalized, "sqrt(", "nn.batch_norm"),
    "SplitArgs": Case(joined, "annotation.stop_fusion"),
    "ToANormalForm": Case(lambda: relay.exp(relay.tanh(D)), "let %"),
    "ToBasicBlockNormalForm": Case(conditional, "let %"),
    "ToGraphNormalForm": Case(lambda: let(used=True), loses="let %"),
    "ToMixedPrecision": Case(lambda: relay.nn.dense(D, var("w", 8, 8)), "float16"),
    "qnn.CanonicalizeOps": Case(quantized_dense, loses="qnn.dense"),
    "qnn.Legalize": Case(quantized_dense, 'cast(%1, dtype="uint8")', target="llvm -mcpu=core-avx2"),
}

UNCHANGED = {
    "AnnotateSpans": "it sets spans, which are no part of a program's structure",
    "CapturePostDfsIndexInSpans": "it sets spans, which are no part of a program's structure",
    "InferType": "every module here is typed already, and every pass is followed by it",
}
"Passes that run and change nothing that can be seen, with the reason."
