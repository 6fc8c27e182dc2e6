"""`wb.boundary_costs` on real programs: TVM makes the kernels that a row describes, and a race measures the difference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from breadth import breadth
from small_samples import SMALL

import workbench as wb
from workbench.dialects import registry
from workbench.errors import MeasureError
from workbench.measurement.boundaries import trial
from workbench.measurement.boundaries.calibration import machine_costs


def ready(sample: str, dialect: str, **options: object) -> wb.Workload:
    """Return a sample with a kind for each operator."""
    passes = registry.dialect(dialect).passes.fusing().rpartition(",FuseOps")[0]
    trace = wb.trace(wb.samples.load(sample, **options), passes)
    assert trace.failed is None
    return wb.load(trace.result, name=sample)


def kernels_after(w: wb.Workload) -> int:
    return wb.trace(w, "FuseOps{fuse_opt_level=2}").end.graph.kernel_count


@pytest.mark.parametrize("sample", breadth(sorted(SMALL), "branches", "conv_bias_batch_norm", "mlp", "parallel_cast"))
def test_tvm_joins_two_kernels_where_a_row_allows_it(dialect, sample):
    w = ready(sample, dialect, **SMALL[sample])
    kernels = kernels_after(w)
    legal = [row.boundary for row in wb.boundary_costs(w) if not row.boundary.refusal]
    for boundary in legal[:4]:
        assert kernels_after(wb.force(w, boundary.nodes)) == kernels - 1, boundary


def test_the_parts_alone_are_two_kernels_or_one(dialect):
    w = ready("mlp", dialect)
    for row in wb.boundary_costs(w, cuts=True):
        if not row.boundary.refusal:
            pair = trial.pair_of(w, row.boundary)
            ends = [wb.trace(pair.workload, pipeline).end.graph.kernel_count for pipeline in (pair.two, pair.one)]
            assert ends == [2, 1]


@pytest.mark.long
@pytest.mark.one_dialect
def test_parts_with_fields_of_a_tuple_and_constants_are_raced(dialect):
    w = ready("attention", dialect, seq=8, heads=2, head=4)
    legal = [
        row.boundary for row in wb.boundary_costs(w, cuts=True) if not row.boundary.refusal and row.boundary.launches
    ]
    fields = [b for b in legal if any(w.graph.nodes[n].kind == "get_item" for n in b.nodes)]
    constants = [
        b for b in legal if any(w.graph.nodes[s].kind == "constant" for n in b.nodes for s in w.graph.inputs[n])
    ]
    for boundary in (*fields[:1], *constants[:1]):
        found = trial.measure(w, boundary, trial.Limits(budget=0.1))
        # the note has the reason if the outputs could not be checked
        assert (found.race.wrong, found.race.note) == ((), "")


def test_a_race_measures_a_boundary(dialect):
    costs = wb.boundary_costs(ready("mlp", dialect, layers=1), cuts=True)
    row = next(row for row in costs if row.boundary.joined and not row.boundary.refusal)
    (found,) = [each.trial for each in costs.measure([row], budget=0.2) if each.trial]
    assert found.low <= found.saved <= found.high
    assert found.answer in ("yes", "no", "can't tell")
    assert not found.race.wrong
    assert found.race.note == ""


@pytest.mark.one_dialect
def test_the_effect_on_peak_memory_is_that_of_two_plans(dialect):
    w = ready("mlp", dialect, layers=1)
    costs = wb.boundary_costs(w, cuts=True)
    row = next(row for row in costs if row.boundary.joined and not row.boundary.refusal)
    (found,) = [each for each in costs.peaks([row]) if each.peak_bytes is not None]
    fused, apart = (
        wb.memory(w, config=f"{edit}FuseOps{{fuse_opt_level=2}}").peak_bytes
        for edit in ("", f"{wb.cut(w, row.boundary.edges).edits},")
    )
    assert found.peak_bytes == fused - apart
    assert costs.peaks([row]).table["peak_bytes"].count() == 1


@pytest.mark.one_dialect
def test_an_edit_that_changes_nothing_is_no_difference(dialect):
    w = ready("mlp", dialect, layers=1)
    row = next(row for row in wb.boundary_costs(w, cuts=True) if row.boundary.joined and not row.boundary.refusal)
    pair = trial.pair_of(w, row.boundary)
    # one race in twenty may claim a difference: its interval is that of 95 %
    answers = (trial.raced(replace(pair, one=pair.two), trial.Limits(budget=1.0)).answer for _ in range(4))
    assert "can't tell" in answers


@pytest.mark.one_dialect
def test_an_illegal_boundary_is_not_raced(dialect):
    w = ready("attention", dialect)
    row = next(row for row in wb.boundary_costs(w) if row.boundary.refusal)
    with pytest.raises(MeasureError, match="nothing to compare"):
        trial.pair_of(w, row.boundary)


@pytest.mark.one_dialect
def test_costs_of_this_machine(dialect, tell, tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_WORKBENCH_STORE", str(tmp_path / "m.sqlite"))
    found = machine_costs(dialect, "llvm")
    for call in (found.call, found.call_of_rows):
        assert 0 <= call.low <= call.middle <= call.high < 1e-3
        assert call.high > 0
    took = f"{found.call.middle * 1e6:.2f} us on one row, {found.call_of_rows.middle * 1e6:.2f} us on several"
    tell(f"{dialect}: a call takes {took} ({found.method})")


def test_extract_region_keeps_only_the_chosen_operators(dialect):
    w = ready("mlp", dialect, layers=2)
    chosen = wb.explain_fusion(w).kernels[-1].nodes
    ops = [w.graph.nodes[n].op for n in chosen if w.graph.nodes[n].kind == "op"]
    step = {"nodes": [n for n in chosen if w.graph.nodes[n].kind == "op"], "ops": ops}
    trace = wb.trace(w, f"ExtractRegion{{nodes={step['nodes']},ops={ops}}}")
    assert trace.failed is None
    assert sorted(node.op for node in trace.end.graph.ops) == sorted(ops)
    assert wb.measure(wb.load(trace.result), [0], budget=0.05)["status"][0] == "ok"


@pytest.mark.one_dialect
def test_extract_region_of_a_wrong_program_is_refused(dialect):
    w = ready("mlp", dialect, layers=1)
    last = w.graph.ops[-1].id
    trace = wb.trace(w, f"ExtractRegion{{nodes=[{last}],ops=['exp']}}")
    assert trace.failed is not None
    assert "was written for the nodes exp" in trace.failed.error


@pytest.mark.one_dialect
def test_the_inspector_tries_the_selected_boundary(dialect):
    view = wb.FusionInspector(ready("mlp", dialect, layers=1), tab="costs")
    assert view.wait()
    costs = view.costs
    assert costs is not None
    chosen = next(row.boundary for row in costs if row.boundary.joined and not row.boundary.refusal)
    view.selection = [chosen.source, chosen.targets[0]]
    view.try_boundary(budget=0.2)
    assert view.wait()
    assert view.status.get("error") is None
    names = {block.get("name") for block in view.panels["tab"]}
    assert {"boundary", "measured-boundary", "peak"} <= names
    assert view.costs is not None
    assert [row.boundary for row in view.costs if row.trial] == [chosen]
