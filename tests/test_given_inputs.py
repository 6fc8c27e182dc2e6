"""`inputs=` gives every run the user's own arrays; random inputs that look something up are valid indices."""

import numpy as np
import pytest
from onnx_models import INT, Onnx

import workbench as wb


def test_every_run_takes_the_arrays(dialect: str) -> None:
    workload = wb.samples.load("mlp", layers=1, width=8)
    (name,) = (node.op for node in workload.graph.nodes if node.kind == "param" and node.op not in workload.params)
    given = {name: np.full((1, 8), 0.5, "float32")}
    trace = wb.trace(workload, "FoldConstant,EliminateCommonSubexpr,FuseOps")
    assert all(row.status in ("same", "unchanged") for row in trace.check(inputs=given))
    assert wb.compare_outputs(workload, workload, inputs=given).same
    assert wb.measure(workload, [3], budget=0.01, inputs=given, store=False)["check"][0] == "ok"
    assert wb.bisect(workload, "wrong", inputs=given, edges=False).status == "not shown"
    with pytest.raises(wb.WorkbenchError, match="float64, and the program takes"):
        wb.compare_outputs(workload, workload, inputs={name: np.zeros((1, 8))})
    with pytest.raises(wb.WorkbenchError, match="no input named 'nothing'"):
        wb.race(workload, 0, 3, inputs={"nothing": 1})


@pytest.fixture
def lookup(dialect: str) -> wb.Workload:
    """An embedding of three rows, whose indices are an input."""
    made = Onnx()
    rows = made.op("Gather", made.normal("table", 3, 8), "ids", axis=0)
    return wb.load(made.model({"ids": (INT, [4])}, made.op("Relu", rows)))


def test_random_indices_are_inside_of_the_table(lookup: wb.Workload) -> None:
    assert lookup.limits == {"ids": 3}
    rows = wb.measure(lookup, [0, 3], budget=0.02, store=False)
    assert list(rows["status"]) == ["ok", "ok"], list(rows["message"])


def test_a_lowered_program_gets_the_inputs_of_the_one_it_is_compared_with(lookup: wb.Workload) -> None:
    from workbench.dialects.registry import dialect

    lowered = wb.load(wb.trace(lookup, dialect(lookup.dialect).passes.fusing()).result, lookup.params)
    assert wb.compare_outputs(lookup, lowered)


def test_another_module_of_the_program_gets_the_same_inputs(lookup: wb.Workload) -> None:
    from workbench.dialects.registry import dialect

    lowered = lookup.of(wb.trace(lookup, dialect(lookup.dialect).passes.fusing()).result)
    assert lowered.limits == {"ids": 3}
