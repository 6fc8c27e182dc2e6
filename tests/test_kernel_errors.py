"""`wb.kernel_errors`: a wrong kernel is named by its own error, and the kernels after it only inherit one."""

from __future__ import annotations

from functools import cache

import pytest
from breadth import breadth
from planted_errors import bare_stack, stack
from small_samples import SMALL

import workbench as wb
from workbench.debugging.kernel_errors.result import KernelErrors


@cache
def planted(dialect: str) -> KernelErrors:
    """The errors of a stack of six layers with another constant in the third one."""
    return wb.kernel_errors(stack(dialect, planted=2), reference=stack(dialect))


def kernels_with(found: KernelErrors, layer: int) -> list[int]:
    """Return the calls of the given dense layer of `stack`: of its product, and of those before the next product."""
    products = [row.index for row in found.rows if any("dense" in op or "matmul" in op for op in row.operators)]
    ends = [*products[1:], found.rows[-1].index + 1]
    return list(range(products[layer], ends[layer]))


@pytest.mark.one_dialect
@pytest.mark.parametrize("name", breadth(["parallel_cast", "mlp", "branches", "attention"], "attention"))
def test_right_build_has_no_errors_of_its_own(name: str, dialect: str) -> None:
    found = wb.kernel_errors(wb.samples.load(name, dialect=dialect, **SMALL[name]))
    assert found.wrong == ()
    assert len(found.table) == len(found.rows) > 0
    for row in found.rows:
        assert row.note or row.own is not None
    assert sum(row.own is not None for row in found.rows) > len(found.rows) / 2


def test_planted_kernel_is_named_and_later_kernels_inherit(dialect: str) -> None:
    found = planted(dialect)
    (wrong,) = found.wrong
    assert wrong.index in kernels_with(found, 2)
    assert found.worst(1) == (wrong,)
    assert wrong.own is not None
    assert wrong.own.max_absolute == pytest.approx(0.25, rel=1e-3)
    # of its own inputs, a transposed weight has no error
    later = [row for row in found.rows if row.index > wrong.index and row.inherited is not None]
    assert later
    for row in later:
        assert row.own is not None
        assert row.own.same
        assert row.inherited is not None
        assert not row.inherited.same
        assert row.whole is not None
        assert not row.whole.same
    for row in found.rows[: found.rows.index(wrong)]:
        assert row.whole is not None
        assert row.whole.same
        assert row.inherited is None or row.inherited.same


@pytest.mark.one_dialect
def test_another_operator_is_named(dialect: str) -> None:
    found = wb.kernel_errors(bare_stack(dialect, planted=True), reference=bare_stack(dialect))
    (wrong,) = found.wrong
    assert any("erf" in op for op in wrong.operators)


@pytest.mark.one_dialect
def test_values_are_dropped_after_their_last_use(dialect: str) -> None:
    short, long = (wb.kernel_errors(stack(dialect, layers)) for layers in (2, 12))
    assert long.values > 4 * short.values
    assert long.kept == short.kept <= 4


@pytest.mark.one_dialect
def test_result_as_table_and_text(dialect: str) -> None:
    found = planted(dialect)
    assert list(found.table.columns[:4]) == ["index", "kernel", "operators", "own"]
    assert list(found.table["same"]).count(False) == 1
    assert f"1 of {len(found.rows)} kernels with an error of its own" in str(found)
    assert found.wrong[0].kernel in str(found).splitlines()[1]
    assert "<table>" in found._repr_html_()


@pytest.mark.one_dialect
def test_errors_lie_over_the_graph(dialect: str) -> None:
    found = planted(dialect)
    values = found.overlay()
    assert max({**values.nodes, **values.groups}.values()) == found.worst(1)[0].row()["own"]
    (place,) = {*values.nodes, *values.inside.values()} & set(found.wrong[0].nodes)
    assert place in found.wrong[0].nodes
    assert found.overlay("whole", onto=stack(dialect).graph).nodes
    with pytest.raises(wb.WorkbenchError, match="did you mean own"):
        found.overlay("ovn")


@pytest.mark.one_dialect
def test_infinite_error_has_a_colour(dialect: str) -> None:
    found = wb.kernel_errors(stack(dialect, 2, planted=0, value=float("inf")), reference=stack(dialect, 2))
    assert found.wrong[0].own is not None
    assert found.wrong[0].own.max_relative == float("inf")
    values = found.overlay()
    assert max({**values.nodes, **values.groups}.values()) == 1


@pytest.mark.one_dialect
def test_reference_with_other_inputs_is_refused(dialect: str) -> None:
    with pytest.raises(wb.WorkbenchError, match="give a reference with the same inputs"):
        wb.kernel_errors(stack(dialect), reference=stack(dialect, width=8))


@pytest.mark.one_dialect
def test_bad_input_is_refused_in_one_sentence(dialect: str) -> None:
    with pytest.raises(wb.WorkbenchError, match="takes a Workload"):
        wb.kernel_errors(stack(dialect), reference="model.onnx")  # pyright: ignore[reportArgumentType]
    with pytest.raises(wb.WorkbenchError, match="FuseOpps"):
        wb.kernel_errors(stack(dialect), {"disabled": ("FuseOpps",)})
    with pytest.raises(wb.WorkbenchError, match="cancelled"):
        wb.kernel_errors(stack(dialect), cancelled=lambda: True)
