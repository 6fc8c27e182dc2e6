"""`wb.compare_compilers`: both compilers on ONNX models, each in its environment; failures of one side leave the other whole."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import onnx
import pandas as pd
import pytest

import workbench as wb
from workbench.cli import main
from workbench.debugging.compilers import runner
from workbench.debugging.compilers.models import Environment
from workbench.debugging.compilers.result import CompilerComparison, CompilerPair
from workbench.debugging.compilers.side import NAMES, CompilerSide
from workbench.dialects import arrays
from workbench.environments import SetupError
from workbench.environments import doctor as finding
from workbench.errors import LoadError, UnknownName
from workbench.worker.parent import Worker

sys.path.insert(0, str(Path(__file__).parent))
from onnx_models import FLOAT, Onnx, convolutions

pytestmark = pytest.mark.one_dialect


@pytest.fixture
def other(dialect: str) -> str:
    """The dialect of the other environment; the test is skipped if there is none."""
    (found,) = {*NAMES} - {dialect}
    try:
        Environment.of(found)
    except SetupError as error:
        pytest.skip(f"needs both environments, make setup: {error}")
    return found


def mlp() -> Any:
    """Two layers whose bias is added behind a reduction and a transpose; the input's name is one that Relax changes."""
    m = Onnx()
    m.scope = "/first"
    x = m.op("Relu", m.op("Gemm", "input.1", m.normal("weight", 64, 32), m.normal("bias", 64), transB=1))
    m.scope = "/second"
    x = m.op("Add", m.op("MatMul", x, m.normal("weight", 64, 16)), m.normal("bias", 16))
    return m.model({"input.1": (FLOAT, [4, 32])}, m.op("Softmax", m.op("Tanh", x), axis=-1))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("onnx") / "mlp.onnx"
    onnx.save(mlp(), made)
    return made


@pytest.fixture(scope="module")
def found(path: Path) -> CompilerComparison:
    return wb.compare_compilers(path, budget=0.4)


def side_of(pair: CompilerPair, dialect: str) -> CompilerSide:
    return next(side for side in pair.sides if side.dialect == dialect)


def pythons(dialect: str, python: str) -> list[wb.Compiler]:
    """Both compilers, one with the Python of its environment."""
    return [wb.Compiler(each, python if each == dialect else None) for each in NAMES]


def checked(pair: CompilerPair) -> None:
    """Hold what is true of every pair with both builds."""
    rows = pair.rows
    for side, names, sizes in (
        (pair.left, [row.left for row in rows], [row.bytes_left for row in rows]),
        (pair.right, [row.right for row in rows], [row.bytes_right for row in rows]),
    ):
        assert side.kernels is not None
        # each kernel that runs code is in one row
        assert sorted(name for each in names for name in each) == sorted(
            row["function"] for row in side.kernels.rows if not row["noop"]
        )
        assert sum(sizes) == side.kernels.traffic_bytes
    # ONNX's nodes are on both sides of a row that is not of one side
    assert [row.order for row in rows] == sorted(row.order for row in rows)


@pytest.mark.long
def test_counts_are_those_of_this_environment(dialect: str, other: str, found: CompilerComparison, path: Path):
    side, workload = side_of(found.pairs[0], dialect), wb.load(path)
    built, plan = wb.kernels(workload, side.target), wb.memory(workload, side.target)
    assert side.kernels is not None
    assert side.memory is not None
    assert side.kernels.rows == built.rows
    assert side.kernels.calls == wb.count(workload, side.target).calls
    assert side.memory.peak_bytes == plan.peak_bytes
    assert side.graph is not None
    assert not wb.diff(side.graph, workload.graph).edits


def test_outputs_agree_and_kernels_are_aligned(dialect: str, other: str, found: CompilerComparison):
    (pair,) = found.pairs
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(found)
    assert [check.same for check in pair.checks] == [True] * 3, str(found)
    checked(pair)
    assert pair.exact >= 0.95
    table = found.table
    (gemm,) = (row for row in table.to_dict("records") if "first.Gemm" in row["sources"])
    assert "first.Relu" in gemm["sources"]
    assert gemm["relation"] == "one to one"
    # the left one folds the transpose of the weight; the right one has the weight as an argument
    assert gemm["left"] != gemm["right"]
    assert f"{pair.right.title} moves data in a kernel of its own: transpose" in gemm["why"]
    assert f"{pair.right.title} compiles {gemm['right'][-1]} without a schedule." in gemm["why"]
    only = {f"only {side.title}" for side in pair.sides}
    assert set(table["relation"]) <= {"one to one", "split", "merged", "many to many", *only}
    assert (table["us_left"] + table["us_right"] > 0).all()


def test_the_race_and_the_text(dialect: str, other: str, found: CompilerComparison):
    pair = found.pairs[0]
    race = pair.race
    assert race is not None
    assert (race.a, race.b) == (pair.left.title, pair.right.title) == tuple(NAMES.values())
    assert race.low <= race.ratio <= race.high
    assert len(race.samples_a) == len(race.samples_b) >= 10
    assert "two processes" in race.method
    text = str(found)
    assert race.wrong == ()
    assert str(race) in text
    for side in pair.sides:
        assert "at opt level 3, fused kernels; " in side.pipeline
        assert side.fuses
        assert side.pipeline in text
    assert len(text.splitlines()) < 16
    assert "<table>" in found._repr_html_()
    assert list(found.sides["compiler"]) == list(NAMES.values())


@dataclass(frozen=True)
class Job:
    name: str
    began: float
    ended: float


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs of all child processes."""
    seen: list[Job] = []
    run = Worker.run

    def timed(self: Worker, job: str, *given: Any, **limits: Any) -> Any:
        began = time.monotonic()
        try:
            return run(self, job, *given, **limits)
        finally:
            seen.append(Job(job, began, time.monotonic()))

    monkeypatch.setattr(Worker, "run", timed)
    return seen


@pytest.fixture(params=[True, False], ids=["linker", "no linker"])
def linker(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Return whether TVM finds a linker."""
    builders = [] if request.param else [Environment.of(dialect).worker() for dialect in NAMES]
    if not request.param:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
    for each in builders:
        each.stop()
    yield request.param
    for each in builders:
        each.stop()


def test_one_build_a_compiler_and_times_beside_no_other_work(
    other: str, linker: bool, path: Path, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
):
    said: list[str] = []

    def report(what: str, _fraction: float | None) -> None:
        said.append(what)

    # of the race's processes
    monkeypatch.setattr(runner, "silent", report)
    (pair,) = wb.compare_compilers(path, budget=0.1, progress=report).pairs
    assert pair.race is not None, str(pair)
    # the third process of the race loads the file of the first one's build; without a linker there is none
    assert said.count("Compiling") == (2 if linker else 3)
    builds = [job for job in jobs if job.name == "trace_build"]
    assert builds[0].began < builds[1].ended
    assert builds[1].began < builds[0].ended
    for timed in (job for job in jobs if job.name in ("kernel_times", "turn")):
        assert [job for job in jobs if job.began < timed.ended and timed.began < job.ended] == [timed]


def test_a_small_convolution_net(dialect: str, other: str):
    found = wb.compare_compilers(convolutions(), budget=0)
    (pair,) = found.pairs
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(found)
    assert all(check.same for check in pair.checks), str(found)
    checked(pair)
    assert pair.unraced == "budget=0"
    assert found.table["us_lost"].isna().all()
    assert any({"stem.Conv", "stem.Relu"} <= set(row.sources) for row in pair.rows)
    assert found["llvm"] is pair
    with pytest.raises(UnknownName, match="no target of this comparison"):
        found["cuda"]


def test_the_node_where_the_imports_part(dialect: str, other: str):
    """One of the importers ignores that this Gelu, the last node, is approximated by tanh; TVM prints the input's name and does not read it."""
    m = Onnx()
    m.scope = "/block"
    x = m.op("Gelu", m.op("Neg", "input.1"), approximate="tanh")
    model = m.model({"input.1": (FLOAT, ["n", 4])}, x)
    model.opset_import[0].version = 20
    (pair,) = wb.compare_compilers(model, {"input.1": (4, 4)}, budget=0.1, per_kernel=False).pairs
    assert [check.same for check in pair.checks] == [False, False, True]
    assert pair.part == "the imported programs part at the node block.Gelu, before any pass"
    assert pair.part in str(pair)
    # wrong outputs never win
    assert pair.race is not None
    assert pair.race.wrong == (pair.left.title,)
    assert "times" not in str(pair.race).partition("(")[0]
    assert all(row.us_lost is None for row in pair.rows)


def reference_of(model: onnx.ModelProto, x: np.ndarray, folder: Path) -> np.ndarray:
    from workbench.jobs import run_build  # it imports TVM, which the core lane has not

    onnx.save(model, folder / "model.onnx")
    path, given, found = (str(folder / name) for name in ("model.onnx", "given.npz", "found.npz"))
    arrays.save(given, {"x": x})
    run_build.onnx_outputs(path=path, inputs=[], limits={}, given=given, seed=0, outputs=found, progress=Mock())
    return arrays.load(found)["output0"]


@pytest.mark.parametrize("opset", [9, 13, 15])
def test_the_reference_of_a_batch_normalisation(opset: int, tmp_path: Path, dialect: str):
    """Up to opset 13 ONNX's reference evaluator mixes the batch's statistics in."""
    m, x = Onnx(), np.linspace(-3, 3, 24, dtype="float32").reshape(1, 2, 3, 4)
    scale, bias, mean, var = (np.array(each, "float32") for each in ([1, 2], [0, 1], [0.5, -1], [1, 4]))
    model = m.model(
        {"x": (FLOAT, x.shape)}, m.op("BatchNormalization", "x", *map(m.constant, (scale, bias, mean, var)))
    )
    model.opset_import[0].version = opset
    scale, bias, mean, var = (each.reshape(-1, 1, 1) for each in (scale, bias, mean, var))
    expected = scale * (x - mean) / np.sqrt(var + 1e-5) + bias
    np.testing.assert_allclose(reference_of(model, x, tmp_path), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", [13, 19])
def test_the_reference_of_a_quantised_model(opset: int, tmp_path: Path, dialect: str):
    """ONNX's reference evaluator has DequantizeLinear from opset 19 on."""
    m = Onnx()
    scale, zero = m.constant(np.float32(0.5)), m.constant(np.uint8(3))
    model = m.model(
        {"x": (FLOAT, [2, 3])}, m.op("DequantizeLinear", m.op("QuantizeLinear", "x", scale, zero), scale, zero)
    )
    model.opset_import[0].version = opset
    x = np.linspace(-3, 3, 6, dtype="float32").reshape(2, 3)
    expected = (np.clip(np.rint(x / 0.5) + 3, 0, 255) - 3) * 0.5
    np.testing.assert_array_equal(reference_of(model, x, tmp_path), expected)


@contextmanager
def signalled(child: Worker, number: int) -> Iterator[None]:
    """Send a signal to each process that the worker starts, until the block ends."""
    over = threading.Event()

    def send() -> None:
        while not over.wait(0.02):
            running = child._child
            with suppress(OSError, AttributeError):
                if running is not None and running.alive():
                    os.kill(running.pid, number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        child.stop()


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        pytest.param(signal.SIGKILL, "crashed", "SIGKILL", id="crash"),
        pytest.param(signal.SIGSTOP, "timeout", "no result within 8 s", id="hang", marks=pytest.mark.one_dialect),
    ],
)
def test_the_other_half_is_whole(dialect: str, other: str, path: Path, number: int, status: str, said: str):
    with signalled(Environment.of(other).worker(), number):
        (pair,) = wb.compare_compilers(path, budget=0, timeout=8).pairs
    ended, whole = side_of(pair, other), side_of(pair, dialect)
    assert (ended.status, whole.status) == (status, "ok"), str(pair)
    assert said in ended.message
    assert ended.graph is not None
    assert ended.kernels is None
    assert whole.kernels is not None
    assert whole.memory is not None
    assert pair.race is None
    assert pair.rows == ()
    assert pair.unraced == f"{ended.title} has no build that runs"
    (check,) = (each for each in pair.checks if each.difference is not None)
    assert check.same
    assert ended.title in str(pair).splitlines()[0 if ended is pair.left else 1]


def test_a_missing_environment(dialect: str, other: str, path: Path, monkeypatch: pytest.MonkeyPatch):
    (pair,) = wb.compare_compilers(path, budget=0, compilers=pythons(other, "/nowhere/python")).pairs
    lost = side_of(pair, other)
    assert lost.status == "failed"
    assert "/nowhere/python cannot be started: No such file or directory; check the path" in lost.message
    assert side_of(pair, dialect).status == "ok"
    (pair,) = wb.compare_compilers(path, budget=0, compilers=pythons(other, sys.executable)).pairs
    assert f"runs a TVM with {dialect}, not {other}; give another Python" in side_of(pair, other).message
    monkeypatch.setattr(finding, "_pythons", lambda: iter(()))
    with pytest.raises(SetupError, match="none of 0 other Python environments here has a TVM with nothing"):
        finding.find("nothing")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "none.onnx", "none.onnx cannot be read: there is no such file"),
        (lambda folder: 3, "compare_compilers takes an ONNX file or ModelProto"),
        (lambda folder: _garbage(folder), "is not an ONNX model, or is damaged"),
    ],
    ids=["missing", "number", "garbage"],
)
def test_a_bad_file(dialect: str, tmp_path: Path, make: Callable[[Path], Any], said: str):
    with pytest.raises(LoadError, match=said.replace("(", r"\(")):
        wb.compare_compilers(make(tmp_path), budget=0)


def test_bad_shapes(dialect: str, other: str, path: Path):
    with pytest.raises(LoadError, match="has no names; give a dictionary"):
        wb.compare_compilers(path, [1, 2])  # pyright: ignore[reportArgumentType]
    with pytest.raises(LoadError, match="there is no input named 'y'"):
        wb.compare_compilers(path, {"y": (1, 2)})


def _garbage(folder: Path) -> Path:
    made = folder / "bad.onnx"
    made.write_bytes(b"\x08\xff" * 40)
    return made


def test_the_report_of_a_migration(dialect: str, other: str, path: Path, tmp_path: Path, capsys: Any):
    report = tmp_path / "report.html"
    assert main(["migrate", str(path), "-o", str(report), "--budget", "0"]) == 0
    assert capsys.readouterr().out.endswith(f"written: {report}\n")
    data = json.loads((tmp_path / "report.json").read_text())
    (pair,) = data["pairs"]
    assert [side["status"] for side in pair["sides"]] == ["ok", "ok"]
    kernels = pd.read_csv(tmp_path / "report.kernels.csv")
    assert len(kernels) == len(pair["kernels"])
    assert kernels["bytes_right"].sum() == pair["sides"][1]["bytes"]
    assert list(pd.read_csv(tmp_path / "report.compilers.csv")["compiler"]) == list(NAMES.values())
    text = report.read_text()
    assert "<script" not in text
    assert (tmp_path / "report.view.html").stat().st_size > 100_000
    assert all(
        name in text for name in ("report.view.html", "report.json", "report.kernels.csv", "first.Gemm", "agree, to")
    )
    # a side that fails is in the report too, and in the exit status
    missing = [f"--{other}", "/nowhere/python"]
    assert main(["migrate", str(path), "-o", str(report), "--budget", "0", *missing]) == 3
    assert "/nowhere/python cannot be started" in report.read_text()
    assert main(["migrate", str(path), "-o", "report.txt"]) == 1
