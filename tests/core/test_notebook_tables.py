"""Results that people print are tables in a notebook; a name from a foreign file is text there, never HTML."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from workbench.analysis.branches import parallel_branches
from workbench.graph.model import GraphBuilder
from workbench.measurement.count import Counts
from workbench.measurement.kernels import Kernels
from workbench.measurement.race import Race
from workbench.measurement.tables import Table
from workbench.pipeline.config import Config
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

_ROW = re.compile(r'<td style="text-align:(left|right)[^"]*">(.+?)</td>')
HOSTILE = "<img src=x onerror=alert(1)>"


def trace() -> Trace:
    state = State(None, lambda: GraphBuilder("g", "relay").build(), lambda: "")
    return Trace("t", "relay", (Step(HOSTILE, state, state, "error", error=f"{HOSTILE} failed"),), state, 3)


def kernels() -> Kernels:
    row = {"index": 0, "function": HOSTILE, "op": "add", "kind": "kernel", "launches": 1, "noop": False}
    return Kernels((row,), "llvm", Config(), 1.0)


def race() -> Race:
    return Race(HOSTILE, "opt 3", "llvm", 1.0, 0.9, 1.1, (1.0,), (1.0,))


def measured() -> Table:
    row = {"config": "opt 3", "target": "llvm", "kernels": 5, "median_us": 1.5, "q1_us": 1.4, "q3_us": 1.6}
    return Table([{**row, "seed": 0, "status": "failed", "message": f"{HOSTILE} could not be built" * 9}])


def counts() -> Counts:
    return Counts(3, 2, 0, 0, 128, {}, None, "llvm", "failed", HOSTILE)


@pytest.mark.parametrize(
    "result", [trace(), kernels(), race(), counts(), measured()], ids=lambda result: type(result).__name__
)
def test_result_is_shown_and_its_names_are_escaped(result: Trace | Kernels | Race | Counts | Table) -> None:
    html = result._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html


@pytest.mark.parametrize(
    ("result", "cells"),
    [
        (kernels(), ["add", "kernel", "0", "1"]),
        (counts(), ["3", "2", "0", "0", "128 bytes"]),
        (measured(), ["opt 3", "5", "1.5 µs (1.4 to 1.6)", "failed", f"{HOSTILE} could not be built" * 9]),
    ],
    ids=["kernels", "counts", "measured"],
)
def test_row_has_its_main_values_with_units_and_numbers_at_the_right(result: Any, cells: list[str]) -> None:
    shown = _ROW.findall(result._repr_html_().partition("<details>")[0])
    assert [unescape(text) for _, text in shown][-len(cells) :] == cells
    assert all((side == "right") == text[0].isdigit() for side, text in shown)


def test_table_of_groups_names_their_operators() -> None:
    builder = GraphBuilder("g", "relay")
    x = builder.node("param", "x", type="Tensor[(1, 8), float32]")
    ends = [builder.node("op", "exp", [builder.node("op", "tanh", [x], type="f")], type="f") for _ in range(2)]
    builder.node("op", "add", ends, type="f")
    assert "(tanh 1 → exp 2 | tanh 3 → exp 4)" in parallel_branches(builder.build())._repr_html_()


def test_picture_of_branches_escapes_and_shortens_names() -> None:
    builder = GraphBuilder("g", "relay")
    x = builder.node("param", "<b>" * 2000, type="Tensor[(1, 8), float32]")
    ends = [builder.node("op", "exp", [x], type="f") for _ in range(9)]
    builder.node("tuple", "tuple", ends)
    picture = parallel_branches(builder.build())[0].picture()
    assert "<b>" not in picture
    assert len(picture) < 4000
    assert picture.count("<rect") == 7
    assert "9 branches, 3 not drawn" in picture
