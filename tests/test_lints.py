"""Each lint with a program that has it and one that has not, in both dialects; its fix, run as it is written, removes it."""

from __future__ import annotations

import re

import pytest
from breadth import breadth
from small_samples import SMALL

import workbench as wb
from workbench.debugging.lints.rules import UNFOLDED, WITHOUT_KIND
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as door


def mlp() -> Workload:
    return wb.samples.load("mlp", layers=2)


def batch_norm() -> Workload:
    return wb.samples.load("conv_bias_batch_norm", **SMALL["conv_bias_batch_norm"])


def bert() -> Workload:
    """It has layer_norm, for which Relay has no pattern kind."""
    return wb.samples.load("bert", **SMALL["bert"])


def unbound(dialect: str) -> str:
    """A pipeline in which weights are parameters."""
    return door(dialect).passes.fusing()


def names(found: object) -> set[str]:
    return {each.name for each in found}  # type: ignore[attr-defined]


def test_weights_that_run_each_time(dialect: str) -> None:
    w = batch_norm()
    found = [each for each in wb.lint(w, config=unbound(dialect)) if each.name == UNFOLDED]
    assert found
    assert all(each.bytes for each in found)
    assert UNFOLDED not in names(wb.lint(w, config=found[0].pipeline))


@pytest.mark.one_dialect
def test_parameters_without_values_are_no_weights(dialect: str) -> None:
    w = batch_norm()
    assert UNFOLDED in names(wb.lint(w, config=unbound(dialect)))
    w.params = {}
    assert UNFOLDED not in names(wb.lint(w, config=unbound(dialect)))


def test_an_operator_without_a_kind(dialect: str) -> None:
    w = bert()
    assert WITHOUT_KIND in names(wb.lint(w, config="FuseOps"))
    assert WITHOUT_KIND not in names(wb.lint(w, config=unbound(dialect)))
    assert WITHOUT_KIND not in names(wb.lint(w, config="-FuseOps"))


@pytest.mark.one_dialect
@pytest.mark.parametrize("sample", breadth(["conv_bias_batch_norm", "bert"], "conv_bias_batch_norm"))
def test_the_fix_runs_as_written_and_removes_the_lint(sample: str, dialect: str) -> None:
    w = wb.samples.load(sample, **SMALL[sample])
    # a fallback's fix is a search
    before = [each for each in wb.lint(w, config="FuseOps") if not each.call]
    before = before or [each for each in wb.lint(w, config=unbound(dialect)) if not each.call]
    assert before
    for each in {each.fix: each for each in before}.values():
        made = eval(each.fix, {"wb": wb, "w": w})
        assert made.failed is None or each.name != WITHOUT_KIND
        left = wb.lint(w, config=each.pipeline)
        assert sum(one.name == each.name for one in left) < sum(one.name == each.name for one in before)


def test_the_compilers_own_passes(dialect: str) -> None:
    found = wb.lint(mlp())
    assert WITHOUT_KIND not in names(found)
    assert re.fullmatch(r"\d+ lints?", str(found).splitlines()[0])


@pytest.mark.one_dialect
def test_a_measured_fix(dialect: str) -> None:
    w = wb.samples.load("conv_bias_batch_norm", image=8, blocks=1)
    found = wb.lint(w, config=unbound(dialect))
    measured = found.measure(found[:1], budget=0.2)
    (first,) = {each.pipeline for each in found[:1]}
    assert all((each.race is not None) == (each.pipeline == first) for each in measured)
    race = measured[0].race
    assert race is not None
    assert race.answer in ("yes", "no", "can't tell")
    assert race.b == first
    assert measured.table["faster"].iloc[0] == race.answer
    assert list(found.table["faster"]) == [""] * len(found)
    assert measured.table["bytes"].dtype == "Int64"
    assert "lint" in measured._repr_html_()
