"""`wb.compare_compilers` of programs, texts, workloads and samples; `test_compare_compilers.py` has ONNX models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relay_texts as texts

import workbench as wb
from workbench.cli import main
from workbench.debugging.compilers.models import Environment
from workbench.debugging.compilers.result import CompilerPair
from workbench.debugging.compilers.side import NAMES, CompilerSide
from workbench.environments import SetupError
from workbench.errors import LoadError, WorkbenchError
from workbench.graph.nodes import DIALECTS

pytestmark = pytest.mark.one_dialect

WEIGHTS = {"w": np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)}


@pytest.fixture(autouse=True)
def both(dialect: str) -> None:
    """Skip a test where an environment is missing."""
    for each in DIALECTS:
        try:
            Environment.of(each)
        except SetupError as error:
            pytest.skip(f"needs both environments, make setup: {error}")


def compared(model: Any, **how: Any) -> CompilerPair:
    (pair,) = wb.compare_compilers(model, **{"budget": 0, **how}).pairs
    return pair


def side_of(pair: CompilerPair, dialect: str) -> CompilerSide:
    return next(side for side in pair.sides if side.dialect == dialect)


def agree(pair: CompilerPair, least: float = 0.95) -> None:
    """Hold what is true of a pair of one program: both builds, one check of the outputs, every kernel aligned."""
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(pair)
    assert [check.same for check in pair.checks] == [True], str(pair)
    assert pair.exact >= least
    names = [{name for node in graph.ops for name in node.source} for graph in _graphs(pair)]
    assert names[0] == names[1]
    assert all(node.source for graph in _graphs(pair) for node in graph.ops)


def _graphs(pair: CompilerPair) -> list[wb.Graph]:
    return [side.graph for side in pair.sides if side.graph is not None]


def kinds(path: Path) -> dict[str, Callable[[], Any]]:
    """The forms of one text."""
    path.write_text(texts.PLAIN)
    return {"text": lambda: texts.PLAIN, "file": lambda: path, "workload": lambda: wb.load(path, WEIGHTS)}


@pytest.mark.parametrize("kind", ["text", "file", "workload"])
def test_a_relay_program_with_params(dialect: str, kind: str, tmp_path: Path):
    pair = compared(kinds(tmp_path / texts.FILE)[kind](), params=WEIGHTS)
    agree(pair)
    assert "'nn.dense#2'" in str([row.sources for row in pair.rows])


def test_the_sides_are_those_of_the_programs_alone(dialect: str):
    """The side of this environment has the kernels that `wb.kernels` reports for the program, or for its translation."""
    pair, workload = compared(texts.PLAIN, params=WEIGHTS), wb.load(texts.PLAIN, WEIGHTS)
    own = side_of(pair, dialect)
    if dialect != workload.dialect:
        workload = wb.to_relax(workload, WEIGHTS)
    built = wb.kernels(workload, own.target)
    assert own.kernels is not None
    assert own.graph is not None
    # the variables of a translation have other names here
    plain = [[{**row, "name": ""} for row in kernels.rows] for kernels in (own.kernels, built)]
    assert plain[0] == plain[1]
    assert not wb.diff(own.graph, workload.graph).edits


def test_constants_in_the_metadata_of_a_text(dialect: str):
    text = texts.CONSTANTS + texts.METADATA
    agree(compared(text))
    agree(compared(wb.load(text)))
    # the values are in the build, not random
    assert [check.same for check in compared(text, seed=3).checks] == [True]


def test_values_that_a_text_lacks_are_in_a_note(dialect: str):
    pair = compared(texts.CONSTANTS.removesuffix("#[metadata]\n"))
    agree(pair)
    (note,) = pair.left.notes
    assert "random ones of the stated types were made" in note
    assert f"{pair.left.title}, note: {note}" in str(pair)


def test_a_program_that_nothing_translates(dialect: str):
    pair = compared(texts.SCRIPT)
    assert (pair.left.status, pair.right.status) == ("failed", "ok"), str(pair)
    assert "there is no translation" in pair.left.message
    assert pair.right.kernels is not None
    assert not pair.checks
    with pytest.raises(LoadError, match=r"there is no translation"):
        compared(texts.SCRIPT.replace("R.nn.relu", "R.nn.none"))


def test_inputs_of_both_sides_are_the_same(dialect: str):
    weight = np.arange(21, dtype="float32").reshape(7, 3)
    agree(compared(texts.TABLE, params={"weight": weight}))
    agree(compared(texts.TABLE))


def test_open_dimensions(dialect: str):
    agree(compared(texts.OPEN, shapes={"x": (2, 3)}))
    with pytest.raises(WorkbenchError, match=r"no open input named 'y'|there is no .* named 'y'"):
        compared(texts.OPEN, shapes={"y": (2, 3)})


def test_an_operator_without_a_translation(dialect: str):
    pair = compared(texts.UNTRANSLATED)
    whole, lost = pair.sides
    assert whole.status == "ok"
    assert whole.kernels is not None
    assert lost.status == "failed"
    assert lost.message.endswith(" for 1: nn.lrn (%1); cut those parts off first")
    assert not pair.rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(texts.DAMAGED, "line 1, column 5", id="damaged"),
        pytest.param(texts.ENDS, "the child process ended with SIG", id="ends"),
        pytest.param("three words here (", "line 1, column 1: expected", id="words"),
        pytest.param("", "is empty", id="empty"),
    ],
)
def test_a_bad_text(dialect: str, text: str, said: str):
    with pytest.raises(LoadError, match=said) as caught:
        compared(text)
    # one sentence, although both sides fail
    assert ";" not in str(caught.value).replace("; give", "")


@pytest.mark.parametrize(
    ("model", "how", "said"),
    [
        (3, {}, "compare_compilers takes an ONNX file .* not 3"),
        ("nowhere.txt", {}, "nowhere.txt cannot be read: No such file"),
        ("nowhere.onnx", {}, "there is no such file"),
        ("model.h5", {}, "compare_compilers takes .* not model.h5"),
        ("model.pt2", {}, "may run its author's code when it is opened"),
        ("sample:none", {}, "no .* sample named 'none'"),
        ("sample:mlp", {"shapes": {"x": (1, 2)}}, "sample:mlp has its shapes and parameters"),
        (texts.PLAIN, {"params": [1]}, "the parameters have no names"),
        (texts.PLAIN, {"params": {"w": [1.0]}}, "the parameter w is a list; give an array"),
    ],
    ids=str,
)
def test_a_bad_model(dialect: str, model: Any, how: dict[str, Any], said: str):
    with pytest.raises(WorkbenchError, match=said):
        compared(model, **how)


@pytest.mark.parametrize(
    "model", [texts.PLAIN, texts.CONSTANTS + texts.METADATA, "sample:chain"], ids=["text", "constants", "sample"]
)
def test_two_configurations_of_one_compiler(dialect: str, model: str):
    pair = compared(model, compilers=(wb.Compiler(dialect), wb.Compiler(dialect, config=wb.Config(opt_level=1))))
    agree(pair)
    assert [side.dialect for side in pair.sides] == [dialect] * 2


@pytest.mark.parametrize("model", [texts.CONSTANTS + texts.METADATA, "sample:chain"], ids=["text", "sample"])
def test_a_missing_environment(dialect: str, model: str):
    """Without the first compiler the second one reads the text, or builds the sample, by itself."""
    (first, second) = (wb.Compiler(each) for each in NAMES)
    pair = compared(model, compilers=(replace(first, python="/nowhere/python"), second))
    assert "/nowhere/python cannot be started" in pair.left.message
    assert pair.right.status == "ok", pair.right.message
    assert pair.right.kernels is not None
    # the order of the sides does not matter
    agree(compared(model, compilers=(second, first)))


def test_a_sample(dialect: str):
    pair = compared("sample:mlp{layers=2}")
    agree(pair)
    given = compared(wb.samples.load("mlp", layers=2))
    assert [side.row()["kernels"] for side in given.sides] == [side.row()["kernels"] for side in pair.sides]
    agree(given)


def test_the_report_of_a_sample(dialect: str, tmp_path: Path, capsys: Any):
    report = tmp_path / "report.html"
    assert main(["migrate", "sample:chain", "-o", str(report), "--budget", "0"]) == 0
    assert "tvm-workbench migrate sample:chain -o report.html" in report.read_text()
    path = tmp_path / texts.FILE
    path.write_text(texts.OPEN)
    assert main(["migrate", str(path), "--input", "x=2,3", "-o", str(report), "--budget", "0"]) == 0
    assert main(["migrate", "sample:none", "-o", str(report)]) == 1
    assert "sample named 'none'" in capsys.readouterr().err
