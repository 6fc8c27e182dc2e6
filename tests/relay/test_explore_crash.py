"""Passes of TVM 0.17 that end the process they run in are rows of an exploration, and the notebook goes on."""

from __future__ import annotations

import tvm
from tvm import relay

import workbench as wb


def test_a_pass_that_ends_its_process_is_a_row_and_the_next_one_runs() -> None:
    # the second weight depends on the first branch: combining them substitutes for ever
    x, weight = relay.var("x", shape=(8, 8)), relay.var("w", shape=(8, 8))
    first = relay.nn.dense(x, weight)
    w = wb.load(tvm.IRModule.from_expr(relay.Function([x, weight], relay.nn.dense(x, first))))
    crash, fused = wb.explore(w, ["CombineParallelDense{min_num_branches=2}", "FuseOps"]).run().rows
    assert crash.status == "error"
    assert "SIGSEGV" in crash.message
    assert fused.changed
