"""Modules of PrimFuncs alone: loaded, drawn, traced with passes on TIR, checked and tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import tirx

import workbench as wb
from workbench.dialects.compiler.inputs import with_inputs
from workbench.dialects.relax import compat
from workbench.dialects.relax.kinds import prim_funcs
from workbench.dialects.relax.passes.catalog import PASSES
from workbench.errors import LoadError, UnknownName
from workbench.pipeline.config import KERNEL_PASSES
from workbench.pipeline.outputs import run_once
from workbench.testing.corpus import SMALL
from workbench.widgets.stepper.trace_states import States

TEXT = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def shifted(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
        for i, j in T.grid(4, 6):
            B[i, j] = A[i * 1, j] * T.float32(2) + T.float32(2)

    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (4,), "float32")
        C = T.match_buffer(c, (n, 4), "float32")
        for i, j in T.grid(n, 4):
            C[i, j] = A[i, j] - B[j]
"""


@pytest.fixture(scope="module")
def two() -> wb.Workload:
    return wb.load(TEXT, name="two", shapes={"n": 3})


def test_each_prim_func_is_called_on_inputs_of_its_own(two: wb.Workload) -> None:
    assert sorted(node.op for node in two.graph.nodes if node.kind == "param") == [
        "main_kernel_A",
        "main_kernel_B",
        "shifted_A",
    ]
    given = {
        name: np.arange(size, dtype="float32").reshape(shape)
        for name, size, shape in (("main_kernel_A", 12, (3, 4)), ("main_kernel_B", 4, (4,)), ("shifted_A", 24, (4, 6)))
    }
    two.trusted = True
    outputs = run_once(with_inputs(two, given)).outputs
    assert {output.shape for output in outputs} == {(4, 6), (3, 4)}
    for output in outputs:
        expected = (
            given["shifted_A"] * 2 + 2 if output.shape == (4, 6) else given["main_kernel_A"] - given["main_kernel_B"]
        )
        np.testing.assert_array_equal(output, expected)


def test_a_pass_on_tir_is_a_step_with_its_text_and_its_check(two: wb.Workload) -> None:
    def doubles(mod: tvm.IRModule) -> tvm.IRModule:
        return wb.load(mod.script().replace("T.float32(2.0)", "T.float32(4.0)")).module

    two.trusted = True
    t = wb.trace(two, [tirx.transform.StmtSimplify(), doubles])
    assert t.steps[-1].changed
    assert t.steps[-1].text_before != t.steps[-1].text_after
    assert t.check().rows[-1].status == "different"
    found = wb.bisect(two, "wrong", wb.Pipeline([tirx.transform.StmtSimplify(), doubles]))
    assert found.passes == ("<doubles>",)


def test_a_single_prim_func_is_a_program(two: wb.Workload) -> None:
    alone = wb.load(two.module["shifted"])
    assert "main_kernel" in alone.text()
    assert len(alone.graph.outputs) == 1


def test_what_cannot_be_called_is_refused_with_a_sentence(two: wb.Workload) -> None:
    reads_nothing = TEXT.replace("B[i, j] = A[i * 1, j] * T.float32(2) + T.float32(2)", "A[i, j] = B[i, j]")
    with pytest.raises(LoadError, match="inputs first and its outputs last"):
        wb.load(reads_nothing)
    with pytest.raises(LoadError, match="not int64"):
        wb.load(TEXT.replace("T.int64()", "T.int32()"))
    with pytest.raises(LoadError, match="no Relax function"):
        wb.load(tvm.IRModule())


def test_a_pass_on_tir_is_tried(two: wb.Workload) -> None:
    two.trusted = True
    found = wb.try_pass("tirx.FlattenBuffer", two, budget=5)
    assert found.isolated
    assert found.fired
    assert not found.failures, str(found)


def drops_a_loop(mod: tvm.IRModule) -> tvm.IRModule:
    """Leave out the outer loop of the first PrimFunc, whose variable the inner one reads."""
    made = mod.clone()
    for variable, function in mod.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            made[variable] = function.with_body(getattr(function.body, "block", function.body).body.body)
            return made
    return made


def test_the_pass_after_which_a_prim_func_is_not_well_formed_is_named(two: wb.Workload) -> None:
    alone = wb.load(two.module["shifted"])
    pipeline = wb.Pipeline(["tirx.StmtSimplify", drops_a_loop, "tirx.RemoveNoOp"])
    t = wb.trace(alone, pipeline)
    assert [bool(step.flaw) for step in t.steps] == [False, True, False]
    assert "in the PrimFunc main_kernel, " in t.steps[1].flaw
    assert "undefined variable i" in t.steps[1].flaw
    found = wb.try_pass(drops_a_loop, alone, budget=10, reduced=False)
    assert [failure.law for failure in found.failures] == ["not well-formed"]
    assert "verify_well_formed" in found.failures[0].script


def test_a_bisection_says_whose_prim_func_is_not_well_formed(two: wb.Workload) -> None:
    alone = wb.load(two.module["shifted"], name="alone")
    alone.trusted = True
    found = wb.bisect(alone, "crash", wb.Pipeline(["tirx.StmtSimplify", drops_a_loop, "tirx.RemoveNoOp"]))
    assert "drops_a_loop" in str(found)
    assert "undefined variable i" in str(found)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in ("chain", "mlp") else pytest.mark.long) for each in SMALL]
)
def test_what_tvm_lowers_is_well_formed(name: str) -> None:
    found: list[tuple[str, str]] = []

    @tvm.instrument.pass_instrument
    class Checked:
        def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
            found.append((info.name, compat.flaw(mod)))

    fused = wb.trace(
        wb.samples.load(name, dialect="relax", **SMALL[name]), "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR"
    )
    kernels = prim_funcs(fused.end.module)
    with tvm.transform.PassContext(instruments=[Checked()]):
        tvm.compile(
            tvm.IRModule({each: function.with_attr("global_symbol", each) for each, function in kernels.items()}),
            "llvm",
        )
    assert {"s_tir.LowerInitBlock", "tirx.StorageRewrite", "tirx.MakePackedAPI"} <= {step for step, _ in found}
    assert not [each for each in found if each[1]]


def test_passes_on_tir_have_names(two: wb.Workload) -> None:
    infos = {info.name: info for info in wb.passes("relax") if info.name.startswith(KERNEL_PASSES) and not info.reason}
    named = {name: PASSES.make(name, info.example).info.name for name, info in infos.items()}
    assert {name for name, own in named.items() if name != own} == {
        "tirx.ForceNarrowIndexToInt32",
        "s_tir.DefaultGPUSchedule",
    }
    t = wb.trace(two, "tirx.FlattenBuffer,tirx.NarrowDataType{target_bits=32}", isolated=True)
    assert t.steps[0].changed
    assert not t.failed
    assert "tvm.tirx.transform.FlattenBuffer()" in t.code()
    with pytest.raises(UnknownName, match=r"tirx\.StmtSimplify"):
        wb.trace(two, "tirx.Simplify")


def test_faults_of_tvm_on_prim_funcs_with_blocks() -> None:
    padded = wb.samples.load("conv_bias_batch_norm", dialect="relax", **SMALL["conv_bias_batch_norm"])
    t = wb.trace(padded, "LegalizeOps,s_tir.HoistExpression,tirx.NarrowDataType{target_bits=32}", isolated=True)
    assert "undefined variable v_i2" in t.steps[1].flaw
    assert "SIGSEGV" in t.steps[2].error


def test_the_stepper_has_the_loops_of_prim_funcs(two: wb.Workload) -> None:
    states = States(wb.trace(two, "tirx.UnrollLoop,s_tir.LoopPartition,tirx.FlattenBuffer", 4))
    loops = [
        [f"{row['kind']} {row['name']} {row['extent']}" for row in states.message(("text", n))["loops"]]  # type: ignore[reportGeneralTypeIssues]
        for n in range(len(states))
    ]
    assert loops[0] == [
        "block main_kernel A, B, C",
        "loop i n",
        "loop j 4",
        "block shifted A, B",
        "loop i 4",
        "loop j 6",
    ]
    assert wb.trace(wb.samples.load("chain"), "LegalizeOps").start.loops == []
