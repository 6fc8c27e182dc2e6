"""Own passes that only Relay has, and graphs that are too deep for TVM."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

import workbench as wb
from workbench.errors import PipelineError, TooDeep


class ReluToClip(dfp.DFPatternCallback):
    def __init__(self) -> None:
        super().__init__()
        self.data = dfp.wildcard()
        self.pattern = dfp.is_op("nn.relu")(self.data)

    def callback(self, pre: Any, post: Any, nodes: Any) -> Any:
        return relay.clip(nodes[self.data][0], 0, 6)


class Wrong(ReluToClip):
    def callback(self, pre: Any, post: Any, nodes: Any) -> Any:
        return relay.nn.dense(nodes[self.data][0], nodes[self.data][0])


def test_a_pattern_callback_is_a_pass() -> None:
    w = wb.samples.load("parallel_cast")
    (step,) = wb.trace(w, [ReluToClip()]).steps
    assert step.name == "<ReluToClip>"
    assert step.changed, step
    assert [node.op for node in step.after.ops if node.op in ("nn.relu", "clip")] == ["clip", "clip"]
    assert "nn.relu" in w.text()


def test_a_callback_that_makes_an_ill_typed_module_is_a_step_with_the_diagnosis() -> None:
    (step,) = wb.trace(wb.samples.load("conv_bias_batch_norm"), [Wrong()]).steps
    assert step.status == "error"
    assert "does not type-check: " in step.error
    assert "\n" not in step.error


def test_an_ill_typed_module_says_what_did_not_fit() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(4, 5))

    def ill_typed(module: Any) -> Any:
        return tvm.IRModule.from_expr(relay.Function([x, y], relay.add(x, y)))

    (step,) = wb.trace(wb.samples.load("mlp"), [ill_typed]).steps
    assert "Incompatible broadcast type TensorType([2, 3], float32) and TensorType([4, 5], float32)" in step.error
    assert "unable to infer" not in step.error


def test_a_pattern_callback_is_isolated_by_a_function_that_makes_it() -> None:
    w = wb.samples.load("parallel_cast")
    with pytest.raises(PipelineError, match="a function that makes"):
        wb.trace(w, [ReluToClip()], isolated=True)

    def rewritten(module: Any) -> Any:
        module["main"] = dfp.rewrite(ReluToClip(), module["main"])
        return module

    assert wb.trace(w, [rewritten], isolated=True).steps[0].changed


def test_a_deep_graph_is_refused_by_name_or_tried_in_a_process_of_its_own() -> None:
    x = y = relay.var("x", shape=(2,))
    for _ in range(5_500):
        y = relay.exp(y)
    w = wb.load(relay.Function([x], y), name="deep")
    with pytest.raises(TooDeep, match=r"deep is 550[0-9] operators"):
        wb.trace(w, "FuseOps")
    (step,) = wb.trace(w, "EliminateCommonSubexpr", isolated=True, timeout=60).steps
    assert step.status in ("same", "error")
    if step.error:
        assert "ended with SIGSEGV" in step.error or "no result within" in step.error


def test_resize_and_retype_keep_the_integer_types_of_other_sizes() -> None:
    sizes = [tvm.tir.IntImm("int64", size) for size in (4, 8)]
    x = relay.Var("x", relay.TensorType(sizes, "float32"))
    w = wb.load(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    nowhere = ["ResizeDimensions{size=7,to=2}", 'ChangeDtype{dtype="int8",to="int32"}']
    assert [step.status for step in wb.trace(w, nowhere, 0).steps] == ["same", "same"]
    after = wb.trace(w, ['ChangeDtype{dtype="float32",to="float16"}'], 0).result
    assert [size.dtype for size in after["main"].params[0].checked_type.shape] == ["int64", "int64"]
