"""`wb.compare_compilers` on one compiler: equal sides, two configurations, two targets; and arguments that are wrong."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

import workbench as wb
from workbench.debugging.compilers.models import Environment
from workbench.debugging.compilers.result import CompilerPair
from workbench.dialects.registry import known_dialect
from workbench.errors import LoadError, MeasureError, UnknownName, WorkbenchError
from workbench.target_text import TargetError

sys.path.insert(0, str(Path(__file__).parent))
from onnx_models import FLOAT, Onnx
from test_compare_compilers import signalled

pytestmark = pytest.mark.one_dialect

APART = wb.Config(opt_level=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dense layer with what follows it."""
    m = Onnx()
    m.scope = "/first"
    x = m.op("Tanh", m.op("Relu", m.op("Gemm", "x", m.normal("weight", 32, 32))))
    made = tmp_path_factory.mktemp("onnx") / "layer.onnx"
    onnx.save(m.model({"x": (FLOAT, [4, 32])}, m.op("Softmax", x)), made)
    return made


def pair_of(path: Path, *compilers: wb.Compiler, **how: Any) -> CompilerPair:
    (pair,) = wb.compare_compilers(path, compilers=compilers, **{"budget": 0, **how}).pairs
    return pair


def test_equal_sides_differ_in_nothing_but_the_title(dialect: str, path: Path):
    pair = pair_of(path, wb.Compiler(dialect), wb.Compiler(dialect), budget=0.3)
    left, right = pair.sides
    assert (left.title[-2:], right.title[-2:]) == (" A", " B")
    assert left.kernels is not None
    assert right.kernels is not None
    assert left.kernels.rows == right.kernels.rows
    assert left.pipeline == right.pipeline
    assert [check.same for check in pair.checks] == [True] * 3
    assert {row.relation for row in pair.rows} == {"one to one"}
    assert {row.why for row in pair.rows} == {""}
    assert pair.exact == 1
    assert pair.race is not None
    assert pair.race.noise


def test_two_configurations(dialect: str, path: Path):
    pair = pair_of(path, wb.Compiler(dialect), wb.Compiler(dialect, config=APART))
    name = wb.Compiler(dialect).name
    assert [side.title for side in pair.sides] == [f"{name} opt 3", f"{name} opt 0"]
    workload = wb.load(path)
    for side, config in zip(pair.sides, (wb.Config(), APART), strict=True):
        assert side.kernels is not None
        assert side.kernels.rows == wb.kernels(workload, side.target, config=config).rows
        assert side.row()["config"] == config.whole
    assert [side.fuses for side in pair.sides] == [True, False]
    assert "at opt level 0, no fused kernels" in pair.right.pipeline
    split = next(row for row in pair.rows if row.relation == "split")
    assert f"{name} opt 0: " in split.why
    assert "at opt_level 0 FuseOps merges nothing" in split.why


def test_a_pipeline_of_ours(dialect: str, path: Path):
    """The counts are those of the program that was built, and the reasons those of the pipeline's FuseOps."""
    passes = known_dialect(dialect).passes.fusing()
    config = wb.Config("ours", pipeline=passes)
    pair = pair_of(path, wb.Compiler(dialect, config=config), wb.Compiler(dialect, config=wb.Config("none", 0)))
    built = wb.measure(wb.load(path), [config], budget=0.05).iloc[0]
    left, right = pair.sides
    assert left.title.endswith(" ours")
    assert (left.status, right.status) == ("ok", "ok"), str(pair)
    assert left.kernels is not None
    assert left.memory is not None
    assert (left.kernels.calls, left.memory.peak_bytes) == (built["kernels"], built["peak_bytes"])
    assert [check.same for check in pair.checks] == [True] * 3
    assert left.fuses
    assert left.fusion is not None
    assert f"the pipeline {passes} at opt level 3, its result compiled as it is, fused kernels" in left.pipeline
    assert any(name.startswith("FuseOps") for name in left.passes)
    assert any(row.relation == "split" and "joins" in row.why for row in pair.rows)


@pytest.mark.long
def test_tuned_schedules(dialect: str, path: Path, tmp_path: Path):
    workload = wb.load(path)
    tuned = wb.tune_schedules(workload, kernels=[0], trials=1, budget=0.05, folder=tmp_path, cost_model="random")
    pair = pair_of(path, wb.Compiler(dialect), wb.Compiler(dialect, config=tuned.config))
    assert pair.right.title.endswith(" opt 3 + tuned schedules")
    assert "with a database of schedules" in pair.right.pipeline
    assert "with a database of schedules" not in pair.left.pipeline
    assert pair.right.kernels is not None
    assert pair.right.kernels.rows == wb.kernels(workload, pair.right.target, config=tuned.config).rows
    assert [check.same for check in pair.checks] == [True] * 3, str(pair)
    with pytest.raises(wb.WorkbenchError, match="no kernels to compare"):
        wb.CompilerView(pair_of(path, wb.Compiler(dialect), wb.Compiler(dialect, "/nowhere/python")))
    view = wb.CompilerView(pair)
    assert view.titles == [side.title for side in pair.sides]


@pytest.mark.parametrize("place", [0, 1])
def test_one_of_two_equal_sides_crashes(dialect: str, path: Path, place: int):
    """Two sides with one Python have two processes."""
    role = ("builds", "other builds")[place]
    with signalled(Environment.of(dialect, role=role).worker(), signal.SIGKILL):
        pair = pair_of(path, wb.Compiler(dialect), wb.Compiler(dialect))
    ended, whole = pair.sides[place], pair.sides[1 - place]
    assert (ended.status, whole.status) == ("crashed", "ok"), str(pair)
    assert ended.graph is not None
    assert whole.kernels is not None


def test_two_targets(dialect: str, path: Path):
    """Without a GPU the code for one is built and compared, and not raced."""
    pair = pair_of(path, wb.Compiler(dialect), wb.Compiler(dialect, target="cuda -arch=sm_80"))
    name = wb.Compiler(dialect).name
    assert [side.title for side in pair.sides] == [f"{name} llvm", f"{name} cuda"]
    assert pair.left.target.startswith("llvm")
    assert pair.right.target == "cuda -arch=sm_80"
    assert pair.target == f"{pair.left.target} and cuda -arch=sm_80"
    assert pair.right.status in ("ok", "not measured")
    assert pair.right.kernels is not None
    assert pair.right.memory is not None
    assert pair.rows
    assert sum(row.bytes_right for row in pair.rows) == pair.right.kernels.traffic_bytes
    if pair.right.status != "ok":
        assert pair.unraced == f"{name} cuda has no build that runs"


def test_a_configuration_that_one_side_does_not_know(dialect: str, path: Path):
    for config, said in (
        (wb.Config(disabled=("FuzeOps",)), "did you mean FuseOps"),
        (wb.Config(pipeline="FuzeOps"), "FuzeOps"),
        (wb.Config(options={"no.such.option": 1}), "no.such.option"),
        (wb.Config(schedules="/nowhere"), "there are no schedules in '/nowhere'"),
    ):
        pair = pair_of(path, wb.Compiler(dialect, config=config), wb.Compiler(dialect))
        assert pair.left.status == "failed"
        assert said in pair.left.message
        assert pair.right.status == "ok"
        assert pair.right.kernels is not None
        assert pair.left.title in pair.unraced


def test_a_python_that_is_not_there(dialect: str, path: Path):
    pair = pair_of(path, wb.Compiler(dialect, "/nowhere/python"), wb.Compiler(dialect))
    assert "/nowhere/python cannot be started" in pair.left.message
    assert pair.right.status == "ok"
    with pytest.raises(LoadError, match="/nowhere/python cannot be started"):
        pair_of(path, *[wb.Compiler(dialect, "/nowhere/python")] * 2)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda it: [it], WorkbenchError, "compares two compilers, not 1"),
        (lambda it: [it, it, it], WorkbenchError, "compares two compilers, not 3"),
        (lambda it: it, WorkbenchError, "compares two compilers, not 1"),
        (lambda it: [it, "tvm"], WorkbenchError, "'tvm' is not a Compiler"),
        (lambda it: [it, wb.Compiler("tflite")], UnknownName, "no compiler named 'tflite'"),
        (lambda it: [it, wb.Compiler(it.dialect, config=1.5)], MeasureError, "a float is not a configuration"),
        (lambda it: [it, wb.Compiler(it.dialect, target="")], TargetError, "target"),
    ],
)
def test_wrong_compilers(dialect: str, path: Path, make: Any, error: type[WorkbenchError], said: str):
    with pytest.raises(error, match=said):
        wb.compare_compilers(path, compilers=make(wb.Compiler(dialect)), budget=0)
