"""Kernels that came with a text run only where the user asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax

import workbench as wb
from workbench.pipeline.run import Runner

CALLS_OUT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True, private=True)
    def kernel(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        T.evaluate(T.call_packed("workbench.test.canary", x.data))
        for i in range(4):
            y[i] = x[i]

    @R.function
    def main(w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.kernel, (R.const([1.0, 2.0, 3.0, 4.0], "float32"),), out_ty=R.Tensor((4,), "float32"))
            b: R.Tensor((4,), "float32") = R.add(a, w)
            R.output(b)
        return b
"""
PLAIN = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return R.nn.relu(x)
"""


@pytest.fixture
def calls() -> list[str]:
    seen: list[str] = []
    tvm.register_global_func("workbench.test.canary", lambda *_: seen.append("ran"), override=True)
    return seen


def test_kernels_of_a_text_do_not_run(calls: list[str]) -> None:
    workload = wb.load(CALLS_OUT)
    assert not workload.trusted
    (step,) = wb.trace(workload, "FoldConstant").steps
    assert step.status == "error"
    assert "workload.trusted = True" in step.error
    assert calls == []


@pytest.mark.parametrize(
    "step",
    [
        relax.transform.FoldConstant(),
        tvm.transform.Sequential([relax.transform.Normalize(), relax.transform.FoldConstant()]),
        tvm.transform.Sequential([tvm.transform.Sequential([relax.transform.FoldConstant()])]),
    ],
    ids=["pass", "sequential", "nested"],
)
def test_kernels_do_not_run_by_a_pass_object(step: tvm.transform.Pass, calls: list[str]) -> None:
    (row,) = wb.trace(wb.load(CALLS_OUT), [step]).steps
    assert row.status == "error"
    assert calls == []


def test_explore_runs_no_received_kernels(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    call = f'T.evaluate(T.call_extern("int32", "creat", "{touched}", 511))'
    workload = wb.load(CALLS_OUT.replace('T.evaluate(T.call_packed("workbench.test.canary", x.data))', call))
    exploration = wb.explore(workload, ["FoldConstant"])
    exploration.run()
    assert not touched.exists()
    assert "trusted" in exploration.rows[0].message


def test_edits_of_a_text_are_not_trusted() -> None:
    workload = wb.load(CALLS_OUT)
    kernel, add = (node.id for node in workload.graph.ops)
    assert not wb.cut(workload, (kernel, add)).trusted


def test_trusted_kernels_run(calls: list[str]) -> None:
    workload = wb.load(CALLS_OUT)
    workload.trusted = True
    (step,) = wb.trace(workload, "FoldConstant").steps
    assert calls, "the canary can be reached: the test above shows something"
    assert step.status != "error"


def test_refusal_is_not_remembered(calls: list[str]) -> None:
    runner = Runner(wb.load(CALLS_OUT))
    fold = wb.Pipeline.parse("FoldConstant")
    assert "trusted" in runner.run(fold).steps[0].error
    runner.workload.trusted = True
    assert runner.run(fold).steps[0].error == ""
    assert calls


def test_text_without_kernels_is_trusted(tmp_path: Path) -> None:
    assert wb.load(PLAIN).trusted
