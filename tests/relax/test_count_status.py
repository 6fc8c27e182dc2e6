"""The status that `wb.count` gives to programs that cannot run and to open sizes."""

import pytest
from breadth import breadth

import workbench as wb

UNKNOWN_SHAPE = """@R.function
def main(x: R.Tensor("float32", ndim=2)):
    return R.nn.relu(x)
"""
OPEN = """@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    return R.nn.relu(x)
"""


def test_operator_without_a_kernel_fails():
    loaded = wb.load(UNKNOWN_SHAPE)
    counts = wb.count(loaded)
    assert counts.status == "failed"
    assert "no kernel of relax.nn.relu" in counts.reason
    with pytest.raises(wb.WorkbenchError):
        wb.kernels(loaded)


def test_function_that_tvm_does_not_have_fails():
    from tvm import relax

    from workbench.dialects.relax import compat

    x = relax.Var("x", compat.tensor_type((4, 8), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        call = relax.op.call_dps_packed("nosuch", x, compat.tensor_type((4, 8), "float32"))
        builder.emit_func_output(builder.emit(call))
    loaded = wb.load(builder.finalize())
    counts = wb.count(loaded)
    assert (counts.status, counts.reason.split(",")[0]) == ("failed", "it calls nosuch")
    assert wb.measure(loaded, [3], budget=0.01, store=False).status[0] == "failed"


def test_open_dimension_is_a_lower_bound_until_it_has_a_value():
    counts = wb.count(wb.load(OPEN))
    assert (counts.status, counts.traffic_bytes) == ("lower bound", 0)
    assert "(n, 4) float32" in counts.reason
    fixed = wb.count(wb.load(OPEN), shapes={"n": 2})
    assert (fixed.status, fixed.reason, fixed.traffic_bytes) == ("ok", "", 2 * 2 * 4 * 4)


@pytest.mark.parametrize("name", breadth(["mlp", "resnet18", "bert", "branches"], "mlp", "branches"))
def test_samples_can_run(name):
    counts = wb.count(wb.samples.load(name))
    assert (counts.status, counts.reason) == ("ok", "")
