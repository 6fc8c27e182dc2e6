"""Modules of PrimFuncs alone: loaded, drawn, traced with passes on TIR, checked and tried."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import tirx

import workbench as wb
from workbench.dialects.compiler.inputs import with_inputs
from workbench.errors import LoadError
from workbench.pipeline.outputs import run_once

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
    found = wb.try_pass(tirx.transform.StmtSimplify(), ["samples", two], budget=8)
    assert found.fired
    assert not found.failures, str(found)
