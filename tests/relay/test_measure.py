"""Times: a row a configuration, with its raw samples; what fails is a row too."""

from __future__ import annotations

from tvm import relay

import workbench as wb


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
