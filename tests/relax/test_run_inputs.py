"""Inputs that are tuples, inputs that the workbench cannot make, and a program whose outputs are other ones each run."""

import numpy as np
import pytest

import workbench as wb
from workbench.dialects.compiler.inputs import with_inputs
from workbench.errors import NotRepeatable
from workbench.pipeline.outputs import run_once

TUPLE = """
@I.ir_module
class Module:
    @R.function
    def main(ids: R.Tensor((4,), "int32"), weights: R.Tuple(R.Tensor((8, 4), "float32"), R.Tensor((4,), "int32"))):
        with R.dataflow():
            a = R.take(weights[0], ids, axis=0)
            b = R.take(a, weights[1], axis=0)
            R.output(b)
        return b
"""
OPEN = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
"""
OUTSIDE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 7, 48), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            last = R.take(a, R.const(-1, "int64"), axis=1, mode="fast")
            y = R.tanh(last)
            R.output(y)
        return y
"""


def test_tuples_are_made_and_given() -> None:
    workload = wb.load(TUPLE)
    assert workload.limits == {"ids": 8, "weights.1": 4}
    assert wb.compare_outputs(workload, workload).same
    table = np.arange(32, dtype="float32").reshape(8, 4)
    given = {"ids": np.array([7, 6, 5, 4], "int32"), "weights": (table, np.array([3, 0, 0, 0], "int32"))}
    (output,) = run_once(with_inputs(workload, given)).outputs
    assert output[0].tolist() == table[4].tolist()


@pytest.mark.parametrize("symptom", ["crash", "wrong", "hang"])
def test_own_limits_are_no_symptom(symptom: str) -> None:
    workload = wb.load(OPEN)
    found = wb.bisect(workload, symptom, edges=False)
    assert (found.status, found.found) == ("can't tell", False)
    with pytest.raises(wb.WorkbenchError, match="not known whether"):
        wb.reduce(workload, symptom)


def test_program_that_differs_from_itself_is_the_answer() -> None:
    workload = wb.load(OUTSIDE)
    checks = wb.trace(workload, "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR").check()
    assert not checks.failed
    assert "the kernel take reads" in checks.rows[0].message
    assert "the kernel take reads" in str(wb.bisect(workload, "wrong"))
    with pytest.raises(NotRepeatable, match="differs from itself"):
        wb.compare_outputs(workload, workload)
