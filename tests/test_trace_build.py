"""The compiler's own passes, captured: in both dialects."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from breadth import breadth
from small_samples import SMALL

import workbench as wb


@pytest.fixture(scope="module")
def built() -> wb.Trace:
    return wb.trace_build(wb.samples.load("mlp"))


@pytest.fixture
def trace(built: wb.Trace, dialect: str) -> wb.Trace:
    return built


def test_each_step_begins_where_the_one_before_it_ended(trace: wb.Trace) -> None:
    outer = [step for step in trace.steps if step.depth == 0]
    assert outer[0].state_before is trace.start
    for one, next_one in itertools.pairwise(outer):
        assert one.state_after is next_one.state_before


def test_a_step_is_changed_exactly_when_its_state_is_another(trace: wb.Trace) -> None:
    for step in trace.steps:
        assert step.changed == (step.state_after is not step.state_before)


def test_nested_passes_stand_within_their_parents(trace: wb.Trace) -> None:
    depths = [step.depth for step in trace.steps]
    assert depths[0] == 0
    assert all(b <= a + 1 for a, b in itertools.pairwise(depths))


def test_no_state_is_empty(trace: wb.Trace) -> None:
    assert all(step.state_after.graph.nodes for step in trace.steps)


def test_fusion_is_among_them_and_gives_the_kernels_that_are_built(trace: wb.Trace, dialect: str) -> None:
    fusion = next(step for step in trace.steps if step.name == "FuseOps")
    assert fusion.changed
    assert fusion.diff.counts["kept"] == len(fusion.before.nodes)
    assert fusion.after.kernel_count == wb.kernels(wb.samples.load("mlp", dialect=dialect)).calls


def test_what_is_left_out_of_the_build_is_no_step(dialect: str) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    names = [step.name for step in wb.trace_build(w, disabled=["FoldConstant"]).steps]
    assert "FoldConstant" not in names


@pytest.mark.one_dialect
def test_a_locked_pass_is_refused_before_anything_is_built(dialect: str) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    locked = next(info.name for info in wb.passes(dialect) if info.locked)
    with pytest.raises(wb.WorkbenchError, match="cannot be switched off"):
        wb.trace_build(w, disabled=[locked])


def test_it_saves_and_opens_as_the_same_graphs(trace: wb.Trace, tmp_path: Path) -> None:
    opened = wb.Trace.open(trace.save(tmp_path / "build.wbtrace"))
    assert [(step.name, step.status, step.depth) for step in opened.steps] == [
        (step.name, step.status, step.depth) for step in trace.steps
    ]
    assert all(a.after == b.after for a, b in zip(opened.steps, trace.steps, strict=True))
    assert opened.steps[0].text_before == trace.steps[0].text_before


@pytest.mark.parametrize("name", breadth(["chain", "conv_bias_batch_norm"], "chain"))
def test_kernels_at_every_step_of_a_build(dialect: str, name: str) -> None:
    given = wb.samples.load(name, dialect=dialect, **SMALL[name])
    steps = wb.trace_build(given).steps
    fused = next(place for place, step in enumerate(steps) if step.name == "FuseOps")
    counts = [step.after.kernel_count for step in steps]
    assert counts[-1] == wb.kernels(given).launches
    assert counts[fused:] == sorted(counts[fused:], reverse=True)
    assert min(counts[:fused]) > counts[fused]
