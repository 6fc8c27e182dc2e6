"""`inputs=` gives every run the user's own arrays."""

import numpy as np
import pytest

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
