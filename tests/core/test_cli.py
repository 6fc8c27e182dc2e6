"""The command line without TVM: help, bad usage, and files that need none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.cli import main
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

COMMANDS = (
    "trace", "show", "kernels", "schedules", "measure", "remarks", "migrate", "export", "install-relay", "wheelhouse", "doctor",
)  # fmt: skip


def state(op: str) -> State:
    build = GraphBuilder("g", "relay")
    x = build.node("param", "x", type="Tensor[(1), float32]")
    build.outputs.append(build.node("op", op, (x,), type="Tensor[(1), float32]"))
    graph = build.build()
    return State(None, lambda: graph, lambda: f"text of {op}")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    first, second = state("exp"), state("log")
    return Trace("t", "relay", (Step("FuseOps", first, second, "changed", 0.1),), first, 3).save(tmp_path / "t.wbtrace")


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_help_teaches_and_ends_well(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "usage: tvm-workbench" in said
    if arguments == ["--help"]:
        assert all(f"tvm-workbench {name}" in said for name in COMMANDS[:6]), "an example of each"
        assert "exit status" in said


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["trace", "x", "-p", "A", "--build", "llvm"]])
def test_bad_usage_is_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "none.wbtrace"], "cannot be read"),
        (["show", "none.json"], "cannot be read"),
        (["export", "TRACE", "x.nothing"], "no kind that can be exported"),
        (["export", "TRACE", "no folder/x.txt"], "cannot be written"),
        (["export", "TRACE", "x.json", "--step", "7"], "no step 7"),
        (["show", "TRACE", "-o", "x.nothing"], "suffix"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_is_one_sentence_and_status_1(
    arguments: list[str],
    words: str,
    saved: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(saved) if word == "TRACE" else word for word in arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tvm-workbench: ")
    assert words in said
    assert said.count("\n") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize("suffix", [".html", ".json", ".txt", ".py", ".dot"])
def test_a_saved_trace_is_exported_with_no_tvm(suffix: str, saved: Path, tmp_path: Path) -> None:
    output = tmp_path / f"out{suffix}"
    assert main(["export", str(saved), str(output)]) == 0
    text = output.read_text(encoding="utf-8")
    assert {".html": "<html", ".json": "log", ".txt": "text of log", ".py": "FuseOps()", ".dot": "digraph"}[
        suffix
    ] in text


def test_a_step_is_chosen_by_its_number(saved: Path, tmp_path: Path) -> None:
    graph = tmp_path / "g.json"
    assert main(["export", str(saved), str(graph), "--step", "0"]) == 0
    assert Graph.from_json(graph.read_text()).ops[0].op == "log"
    assert main(["show", str(saved), "--step", "0", "-o", str(tmp_path / "s.html")]) == 0
    assert main(["show", str(graph), "-o", str(tmp_path / "g.html")]) == 0
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("s.html", "g.html"))


def test_show_names_the_file_after_what_it_shows(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["show", str(saved)]) == 0
    assert "written: t.html" in capsys.readouterr().out
    assert (tmp_path / "t.html").exists()


def test_the_command_line_starts_without_what_its_commands_need() -> None:
    heavy = "[m for m in ('tvm', 'numpy', 'pandas', 'anywidget', 'workbench.commands') if m in sys.modules]"
    program = f"import sys, workbench.cli\ntry: workbench.cli.main(['--help'])\nexcept SystemExit: print({heavy})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
