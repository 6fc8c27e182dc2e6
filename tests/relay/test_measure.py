"""Times: a row a configuration, with its raw samples; what fails is a row too."""

from __future__ import annotations

import pytest
from tvm import relay

import workbench as wb


@pytest.fixture(scope="module")
def rows():
    configs = [
        0,
        3,
        {"disabled": ["EliminateCommonSubexpr"]},
        "EliminateCommonSubexpr,FuseOps",
        {"disabled": ["FuseOps"]},
        "Nothing",
    ]
    return wb.measure(wb.samples.load("parallel_cast"), configs, budget=0.05)


def test_a_row_a_configuration_in_the_order_given(rows):
    assert list(rows["config"][:3]) == ["opt 0", "opt 3", "opt 3 -EliminateCommonSubexpr"]
    assert list(rows["status"]) == ["ok", "ok", "ok", "ok", "failed", "failed"]


def test_kernels_stand_beside_times(rows):
    assert list(rows["kernels"][:4]) == [8, 3, 5, 3]


def test_the_median_lies_between_the_quartiles_of_the_raw_samples(rows):
    for row in rows[rows["status"] == "ok"].to_dict("records"):
        assert 0 < row["q1_us"] <= row["median_us"] <= row["q3_us"]
        assert min(row["samples"]) * 1e6 <= row["median_us"] <= max(row["samples"]) * 1e6
        assert len(row["samples"]) >= 10


def test_what_a_time_depends_on_stands_beside_it(rows):
    ok = rows[rows["status"] == "ok"]
    for column in ("target", "tvm", "cpu", "cores", "threads", "method", "build_seconds", "number"):
        assert ok[column].notna().all(), column
    assert ok["target"].str.startswith("llvm").all()


def test_a_failed_row_has_the_reason_and_no_numbers(rows):
    failed = rows[rows["status"] == "failed"]
    assert "FuseOps cannot be switched off" in failed["message"].iloc[0]
    assert "Nothing" in failed["message"].iloc[1]
    assert failed["median_us"].isna().all()


def test_an_input_of_unknown_shape_is_a_failed_row():
    x = relay.var("x", shape=(relay.Any(),))
    row = wb.measure(wb.load(relay.Function([x], relay.exp(x))), [3], budget=0.05).iloc[0]
    assert row["status"] == "failed"


def test_integer_and_bool_inputs_are_filled():
    a, b = relay.var("a", shape=(4,), dtype="bool"), relay.var("b", shape=(4,), dtype="int8")
    row = wb.measure(wb.load(relay.Function([a, b], relay.where(a, b, b))), [0], budget=0.05).iloc[0]
    assert row["status"] == "ok", row["message"]


def test_what_tvm_miscompiles_is_wrong_at_every_level_and_loses():
    """SimplifyExpr drops the rounding of a cast to int8, at opt level 0 too."""
    x = relay.var("x", shape=(8, 16), dtype="float32")
    rounding = relay.cast(relay.cast(relay.clip(x, -128, 127), "int8"), "float32")
    workload = wb.load(relay.Function([x], rounding))
    honest = {"name": "as it stands", "opt_level": 0, "disabled": ["SimplifyExpr", "SimplifyExprPostAlterOp"]}
    rows = wb.measure(workload, [0, 3, "SimplifyExpr", honest], budget=0.02)
    assert list(rows["status"]) == ["wrong", "wrong", "wrong", "ok"]
    assert rows["median_us"].notna().all()
    assert (rows["max_abs_error"][:3] > 0.5).all()
    race = wb.race(workload, honest, 3, budget=0.1)
    assert race.answer == "no"
    assert "cannot win" in str(race)
