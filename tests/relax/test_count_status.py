"""The status of `wb.count` in Relax is that of a build."""

import pytest

import workbench as wb

X = 'x: R.Tensor((2, 3), "float32")'
LOCAL = """@R.function
        def inner(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            z = R.exp(y)
            return z
        gv = inner(x)"""
NONZERO = """k = T.int64()
        found = R.nonzero(x)
        gv = R.match_cast(found, R.Tensor((2, k), "int64"))"""
PRINTED = """said = R.print(x, format="{}")
        gv = R.exp(x)"""


def program(body: str, arguments: str = X, pure: str = "") -> wb.Workload:
    text = f"@I.ir_module\nclass Module:\n    @R.function{pure}\n    def main({arguments}):\n        {body}\n        return gv\n"
    return wb.load(text)


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(lambda: program(LOCAL), id="local function"),
        pytest.param(lambda: program("gv = R.ewise_fma(x, x, x)"), id="operator without a kernel"),
        pytest.param(lambda: program(NONZERO), id="unknown shape"),
        pytest.param(lambda: program(PRINTED, pure="(pure=False)"), id="print"),
        pytest.param(lambda: program("gv = R.add(x, x)", 'x: R.Tensor((4, 8), "float4_e2m1fn")'), id="data type"),
        pytest.param(lambda: program("gv = R.exp(x[0])", 'x: R.Tuple(R.Tensor((2, 3), "float32"))'), id="tuple"),
    ],
)
def test_status_is_that_of_a_build(workload):
    loaded = workload()
    counts, notes = wb.count(loaded), wb.memory(loaded).notes
    try:
        built = wb.kernels(wb.Workload(loaded.module, {}, loaded.name, loaded.dialect))
    except wb.WorkbenchError:
        assert counts.status == "failed"
        assert counts.reason in notes
    else:
        assert (counts.status, counts.calls) == ("ok", built.calls)


def test_operators_without_work_are_no_kernels():
    """Both counts leave them out."""
    storage = 'R.memory.alloc_storage(R.shape([24]), R.prim_value(0), R.str("global"), R.dtype("float32"))'
    made = f'gv: R.Tensor((2, 3), "float32") = R.memory.alloc_tensor({storage}, R.prim_value(0), R.shape([2, 3]), R.dtype("float32"))'
    workload = program(made)
    assert wb.explain_fusion(workload).kernels == ()
    assert wb.trace(workload, "FuseOps").end.graph.kernel_count == 0
