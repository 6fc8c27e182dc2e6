"""Steps checked on the same inputs, in both dialects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from breadth import breadth
from onnx_models import dense
from small_samples import SMALL

import workbench as wb
from workbench.dialects.registry import dialect as door


@pytest.mark.parametrize(
    "name", breadth(["parallel_cast", "conv_bias_batch_norm", "branches", "attention", "mlp"], "parallel_cast")
)
def test_what_the_compiler_does_keeps_the_answer(name: str, dialect: str) -> None:
    w = wb.samples.load(name, dialect=dialect)
    checks = wb.trace(w, door(dialect).passes.presets()[0].pipeline).check()
    assert checks
    assert {row.status for row in checks} <= {"same", "unchanged"}
    assert "same" in {row.status for row in checks}


@pytest.mark.parametrize("name", breadth(["conv_bias_batch_norm", "parallel_cast"], "parallel_cast"))
def test_a_build_is_checked_as_far_as_its_modules_can_be_run(name: str, dialect: str) -> None:
    t = wb.trace_build(wb.samples.load(name, dialect=dialect, **SMALL[name]))
    fusion = next(place for place, step in enumerate(t.steps) if step.name == "FuseOps")
    checks = t.check(range(fusion + 1))
    assert not checks.failed
    assert checks.rows[-1].status == "same", checks.rows[-1].message


@pytest.mark.one_dialect
def test_only_what_is_asked_for_is_run_and_told(dialect: str) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    t = wb.trace(w, door(dialect).passes.presets()[0].pipeline)
    changed = [place for place, step in enumerate(t.steps) if step.changed]
    told: list[int] = []
    (row,) = t.check(changed[0], progress=lambda row: told.append(row.step))
    assert (row.step, row.name) == (changed[0], t.steps[changed[0]].name)
    assert told == changed[:1]
    checks = t.check(changed[:1])
    assert list(checks.table["status"]) == ["same"]
    assert str(checks) == f"{t.steps[changed[0]].name}: same"


@pytest.mark.one_dialect
def test_it_can_be_given_up(dialect: str) -> None:
    t = wb.trace(wb.samples.load("mlp", dialect=dialect), door(dialect).passes.presets()[0].pipeline)
    with pytest.raises(wb.WorkbenchError):
        t.check(cancelled=lambda: True)


@pytest.mark.one_dialect
def test_an_opened_trace_says_that_it_has_no_modules(dialect: str, tmp_path: Path) -> None:
    t = wb.trace(wb.samples.load("mlp", dialect=dialect), "")
    with pytest.raises(wb.WorkbenchError, match="holds no modules"):
        wb.Trace.open(t.save(tmp_path / "t.wbtrace")).check()


def marked(module: Any) -> Any:
    import tvm

    return module.with_attr("seen", tvm.runtime.convert("yes"))


def test_a_module_that_does_not_run_is_unknown_and_says_why(dialect: str) -> None:
    w = wb.load(dense("batch"))
    assert "x leaves batch open" in w.notes[0]
    (row,) = wb.trace(w, [marked]).check()
    assert row.status == "unknown"
    assert "does not run" in row.message


@pytest.mark.one_dialect
def test_outputs_of_another_kind_are_refused_in_words(dialect: str) -> None:
    with pytest.raises(wb.WorkbenchError, match="not of one kind"):
        wb.compare_outputs(wb.samples.load("mlp"), wb.samples.load("mlp", width=16))
