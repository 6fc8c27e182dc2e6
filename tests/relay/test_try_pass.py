"""`wb.try_pass` and `wb.where` on Relay: a planted fault is found and reduced, a right pass raises no alarm."""

from __future__ import annotations

from typing import Any

import pytest
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, is_op, wildcard

import workbench as wb
from workbench.testing import assert_pass


def swaps_operands(mod: Any) -> Any:
    """Compute b - a in the place of a - b."""
    import tvm
    from tvm import relay

    class Swap(relay.ExprMutator):
        def visit_call(self, call: Any) -> Any:
            call = super().visit_call(call)
            if getattr(call.op, "name", "") != "subtract":
                return call
            return relay.subtract(call.args[1], call.args[0])

    made = tvm.IRModule(dict(mod.functions.items()))
    made["main"] = Swap().visit(mod["main"])
    return made


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_planted_fault_is_found_and_reduced() -> None:
    found = wb.try_pass(swaps_operands, ["generated"], budget=20)
    failure = next(each for each in found.failures if each.law == "other outputs")
    assert failure.workload is not None
    assert "subtract" in {each.op for each in failure.workload.graph.ops}
    assert len(failure.workload.graph.ops) <= 4


def test_a_right_pass_raises_no_alarm() -> None:
    found = assert_pass("RemoveUnusedFunctions", fires=False, budget=6)
    assert found.dialect == "relay"
    assert found.attempts


def test_a_rewrite_that_never_ends_is_a_failure_of_its_own() -> None:
    x, y = wildcard(), wildcard()

    def swap(_pre: Any, _post: Any, found: Any) -> Any:
        return relay.subtract(found[y][0], found[x][0])

    found = wb.try_pass((is_op("subtract")(x, y), swap), ["generated"], budget=6, reduced=False)
    assert "100 rewrite passes" in found.failures[0].said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_callback_of_a_pattern_is_tried_on_matches_and_tvms_diagnostics_are_its_error() -> None:
    class Adds(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(require_type=True)
            self.x = wildcard()
            self.pattern = is_op("exp")(is_op("abs")(self.x))

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return relay.add(node_map[self.x][0], relay.const([0.0] * 7))

    found = wb.try_pass(Adds(), ["generated"], budget=6, reduced=False)
    assert "broadcast" in found.failures[0].said


def test_where_counts_matches_and_reasons() -> None:
    found = wb.where('is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard())')
    assert sum(row["matches"] for row in found.rows()) == found.table["matches"].sum()
    assert len(found.models) == len(wb.samples.names())
