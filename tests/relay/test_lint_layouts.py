"""Transposes that undo each other, on Relay."""

from __future__ import annotations

from tvm import relay

import workbench as wb
from workbench.debugging.lints.rules import UNDONE

PASSES = "SimplifyInference,FuseOps"


def transposes(second: tuple[int, ...]) -> wb.Workload:
    x = relay.var("x", shape=(1, 4, 6, 6))
    return wb.load(relay.Function([x], relay.nn.relu(relay.transpose(relay.transpose(x, (0, 2, 3, 1)), second))))


def test_transposes_that_lead_back() -> None:
    w = transposes((0, 3, 1, 2))
    (found,) = wb.lint(w, config=PASSES)
    assert (found.name, found.bytes) == (UNDONE, 2 * 4 * 4 * 36)
    assert wb.lint(w, config=found.pipeline)[:] == ()
    made = eval(found.fix, {"wb": wb, "w": w})
    assert "transpose" not in made.end.text


def test_the_compiler_removes_them() -> None:
    assert wb.lint(transposes((0, 3, 1, 2)))[:] == ()


def test_transposes_that_do_not_lead_back() -> None:
    assert wb.lint(transposes((0, 2, 3, 1)), config=PASSES)[:] == ()
