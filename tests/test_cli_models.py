"""The command line on models, in both dialects."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialect_facts import Facts
from pastes import paste

import workbench as wb
from workbench.cli import main
from workbench.dialects.registry import dialect as door

pytestmark = pytest.mark.one_dialect

# it looks for nodes of another module
FAILS = "CutFusion{edges=[(0, 1, 0)],ops=['none', 'none']}"
MARKS = {"changed": "*", "same": " ", "off": "-"}


def test_trace_writes_what_the_same_call_in_python_gives(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.wbtrace"
    passes = f"{door(dialect).passes.fusing()},-FoldConstant"
    assert main(["trace", "sample:mlp{layers=2}", "-p", passes, "-o", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    theirs = wb.trace(wb.samples.load("mlp", layers=2), passes)
    assert [line[0] for line in lines[: len(theirs.steps)]] == [MARKS[step.status] for step in theirs.steps]
    assert {step.status for step in theirs.steps} == {*MARKS}
    opened = wb.Trace.open(path)
    assert [step.status for step in opened.steps] == [step.status for step in theirs.steps]
    assert opened.end.graph == theirs.end.graph


def test_without_passes_the_default_pipeline_is_traced(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.wbtrace"
    assert main(["trace", "sample:mlp", "-o", str(path)]) == 0
    steps = [step.name for step in wb.trace(wb.samples.load("mlp")).steps]
    assert [step.name for step in wb.Trace.open(path).steps] == steps


def test_a_build_is_traced(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "b.wbtrace"
    assert main(["trace", "sample:mlp", "--build", "llvm", "--changed", "-o", str(path)]) == 0
    assert "FuseOps" in capsys.readouterr().out
    assert wb.Trace.open(path).build["target"].startswith("llvm")


def test_a_model_is_read_from_a_file(dialect: str, facts: Facts, tmp_path: Path) -> None:
    sample = wb.samples.load("mlp", layers=2)
    model = tmp_path / f"m{facts.suffix}"
    model.write_text(sample.text())
    assert main(["trace", str(model), "-p", "", "-o", str(tmp_path / "t.wbtrace")]) == 0
    assert main(["export", str(model), str(tmp_path / "g.json")]) == 0
    read = wb.Graph.from_json((tmp_path / "g.json").read_text())
    assert [node.op for node in read.ops] == [node.op for node in sample.graph.ops]


def test_a_check_reports_that_the_outputs_are_the_same(dialect: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["trace", "sample:parallel_cast", "-p", "EliminateCommonSubexpr,EliminateCommonSubexpr", "--check"]) == 0
    )
    assert capsys.readouterr().out.splitlines()[-1] == "outputs: 1 same, 1 unchanged"


@pytest.mark.parametrize("option", [[], ["--graph"]], ids=["before and after", "import alone"])
def test_show_draws_a_model_before_and_after_its_passes(
    option: list[str], dialect: str, facts: Facts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / f"m{facts.suffix}"
    model.write_text(wb.samples.load("mlp", layers=2).text())
    assert main(["show", str(model), *option, "-o", str(tmp_path / "m.svg")]) == 0
    made = wb.trace(wb.load(model))
    passes = ", ".join(step.name for step in made.steps)
    assert (f"before and after: {passes}" in capsys.readouterr().out) is not bool(option)
    kernel = min((g.name for g in made.end.graph.groups if g.kind == "primitive"), key=len)
    assert (kernel in (tmp_path / "m.svg").read_text(encoding="utf-8")) is not bool(option)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trace", "sample:mlp", "-p", "FuseOp"], "did you mean FuseOps"),
        (["trace", "sample:mlp", "-p", "FuseOps{"], "not closed"),
        (["trace", "sample:nothing", "-p", "FuseOps"], "sample"),
        (["trace", "sample:", "-p", "FuseOps"], "name one sample"),
        (["show", "sample:bert,mlp"], "name one sample"),
        (["show", "sample:mlp", "--input", "x=1,8"], "leave --input"),
        (["show", "none.txt", "--input", "x=1,8"], "drawn with the shapes in it"),
        (["trace", "model.caffemodel", "-p", "FuseOps"], "not a file that can be loaded"),
        (["trace", "none.txt", "-p", "FuseOps"], "cannot be read"),
        (["trace", "sample:mlp", "--params", "none.npz", "-p", ""], "none.npz"),
        (["kernels", "sample:mlp", "--config", "nonsense"], "KEY=VALUE"),
        (["kernels", "sample:mlp", "--disable", "FuseOp"], "did you mean FuseOps"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_is_one_sentence_and_status_1(
    arguments: list[str], words: str, dialect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "none.npz" in arguments:
        arguments = [word.replace("sample:mlp", __file__) for word in arguments]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_pass_that_fails_is_status_3_and_the_trace_is_written(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.wbtrace"
    assert main(["trace", "sample:mlp", "-p", FAILS, "-o", str(path)]) == 3
    assert "failed" in capsys.readouterr().err
    assert wb.Trace.open(path).failed is not None


def test_kernels_are_counted_and_listed(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "k.csv"
    assert main(["kernels", "sample:mlp{layers=1}", "-O", "3", "-o", str(table)]) == 0
    said = capsys.readouterr().out
    calls = wb.kernels(wb.samples.load("mlp", layers=1)).calls
    assert f"calls         {calls}\n" in said
    assert "\nflops         2112\n" in said
    assert len(table.read_text().splitlines()) == calls + 1


def test_configurations_are_measured(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "m.csv"
    arguments = ["measure", "sample:mlp{layers=1,width=4}", "-c", "3", "--budget", "0.05", "-o", str(table)]
    assert main(arguments) == 0
    assert "opt 3" in capsys.readouterr().out
    assert len(table.read_text().splitlines()) == 2
    assert main(["measure", "sample:mlp{layers=1,width=4}", "-c", FAILS, "--budget", "0.05"]) == 3


def test_sizes_of_a_text_are_given_in_a_shell(
    dialect: str, facts: Facts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, size = facts.open_text
    model = tmp_path / f"open{facts.suffix}"
    model.write_text(text)
    assert main(["kernels", str(model), "--input", size]) == 0
    assert "\ntraffic_bytes 192\n" in capsys.readouterr().out


def test_show_draws_a_paste_and_tells_what_was_assumed(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text(paste("attention"), encoding="utf-8")
    assert main(["show", str(dump), "-o", str(tmp_path / "dump.html")]) == 0
    assert "note: what nothing binds became parameters: %6, %mask" in capsys.readouterr().err
    assert "nn.softmax" in (tmp_path / "dump.html").read_text(encoding="utf-8")


def test_show_compares_two_modules_of_one_paste(dialect: str, tmp_path: Path) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text(paste("adds"), encoding="utf-8")
    assert main(["show", str(dump), "-o", str(tmp_path / "dump.html")]) == 0
    page = (tmp_path / "dump.html").read_text(encoding="utf-8")
    assert "nn.batch_norm" in page
    assert "nn.bias_add" in page


def test_show_names_the_place_of_what_cannot_be_read(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text("I get\n\n def @main(%x: int8) { exp(%x }\n", encoding="utf-8")
    assert main(["show", str(dump), "-o", str(tmp_path / "dump.html")]) == 1
    assert "line 3, column 31: expected `,`" in capsys.readouterr().err


def test_a_pair_out_of_a_paste_is_compared(dialect: str) -> None:
    view = wb.CompareView(*wb.load_all(paste("adds")))
    assert view.changes.added
    assert wb.GraphView(wb.load(paste("casts"))).model.kernel_count == 3
