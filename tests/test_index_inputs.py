"""Programs that look something up: their random inputs are valid indices, so that no build is called wrong for them."""

from __future__ import annotations

import pytest
from onnx_models import INT, Onnx

import workbench as wb


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
