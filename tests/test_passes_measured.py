"""wb.waterfall and wb.ablate, in both dialects: counts held against wb.count, times where they are due."""

from __future__ import annotations

from importlib import import_module

import pytest

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.errors import MeasureError, UnknownName
from workbench.experiments import switches
from workbench.measurement.race import judged

MERGE = "EliminateCommonSubexpr"


@pytest.fixture
def passes(dialect, facts):
    return f"{MERGE},FoldConstant,{door(dialect).passes.fusing()}{facts.after_fusion}"


def test_a_waterfall_counts_what_each_pass_leaves(cast, passes):
    found = wb.waterfall(cast, passes, timed=False)
    assert list(found["pass"]) == ["input", *(str(step) for step in wb.Pipeline.parse(passes))]
    assert set(found["status"]) == {"counted"}
    assert found["kernels"].iloc[-1] < found["kernels"][0]
    assert found["kernels"][1] < found["kernels"][0]


def test_a_waterfall_of_the_compilers_own_passes_ends_with_its_own_build(cast):
    found = wb.waterfall(cast, timed=False)
    whole = wb.count(cast)
    assert (found["kernels"].iloc[-1], found["traffic_bytes"].iloc[-1]) == (whole.calls, whole.traffic_bytes)
    assert "FoldConstant" in set(found["pass"])


@pytest.mark.one_dialect
def test_stages_that_counts_tell_apart_are_timed_and_the_rest_is_not(cast, dialect):
    found = wb.waterfall(cast, f"{MERGE},{MERGE}", budget=0.02, store=False)
    assert list(found["status"]) == ["ok", "ok", "counted"]
    assert found["median_us"].notna().tolist() == [True, True, False]
    assert found["kernels"][1] == found["kernels"][2] < found["kernels"][0]


@pytest.mark.one_dialect
def test_a_stage_that_fails_is_a_row_with_its_reason(cast, dialect):
    dtype = next(info.options[0].name for info in wb.passes(dialect) if info.name == "ToMixedPrecision")
    found = wb.waterfall(cast, f"{MERGE},ToMixedPrecision{{{dtype}='nonsense'}}", timed=False)
    assert found["status"].iloc[-1] == "failed"
    assert "nonsense" in found["message"].iloc[-1]
    assert found["status"][1] == "counted"


@pytest.mark.one_dialect
def test_equal_programs_that_cannot_be_counted_are_tried_once(cast, monkeypatch):
    asked = []

    def refuse(_program, config, *_, **__):
        asked.append(config.label)
        raise MeasureError("it took longer than 60 s")

    monkeypatch.setattr(switches, "count_config", refuse)
    found = wb.waterfall(cast, f"{MERGE},{MERGE}", timed=False)
    assert list(found["message"]) == ["it took longer than 60 s"] * 3
    assert asked == ["input", f"... {MERGE}"]


def test_an_ablation_counts_without_each_and_with_only_one(cast, passes):
    how = {"pipeline": passes, "passes": [MERGE], "timed": False}
    found = wb.ablate(cast, directions=("without", "only"), **how).set_index("direction")
    assert found["pass"].to_dict() == {"control": "nothing", "without": MERGE, "only": MERGE}
    assert found["kernels"]["without"] > found["kernels"]["control"]
    only = wb.waterfall(cast, MERGE, timed=False)
    assert found["kernels"]["only"] == only["kernels"].iloc[-1]


def test_by_default_the_passes_that_change_something_are_left_out(cast):
    found = wb.ablate(cast, timed=False)
    changed = {step.name for step in wb.trace_build(cast, whole=False).steps if step.changed}
    assert set(found["pass"]) - {"nothing"} == changed & set(found["pass"]) != set()


@pytest.mark.one_dialect
def test_a_race_against_itself_comes_first_and_each_has_an_interval_and_a_verdict(cast, passes):
    found = wb.ablate(cast, pipeline=passes, passes=[MERGE], budget=0.1)
    assert list(found["direction"]) == ["control", "without"]
    assert set(found["status"]) == {"ok"}
    assert (found["low"] <= found["ratio"]).all()
    assert (found["ratio"] <= found["high"]).all()
    assert set(found["verdict"]) <= {"slower", "not slower", "can't tell"}


@pytest.mark.one_dialect
def test_a_wrong_answer_has_no_time(cast, passes, monkeypatch):
    def answered(workload, a, b, target, **how):
        checks = [{"same": "without" not in a.label}, {"same": True}]
        told = {"samples_a": [1.0] * 20, "samples_b": [2.0] * 20, "target": target, "method": "", "checks": checks}
        return judged(a.label, b.label, told)

    monkeypatch.setattr(import_module("workbench.experiments.ablation"), "race", answered)
    found = wb.ablate(cast, pipeline=passes, passes=[MERGE]).set_index("direction")
    assert found["status"].to_dict() == {"control": "ok", "without": "wrong"}
    assert "differ from the reference" in found["message"]["without"]
    assert found["ratio"].isna().to_dict() == {"control": False, "without": True}


@pytest.mark.one_dialect
def test_a_config_keeps_what_else_it_says(cast):
    found = wb.waterfall(cast, wb.Config(opt_level=3, disabled=(MERGE,)), timed=False)
    assert MERGE not in set(found["pass"])
    assert found["kernels"].iloc[-1] == wb.count(cast, disabled=[MERGE]).calls


@pytest.mark.one_dialect
def test_an_unknown_pass_or_direction_is_answered_in_words(cast, passes):
    with pytest.raises(UnknownName, match="EliminateCommonSubexpr"):
        wb.ablate(cast, pipeline=passes, passes=["EliminateCommonSubexp"])
    with pytest.raises(UnknownName, match="without"):
        wb.ablate(cast, directions=["with"])


@pytest.mark.one_dialect
def test_a_cancelled_waterfall_has_the_rows_it_came_to(cast, passes):
    shares: set[float | None] = set()
    found = wb.waterfall(
        cast, passes, timed=False, progress=lambda _, share: shares.add(share), cancelled=lambda: len(shares) > 2
    )
    assert list(found["pass"]) == ["input", MERGE]


@pytest.mark.one_dialect
def test_a_python_pass_has_no_text_to_build_from(cast):
    found = wb.waterfall(cast, wb.Pipeline([lambda module: module]), timed=False)
    assert "Python function" in found["message"].iloc[-1]
