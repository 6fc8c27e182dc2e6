"""A hostile name in each language that is written: it stays a name, whatever wrote it."""

from __future__ import annotations

import ast
import csv
import io
import re
import subprocess

import pandas as pd
import pytest

import workbench as wb
from workbench.analysis.fusion.report import as_test
from workbench.debugging.lints.result import config_text
from workbench.debugging.remarks.remark import Remark, lines
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.config import Config
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.quoting import comment, csv_text, shell, shell_file
from workbench.terminal import visible

NAMES = [
    "a;PWNED();b.onnx", "$(PWNED)`PWNED`", "'; PWNED(); '", '"; PWNED(); "', "'); PWNED(); ('", '"); PWNED(); ("',
    '"""\nPWNED()\n"""', "a\nPWNED()\n#", "a\rPWNED()\r#", "a\x0cPWNED()\x85PWNED()\u2028PWNED()", "\\",
    "\\\nPWNED()", "{PWNED()}", "\x15PWNED\r", "\x1b]0;PWNED\x07", "\u202ePWNED()", "-PWNED", "--config=PWNED()",
    "=PWNED()", "+PWNED()", "@PWNED()", "-1+PWNED()", "\t=PWNED()", "\r=PWNED()", "\uff1dPWNED()",
    "<b onclick=PWNED()>", "--- !PWNED", "\U0001d4b3",
]  # fmt: skip


def test_shell() -> None:
    written = shell(*NAMES)
    assert written.isprintable()
    done = subprocess.run(["bash", "-c", rf"printf '%s\0' {written}"], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == NAMES
    assert not any(shell_file(name).startswith("-") for name in NAMES)


def test_csv() -> None:
    table = pd.DataFrame({"name": NAMES, "=PWNED()": -1.5, "n": pd.array([-3] * len(NAMES), "Int64"), "text": "-1e-5"})
    head, *rows = csv.reader(io.StringIO(csv_text(table)))
    assert head == ["name", "'=PWNED()", "n", "text"]
    assert {tuple(numbers) for _, *numbers in rows} == {("-1.5", "-3", "-1e-5")}
    cells = [row[0] for row in rows]
    assert [cell.removeprefix("'") for cell in cells] == [visible(name).removeprefix("'") for name in NAMES]
    assert not any(re.match(r"[=+\-@\t\r\n\uff1d]", cell) for cell in cells)


def graph(name: str) -> Graph:
    build = GraphBuilder(name, "relay")
    x = build.node("param", name, type="Tensor[(1), float32]")
    build.outputs.append(build.node("op", name, (x,), type="Tensor[(1), float32]", attrs={"a": name}, pattern=0))
    return build.build()


def trace(name: str, **build: object) -> Trace:
    state = State(None, lambda: graph(name), lambda: name)
    step = Step(f"<{re.sub('[<>]', '', name)}>", state, state, "error", 0.1, name, name)
    broken = Step(f"FuseOps{{x={name!r}}}", state, state, "error", 0.1, name, name)
    return Trace(name, "relay", (step, broken), state, 2, build)


PYTHON = {
    "comment": lambda name: f'"""{comment(name)}"""\nx = 1  # {comment(name)}',
    "trace": lambda name: trace(name).code(),
    "build": lambda name: trace(
        name, target=name, disabled=(name,), required=(), options={name: name}, opt_level=3, schedules=name
    ).code(),
    "stepper": lambda name: wb.PassStepper(trace(name)).listing["code"],
    "config": lambda name: config_text(Config(name, disabled=(name,), options={name: name}, schedules=name)),
    "test": lambda name: as_test(wb.explain_fusion(graph(name)), 1),
    "pattern": lambda name: wb.pattern_for(graph(name), [1]),
}


@pytest.mark.parametrize("writer", PYTHON)
def test_python(writer: str) -> None:
    for name in NAMES:
        text = str(PYTHON[writer](name))
        called = [ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        assert "PWNED" not in called, text


def test_dot_and_yaml() -> None:
    """Only strings of the language hold the name."""
    for name in NAMES:
        remark = Remark("missed", name, name, name, name, (name,), layer=name)
        for text in (graph(name).to_graphviz().source, *lines([remark], "yaml")):
            assert "PWNED" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
