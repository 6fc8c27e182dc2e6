"""`wb.kernel_errors` of Relay: a miscompile of TVM 0.17, changed layouts, combined branches, an int8 model."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from planted_errors import bare_stack
from tvm import relay

import workbench as wb


def loaded(expression: relay.Expr) -> wb.Workload:
    return wb.load(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expression), expression)))


def casts() -> wb.Workload:
    x = relay.cast(relay.cast(relay.var("x", shape=(8, 16), dtype="int8"), "uint8"), "int32")
    y = relay.nn.dense(x, relay.const(np.ones((4, 16), "int32")))
    return loaded(relay.nn.softmax(relay.cast(y, "float32")))


def test_miscompile_of_simplify_expr_is_named() -> None:
    found = wb.kernel_errors(casts(), 3)
    (wrong,) = found.wrong
    assert wrong is found.rows[0]
    assert set(wrong.operators) == {"cast"}
    assert wrong.own is not None
    assert wrong.own.max_absolute == 256
    inherited = found.rows[1].inherited
    assert inherited is not None
    assert inherited.max_absolute == 256
    without = {"disabled": ("SimplifyExpr", "SimplifyExprPostAlterOp")}
    assert wb.kernel_errors(casts(), without).wrong == ()


def test_values_in_another_layout_are_compared() -> None:
    found = wb.kernel_errors(bare_stack("relay", planted=True), reference=bare_stack("relay"))
    packed = [row for row in found.rows if "nn.contrib_conv2d_NCHWc" in row.operators]
    assert len(packed) == 3
    assert all(row.own is not None for row in found.rows), [row.note for row in found.rows]
    assert len(found.wrong) == 1


def test_combined_kernel_has_a_note_and_its_slices_include_it() -> None:
    x = relay.var("x", shape=(1, 8, 8, 8))
    branches = [
        relay.nn.relu(relay.nn.conv2d(x, relay.var(f"w{place}", shape=(4, 8, 3, 3)), padding=(1, 1)))
        for place in range(3)
    ]
    w = loaded(relay.Tuple(branches))
    found = wb.kernel_errors(w, {"opt_level": 4, "disabled": ("AlterOpLayout",)})
    combined = next(row for row in found.rows if "nn.conv2d" in row.operators)
    assert combined.own is None
    assert "the reference does not have its value" in combined.note
    slices = [row for row in found.rows if "strided_slice" in row.operators]
    assert len(slices) == 3
    for row in slices:
        assert row.own is not None
        assert row.own.same
        assert combined.index in row.includes
        assert combined.kernel in row.note


def quantised(planted: int | None = None) -> wb.Workload:
    """Quantised convolutions of one scale; the weights of the planted one differ in one number."""
    scale, zero = relay.const(0.5, "float32"), relay.const(2, "int32")
    x = relay.qnn.quantize(relay.var("x", shape=(1, 8, 8, 8)), scale, zero, out_dtype="uint8")
    for layer in range(2):
        numbers = np.random.default_rng(layer).integers(-4, 5, (8, 8, 3, 3)).astype("int8")
        if layer == planted:
            numbers[3, 0, 1, 1] += 40
        weight, (w_scale, w_zero) = relay.const(numbers), (relay.const(0.03125, "float32"), relay.const(0, "int32"))
        y = relay.qnn.conv2d(x, weight, zero, w_zero, scale, w_scale, (3, 3), 8, padding=(1, 1))
        y = relay.qnn.requantize(y, relay.const(0.015625, "float32"), w_zero, scale, zero, out_dtype="uint8")
        x = relay.nn.relu(y)
    return loaded(relay.qnn.dequantize(x, scale, zero))


@pytest.mark.long
def test_planted_kernel_of_an_int8_model_is_named_in_real_numbers() -> None:
    right = wb.kernel_errors(quantised(), 3)
    assert right.wrong == ()
    assert all(row.own is not None for row in right.rows if "nn.relu" in row.operators)
    found = wb.kernel_errors(quantised(planted=0), 3, reference=quantised())
    (wrong,) = found.wrong
    assert wrong.own is not None
    assert wrong.scale == pytest.approx(0.5)
    steps = wrong.own.max_absolute / 0.5
    assert steps == int(steps) > 1
    later = [row for row in found.rows if row.index > wrong.index]
    assert later
    assert all(row.own is None or row.own.same for row in later)
    assert any(row.inherited is not None and row.inherited.max_absolute >= 0.5 for row in later)
