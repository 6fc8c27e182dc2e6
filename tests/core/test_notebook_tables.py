"""Results that people print are tables in a notebook; a name from a foreign file is text there, never HTML."""

from __future__ import annotations

import pytest

from workbench.graph.model import GraphBuilder
from workbench.measurement.count import Counts
from workbench.measurement.kernels import Kernels
from workbench.measurement.race import Race
from workbench.pipeline.config import Config
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

HOSTILE = "<img src=x onerror=alert(1)>"


def trace() -> Trace:
    state = State(None, lambda: GraphBuilder("g", "relay").build(), lambda: "")
    return Trace("t", "relay", (Step(HOSTILE, state, state, "error", error=f"{HOSTILE} failed"),), state, 3)


def kernels() -> Kernels:
    row = {"index": 0, "function": HOSTILE, "op": "add", "kind": "kernel", "launches": 1, "noop": False}
    return Kernels((row,), "llvm", Config(), 1.0)


def race() -> Race:
    return Race(HOSTILE, "opt 3", "llvm", 1.0, 0.9, 1.1, (1.0,), (1.0,))


def counts() -> Counts:
    return Counts(3, 2, 0, 0, 128, {}, None, "llvm", "failed", HOSTILE)


@pytest.mark.parametrize("result", [trace(), kernels(), race(), counts()], ids=lambda result: type(result).__name__)
def test_result_is_shown_and_its_names_are_escaped(result: Trace | Kernels | Race | Counts) -> None:
    html = result._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html


def test_table_has_a_row_for_each_call() -> None:
    assert "<td>add</td><td>kernel</td><td>1</td>" in kernels()._repr_html_()
    assert "<td>3</td><td>2</td>" in counts()._repr_html_()
