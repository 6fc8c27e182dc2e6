"""Passes that change the answer are caught: TVM 0.17 has some, and says nothing."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from breadth import breadth
from tvm import relay

import workbench as wb
from workbench.dialects.registry import dialect
from workbench.pipeline.outputs import OutputDifference, difference


def changed_by(expression: relay.Expr, passes: str, opt_level: int = 4) -> OutputDifference:
    before = wb.load(tvm.IRModule.from_expr(expression))
    trace = wb.trace(before, passes, opt_level=opt_level)
    assert trace.steps[-1].changed
    return wb.compare_outputs(before, wb.load(trace.result))


def test_a_cast_that_forgets_the_sign_is_caught() -> None:
    x = relay.var("x", shape=(8, 16), dtype="int8")
    found = changed_by(relay.cast(relay.cast(x, "uint8"), "int32"), "SimplifyExpr")
    assert not found.same
    assert found.max_absolute == 256


def test_a_clip_that_forgets_the_rounding_is_caught() -> None:
    x = relay.var("x", shape=(8, 16), dtype="float32")
    clipped = relay.cast(relay.clip(x, -128, 127), "int8")
    found = changed_by(relay.cast(clipped, "float32"), "SimplifyExpr")
    assert not found.same
    assert 0.5 < found.max_absolute < 1


@pytest.mark.parametrize(
    "sample", breadth(["parallel_cast", "attention", "conv_bias_batch_norm", "branches", "mlp"], "parallel_cast", "mlp")
)
def test_what_the_compiler_does_to_a_sample_keeps_its_answer(sample: str) -> None:
    w = wb.samples.load(sample)
    preset = next(preset for preset in dialect("relay").passes.presets() if preset.name == "opt 3, weights bound")
    trace = wb.trace(w, preset.pipeline)
    assert trace.failed is None
    after = wb.Workload(trace.result, w.params, sample, "relay")
    assert wb.compare_outputs(w, after)


def test_outputs_of_another_kind_are_refused_in_words() -> None:
    with pytest.raises(wb.WorkbenchError, match="not of one kind"):
        wb.compare_outputs(wb.samples.load("mlp"), wb.samples.load("mlp", width=16))


def test_a_nan_is_the_same_as_a_nan_and_as_nothing_else() -> None:
    a, b = np.array([np.nan, 1.0], "float32"), np.array([2.0, 1.0], "float32")
    assert difference([a], [a]).same
    assert not difference([a], [b]).same


def test_floats_must_be_nearly_equal() -> None:
    near = np.float32(1 + 1e-6)
    assert difference([np.ones(2, "float32")], [np.array([1, near], "float32")]).same


@pytest.mark.parametrize(
    ("dtype", "first", "second", "gap"),
    [
        ("bool", False, True, 1),
        ("int8", -128, 127, 255),
        ("int32", 1000, 1001, 1),
        ("int64", 2**53, 2**53 + 1, 1),
        ("int64", -(2**63), 2**63 - 1, 2**64 - 1),
        ("uint64", 2**64 - 1, 2**64 - 2, 1),
    ],
)
def test_integers_must_be_equal(dtype: str, first: int, second: int, gap: int) -> None:
    a, b = np.array([7, first], dtype), np.array([7, second], dtype)
    found = difference([a], [b])
    assert (found.same, found.max_absolute, found.differing) == (False, float(gap), 1)
    assert difference([b], [b]).same
    assert difference([np.empty(0, dtype)], [np.empty(0, dtype)]).same
