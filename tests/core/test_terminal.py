"""Control characters in names of other people do not reach a terminal."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench import errors
from workbench.cli import main
from workbench.environments import doctor
from workbench.errors import ParseError, UnknownName, WorkbenchError, WorkerLost
from workbench.graph.diff import diff
from workbench.graph.model import Edge, Graph, Node
from workbench.measurement.remote.tracker import NoServer, Tracker
from workbench.pipeline.step import State, Step
from workbench.terminal import html_table, visible

sys.path.insert(0, str(Path(__file__).parents[1] / "widgets"))
import hostile

EVIL = "a\x1b]0;title\x07\x9b2J\x7f\r\u202e\u2066\u2028\u2029\x85b"
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)


@pytest.mark.parametrize("name", hostile.NAMES)
def test_only_control_characters_change(name: str) -> None:
    assert not CONTROL.search(visible(name))
    visible(name).encode()
    assert visible(visible(name)) == visible(name)
    if not CONTROL.search(name):
        assert visible(name) == name


@pytest.mark.parametrize(
    "error",
    [
        WorkbenchError(EVIL),
        ParseError("x", EVIL, 2),
        UnknownName(EVIL, EVIL, [EVIL]),
        WorkerLost(EVIL),
        errors.UnknownNode(EVIL, 3),
        *(made(EVIL) for made in (errors.LoadError, errors.PipelineError, errors.StoreError, errors.TooDeep)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_messages_of_errors(error: WorkbenchError) -> None:
    assert not CONTROL.search(str(error))
    assert "\\x1b" in str(error)


@pytest.mark.parametrize("name", hostile.NAMES)
def test_reprs(name: str) -> None:
    nodes = (Node(0, "param", name), Node(1, "op", name, type=name, attrs={name: name}), Node(2, "op", "nn.relu"))
    graph = Graph(nodes, (Edge(0, 1, 0), Edge(1, 2, 0)), (), (2,), name, "relay")
    state = State(None, lambda: graph, lambda: name)
    step = Step(name, state, state, "error", 0.0, name)
    report = wb.explain_fusion(graph)
    shown = [graph, diff(graph, graph), step, report, report.why(1, 2), wb.Pipeline(["FuseOps"]), nodes[1]]
    for thing in shown:
        assert not CONTROL.search(repr(thing) + str(thing)), type(thing)


def test_the_command_prints_them_visibly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / f"{EVIL.replace('/', '')}.json"
    graph.write_text(hostile.graph(EVIL).to_json().replace("\\ud800", "?"), encoding="utf-8")
    assert main(["show", str(graph), "-o", str(tmp_path / f"{EVIL}.html")]) == 0
    assert main(["show", str(tmp_path / f"{EVIL}.relay")]) == 1
    assert main(["show", str(tmp_path / f"{EVIL}.nothing")]) == 1
    assert main(["export", str(graph), str(tmp_path / f"{EVIL}.{EVIL}")]) == 1
    with pytest.raises(SystemExit):
        main(["show", f"--{EVIL}", "x"])
    printed = capsys.readouterr()
    assert printed.out.startswith("written: ")
    assert len(printed.err.splitlines()) >= 4
    assert not CONTROL.search(printed.out + printed.err)


def test_the_doctor_prints_them_visibly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, kernel in enumerate(
        ({"argv": [f"/none/{EVIL}"], "language": "python", "display_name": EVIL}, {"argv": ["/none\0"]}, [[]], 1)
    ):
        folder = tmp_path / "kernels" / f"k{number}"
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(kernel))
    (folder / "kernel.json").write_text("[" * 100_000)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # a report on a machine without programs starts none
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(doctor, "start_probe", lambda python: None)
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "title" in printed
    assert not CONTROL.search(printed)


def test_a_suggested_command_quotes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tracker, "servers", lambda self: [])
    monkeypatch.setattr(Tracker, "keys", lambda self: [])
    with pytest.raises(NoServer) as caught:
        Tracker("host", 9190, f"k; rm -rf ~ #{EVIL}").check()
    assert "--key $'k; rm -rf ~ #" in str(caught.value)
    assert not CONTROL.search(str(caught.value))


def test_a_long_name_in_a_table_breaks_between_its_words() -> None:
    names = ("fused_nn_contrib_conv2d_NCHWc", "<b>_short", "1,234.5 kB")
    assert "fused_<wbr>nn_<wbr>contrib_<wbr>conv2d_<wbr>NCHWc, &lt;b&gt;_short, 1,234.5 kB<" in html_table(
        "", [{"left": ", ".join(names)}]
    )


def test_html_table_escapes_names_and_control_characters():
    shown = html_table("<b>\x1b", [{"op": "<script>", "us": None}])
    side = ' style="text-align:left"'
    assert shown == (
        f"<p>&lt;b&gt;\\x1b</p><table><tr><th{side}>op</th></tr><tr><td{side}>&lt;script&gt;</td></tr></table>"
    )
