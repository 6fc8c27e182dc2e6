"""`wb.reduce` on TVM 0.17: its known wrong passes and crashes become programs of few operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from breadth import rotating
from planted import CRASHES, MISCOMPILES, OP_BATCH, alone, planted
from scripts_alone import run_alone
from tvm import relay

import workbench as wb
from workbench.experiments import symptoms
from workbench.experiments.reduce.run import Reduced

ROUNDING = "a float clipped and cast to int8"
SIBLINGS = "a branch that needs the result of another"
BIAS = "a bias_add after each dense"
SCALARS = "a scalar per branch"
ALONE = (ROUNDING, pytest.param(BIAS, marks=pytest.mark.long))
"a crash takes longer, since each of its probes starts a process"
NEEDED = {ROUNDING: (), BIAS: ("CombineParallelDense",)}
"passes that opt level 0 does not run; it runs SimplifyExpr"


def reduced(name: str, w: wb.Workload) -> Reduced:
    if name in CRASHES:
        return wb.reduce(w, "crash", CRASHES[name].config())
    return wb.reduce(w, "wrong", MISCOMPILES[name].config())


def check_script(name: str, small: Reduced, folder: Path) -> None:
    """Check that the script shows the symptom with TVM alone."""
    done = run_alone(small.script, folder)
    if name == SIBLINGS:
        assert done.returncode < 0, done.stderr
    else:
        assert done.returncode == 1, done.stderr
        assert ("AssertionError" if name in MISCOMPILES else "Error") in done.stderr
    assert len(small.script.splitlines()) < 60


@pytest.mark.parametrize("name", ALONE)
def test_fault_alone_is_reduced(name: str, tmp_path: Path) -> None:
    small = reduced(name, alone(name))
    assert small.complete
    assert small.after.operators <= 6
    assert small.after.elements <= 20
    assert len({step.finding.key for step in small.steps}) <= 1
    assert small.config == wb.Config(opt_level=0, required=NEEDED[name])
    check_script(name, small, tmp_path)


@pytest.mark.long
# another wrong product of CombineParallelDense is among them; the others are reduced alone
@pytest.mark.parametrize("name", rotating(sorted({*MISCOMPILES, *CRASHES} - {ROUNDING, BIAS, SCALARS}), 1))
def test_fault_in_300_operators_is_reduced(name: str, tmp_path: Path, tell: Callable[[object], None]) -> None:
    w = planted(name)
    assert len(w.graph.ops) >= 300
    small = reduced(name, w)
    tell(f"reduce: {small}")
    assert small.complete
    assert small.after.operators <= (6 if name in MISCOMPILES else 10)
    assert {step.finding.key for step in small.steps} == {small.finding.key}
    # no configuration names CombineParallelOpBatch, so a script does not either
    if name in CRASHES or MISCOMPILES[name].guilty != OP_BATCH:
        check_script(name, small, tmp_path)


def constant_weights(units: int = 4) -> wb.Workload:
    """Return a program whose rounding is lost only because one of its values is a constant."""
    x = relay.var("x", shape=(2, units))
    scale = relay.const([[float(place + 1) for place in range(units)]] * 2, "float32")
    wrong = relay.cast(relay.cast(relay.clip(relay.multiply(x, scale), -128, 127), "int8"), "float32")
    return wb.load(tvm.IRModule.from_expr(relay.Function([x], wrong)))


def test_script_of_a_pipeline_runs_its_passes(tmp_path: Path) -> None:
    def has_constant(w: wb.Workload, config: wb.Config) -> bool:
        simplified = "SimplifyExpr" in config.pipeline
        return simplified and any(node.kind == "constant" and "digest" in node.attrs for node in w.graph.nodes)

    small = wb.reduce(constant_weights(), has_constant, {"pipeline": "SimplifyExpr,FuseOps", "opt_level": 3})
    assert small.config.pipeline == "SimplifyExpr"
    assert "np.full" in small.script
    assert "relay.transform.SimplifyExpr()" in small.script
    done = run_alone(small.script, tmp_path)
    assert done.returncode == 0, done.stderr


def test_two_errors_of_the_type_checker_are_two_crashes() -> None:
    names = list(CRASHES)[1:3]
    found = [symptoms.Crash().probe(alone(name), wb.Config(opt_level=4), symptoms.Limits()) for name in names]
    assert [each.answer for each in found] == ["yes", "yes"]
    assert found[0].key != found[1].key
    assert not any("DiagnosticError" in each.key for each in found)


@pytest.mark.long
def test_a_wrong_float64_program_becomes_float32(tmp_path: Path) -> None:
    x = relay.var("x", shape=(2, 4), dtype="float64")
    clipped = relay.clip(relay.multiply(x, relay.const(200.0, "float64")), -128, 127)
    small = wb.reduce(wb.load(relay.Function([x], relay.cast(relay.cast(clipped, "int8"), "float64"))), "wrong")
    assert [node.op for node in small.workload.graph.ops] == ["clip", "cast", "cast"]
    assert small.after.types == 0
    assert "ChangeDtype{dtype='float64',to='float32'}" in small.edits
    check_script(ROUNDING, small, tmp_path)
