"""What is told to a person before it surprises them, and switches, which TVM honours in its own way."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import workbench as wb
from workbench.dialects.relax import compat

KERNELS = "LegalizeOps,AnnotateTIROpPattern,FuseOps"


def normalised(**given: bool) -> wb.Workload:
    x = relax.Var("x", compat.tensor_type((1, 4, 2, 2), "float32"))
    two = relax.const(np.full(4, 2, "float32"))
    block = relax.BlockBuilder()
    with block.function("main", [x]):
        made = block.emit(relax.op.nn.batch_norm(x, two, two, two, two, axis=1, **given))
        block.emit_func_output(block.emit(relax.TupleGetItem(made, 0)))
    return wb.load(block.get())


def test_batch_norm_in_training_mode_is_told_when_it_is_loaded() -> None:
    (note,) = normalised().notes
    assert "training=True, the default" in note
    assert normalised(training=False).notes == []


def test_decompose_uses_moving_statistics() -> None:
    before = normalised()
    after = wb.trace(before, "DecomposeOpsForInference").result
    assert not wb.compare_outputs(before, wb.load(after)).same
    safe = normalised(training=False)
    assert wb.compare_outputs(safe, wb.load(wb.trace(safe, "DecomposeOpsForInference").result)).same


@pytest.mark.parametrize("name", wb.samples.names("relax"))
def test_no_sample_steps_into_it(name: str) -> None:
    assert wb.samples.load(name).notes == []


def test_what_a_pass_costs_or_heeds_stands_in_its_description() -> None:
    told = {info.name: info.doc for info in wb.passes("relax")}
    assert "compiles a kernel with LLVM" in told["FoldConstant"]
    assert "at 0 it fuses nothing" in told["FuseOps"]
    assert "moving statistics" in told["DecomposeOpsForInference"]


@pytest.mark.parametrize(
    ("level", "given", "fused"),
    [
        (2, {}, True),
        (0, {}, False),
        (0, {"required": ["FuseOps"]}, False),
        (2, {"disabled": ["FuseOps"]}, False),
        (0, {"disabled": ["AnnotateTIROpPattern"]}, False),
        (2, {"disabled": ["AnnotateTIROpPattern"]}, False),
        (2, {"config": {"relax.FuseOps.max_depth": 1}}, False),
    ],
)
def test_a_build_heeds_its_switches_as_tvm_does(level: int, given: dict, fused: bool) -> None:
    trace = wb.trace_build(wb.samples.load("mlp"), "llvm", level, whole=False, **given)
    names = {step.name: step for step in trace.steps}
    assert ("FuseOps" in names) == ("FuseOps" not in given.get("disabled", ()))
    if "FuseOps" in names:
        assert names["FuseOps"].changed is fused
    assert ("AnnotateTIROpPattern" in names) == ("AnnotateTIROpPattern" not in given.get("disabled", ()))


def test_the_pipeline_of_a_build_is_the_one_that_fuses_named() -> None:
    import tvm

    trace = wb.trace_build(wb.samples.load("mlp"), whole=False)
    shown = [step.name for step in trace.steps if step.depth <= 1]
    order = [
        "LegalizeOps",
        "AnnotateTIROpPattern",
        "FoldConstant",
        "FuseOps",
        "FuseTIR",
        "CallTIRRewrite",
        "VMShapeLower",
    ]
    assert [name for name in shown if name in order] == order
    executable = tvm.compile(wb.samples.load("mlp").module, tvm.target.Target({"kind": "llvm"}))
    assert "fused" not in executable.as_text(), "the CPU's default pipeline does not fuse, which is why it is named"


def chain(*, nested: bool = False, bound: bool = True) -> tvm.IRModule:
    """Return `exp(relu(x))`: with a call inside a call, which has no type, or without the first binding."""
    x = relax.Var("x", compat.tensor_type((4,), "float32"))
    block = relax.BlockBuilder()
    with block.function("main", [x]):
        block.emit_func_output(block.emit(relax.op.exp(block.emit(relax.op.nn.relu(x)))))
    function = block.get()["main"]
    (relu, exp), result = function.body.blocks[0].bindings, function.body.body
    inside = [relax.VarBinding(exp.var, relax.Call(exp.value.op, [relax.Call(relu.value.op, [x])]))]
    bindings = inside if nested else [relu, exp] if bound else [exp]
    body = relax.SeqExpr([relax.BindingBlock(bindings)], result)
    return tvm.IRModule({"main": relax.Function(function.params, body, compat.type_of(result))})


def test_calls_without_types_are_refused_with_the_reason_of_tvm() -> None:
    saved = tvm.ir.load_json(compat.save_json(chain(nested=True)))
    with pytest.raises(wb.WorkbenchError, match=r"TVM cannot walk the function main.*relax\.BlockBuilder"):
        wb.load(saved)
    assert "TVM cannot walk" in wb.explain_fusion(wb.load(chain()).of(saved).graph).failure


def test_pass_that_breaks_the_program_is_named() -> None:
    whole = chain()
    trace = wb.trace(
        wb.load(whole),
        ["CanonicalizeBindings", lambda _: chain(bound=False), "LegalizeOps", lambda _: 1 / 0],
    )
    assert [bool(step.flaw) for step in trace.steps] == [False, True, False, False]
    assert "is not defined" in trace.steps[1].flaw
    assert f"its input is not well-formed since {trace.steps[1].name}" in trace.steps[3].error
    assert "not well-formed" in wb.load(chain(bound=False)).notes[0]
