"""Quantised models: TVM has no kernels for `qnn` operators at opt level 0, and they are checked all the same."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.dialects.registry import dialect


def convolution(zero_point: int = 3) -> wb.Workload:
    """A quantised convolution of three channels, requantised, added to itself, as floats."""
    x = relay.var("x", shape=(1, 3, 8, 8), dtype="uint8")
    weight = relay.const(np.random.default_rng(0).integers(-5, 5, (4, 3, 3, 3)).astype("int8"))

    def scaled(scale: float, zero: int) -> tuple[relay.Expr, relay.Expr]:
        return relay.const(scale, "float32"), relay.const(zero, "int32")

    (in_scale, in_zero), (w_scale, w_zero) = scaled(0.5, zero_point), scaled(0.25, 0)
    y = relay.qnn.conv2d(x, weight, in_zero, w_zero, in_scale, w_scale, (3, 3), 4, padding=(1, 1))
    y = relay.qnn.requantize(y, *scaled(0.125, 0), *scaled(0.5, 2), out_dtype="uint8")
    y = relay.qnn.add(y, y, *scaled(0.5, 2), *scaled(0.5, 2), *scaled(1.0, 2))
    return wb.load(tvm.IRModule.from_expr(relay.qnn.dequantize(y, *scaled(1.0, 2))))


def test_a_quantised_model_is_checked() -> None:
    rows = wb.measure(convolution(), [1, 3], budget=0.02)
    assert list(rows.check) == ["ok", "ok"]
    assert list(rows.status) == ["ok", "ok"]


@pytest.mark.parametrize(("zero_point", "same"), [pytest.param(3, True, marks=pytest.mark.long), (4, False)])
def test_outputs_are_compared_before_and_after_qnn_is_gone(zero_point: int, same: bool) -> None:
    before, after = convolution(), wb.trace(convolution(zero_point), "qnn.CanonicalizeOps").result
    assert not any(node.op.startswith("qnn.") for node in wb.load(after).graph.nodes)
    assert bool(wb.compare_outputs(before, wb.load(after))) == same


def test_passes_and_builds_do_not_write_into_the_module_that_they_are_given() -> None:
    """Canonicalizing a requantize writes the target's rounding into its argument; the next target would use it."""
    x = relay.var("x", shape=(1, 8), dtype="int32")
    scales = (relay.const(each) for each in (0.5, 0, 0.25, 1))
    w = wb.load(relay.Function([x], relay.qnn.op.requantize(x, *scales, out_dtype="int8")))
    before, compiler = w.module.astext(), dialect("relay").compiler
    config = wb.Config().context().to_data()
    assert wb.trace(w, "qnn.CanonicalizeOps").steps[0].changed
    compiler.unoptimized(w, "llvm")
    compiler.optimized(w, "llvm", config)
    compiler.compiled(w, "llvm", config)
    compiler.plan(w, "llvm", config)
    assert w.module.astext() == before
