"""`wb.compare_compilers` on Relax alone: without FuseOps, and an older version of TVM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.debugging.compilers import run as running
from workbench.environments.doctor import answer, start_probe

sys.path.insert(0, str(Path(__file__).parents[1]))
from onnx_models import bert, convolutions, dense

ROOT = Path(__file__).parents[2]
OLDER = ROOT / ".venv-relax-0.26/bin/python"


def test_without_fuse_ops():
    apart = wb.Compiler("relax", config=wb.Config(disabled=("FuseOps",)))
    (pair,) = wb.compare_compilers(dense(), compilers=(wb.Compiler("relax"), apart), budget=0).pairs
    assert pair.title == "Relax opt 3 and Relax opt 3 -FuseOps"
    workload = wb.load(dense())
    for side in pair.sides:
        assert side.kernels is not None
        assert side.kernels.rows == wb.kernels(workload, side.target, config=side.config).rows
    assert [side.fuses for side in pair.sides] == [True, False]
    assert "at opt level 3, without FuseOps, no fused kernels" in pair.right.pipeline
    split = next(row for row in pair.rows if row.relation == "split")
    assert "Relax opt 3 -FuseOps ran no FuseOps." in split.why


@pytest.mark.long
def test_two_gpus_have_other_rules_for_a_kernel():
    sides = [wb.Compiler("relax", target=target) for target in ("cuda -arch=sm_80", "opencl -device=adreno")]
    (pair,) = wb.compare_compilers(dense(), compilers=sides, budget=0, per_kernel=False).pairs
    rules = [wb.schedules(wb.load(dense()), side.target)["fused_matmul_relu"].rule for side in pair.sides]
    assert len({*rules, ""}) == 3, rules
    (row,) = [row for row in pair.rows if row.left == ("fused_matmul_relu",)]
    said = [f"{side.title} schedules it by dlight's rule {rule}." for side, rule in zip(pair.sides, rules, strict=True)]
    assert row.why == " ".join(said)


PLAIN = wb.Compiler("relax")


@pytest.mark.long
def test_changes_of_the_build_are_raced(monkeypatch: pytest.MonkeyPatch):
    """One that fails has a sentence, and the others are raced."""
    monkeypatch.setattr(running, "NHWC", "NoSuchPass")
    monkeypatch.setattr(running, "TRIALS", 1)
    how = {"compilers": (PLAIN, PLAIN), "budget": 0.1, "per_kernel": False, "suggest": True}
    (pair,) = wb.compare_compilers(convolutions(), **how).pairs
    (said,) = pair.untried
    assert said.startswith("Relax B with convolutions in NHWC was not raced: Relax B: ")
    assert "NoSuchPass" in said
    names = ["with BindParams", "without FuseOps", "with schedules for 1 kernel"]
    assert [(race.a, race.b) for race in pair.tried] == [("Relax B", f"Relax B {name}") for name in names]
    for race in pair.tried:
        assert race.wrong == ()
        assert race.b in str(pair)
    assert said in str(pair)


@pytest.mark.long
def test_changes_that_fit():
    (pair,) = wb.compare_compilers(convolutions(), compilers=(PLAIN, PLAIN), budget=0).pairs
    passes = "LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps"
    bound, layout, apart = running.changes(pair.right)
    assert bound.pipeline == f"BindParams,{passes}"
    assert layout.pipeline == f"BindParams,{running.NHWC},{passes}"
    assert apart.disabled == ("FuseOps",)
    for config in (bound, layout):
        other = wb.Compiler("relax", config=config)
        (pair,) = wb.compare_compilers(convolutions(), compilers=(PLAIN, other), budget=0).pairs
        assert [side.status for side in pair.sides] == ["ok", "ok"], str(pair)
        assert pair.right.title == f"Relax {config.name}"
        assert pair.right.fuses
        assert "weights are constants" in pair.right.pipeline
        assert [check.same for check in pair.checks] == [True] * 3
    found = running.tried(pair.right, pair.rows, None, Path(), 1)  # pyright: ignore[reportArgumentType]
    assert found == [
        f"no change was tried: the changes are of Relax's own pipeline, and {pair.right.title} has another"
    ]


@pytest.mark.long
@pytest.mark.parametrize("make", [dense, bert])
def test_an_older_version(make: Any):
    if isinstance(found := answer(start_probe(OLDER)), str):
        pytest.skip(f"needs {OLDER.parts[-3]}, make relax-old: {found}")
    compilers = wb.Compiler("relax", OLDER), wb.Compiler("relax")
    (pair,) = wb.compare_compilers(make(), compilers=compilers, budget=0.5).pairs
    if "onnx is required" in pair.left.message:
        pytest.skip("this environment has no onnx; make relax-old installs it")
    assert pair.left.title == "Relax 0.26"
    assert pair.right.title.startswith("Relax 0.")
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(pair)
    assert [check.same for check in pair.checks] == [True] * 3
    assert pair.left.target == pair.right.target
    assert pair.race is not None
    assert pair.rows
