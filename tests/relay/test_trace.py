"""Pipelines run one pass at a time: what each did, what failed, what was not run again."""

from __future__ import annotations

import pytest
import tvm
from small_samples import SMALL
from tvm import relay

import workbench as wb
from workbench.errors import Cancelled, PipelineError
from workbench.pipeline.run import Runner


def statuses(trace):
    return [step.status for step in trace.steps]


def test_the_passes_are_tvms_own(cast):
    ours = wb.trace(cast, "EliminateCommonSubexpr,FoldConstant,FuseOps").result
    with tvm.transform.PassContext(opt_level=3):
        names = ("EliminateCommonSubexpr", "FoldConstant", "FuseOps", "InferType")
        theirs = tvm.transform.Sequential([getattr(relay.transform, name)() for name in names])(cast.module)
    assert tvm.ir.structural_equal(ours, theirs)


@pytest.mark.parametrize("opt_level", range(5))
def test_passes_run_at_the_levels_at_which_tvm_runs_them(cast, opt_level):
    levels = {"FoldConstant": 2, "EliminateCommonSubexpr": 3, "FastMath": 4}
    trace = wb.trace(cast, ",".join(levels), opt_level)
    assert [step.status == "skipped" for step in trace.steps] == [opt_level < level for level in levels.values()]


def test_a_tvm_pass_that_fails_is_a_step_too():
    bert = wb.samples.load("bert", **SMALL["bert"])
    trace = wb.trace(bert, "EliminateCommonSubexpr,FuseOps{fuse_opt_level=2},InferType")
    assert statuses(trace)[1:] == ["error", "same"]
    failed = trace.steps[1]
    assert trace.failed is failed
    # FuseOps has no pattern for layer_norm before SimplifyInference
    assert "TOpPattern" in failed.error
    assert failed.after == failed.before == trace.end.graph


def test_pass_objects_and_functions_are_passes(cast):
    @tvm.transform.module_pass(opt_level=0, name="Mine")
    def mine(module, context):
        return relay.transform.FuseOps()(module)

    trace = wb.trace(cast, [relay.transform.EliminateCommonSubexpr(), mine, lambda module: module])
    assert statuses(trace) == ["changed", "changed", "same"]
    assert [step.name for step in trace.steps] == ["<EliminateCommonSubexpr>", "<Mine>", "<lambda>"]


def test_the_name_of_a_function_cannot_be_run_from_text(cast):
    with pytest.raises(PipelineError, match="give the function itself"):
        wb.trace(cast, "<mine>")


class Counting:
    def __init__(self):
        self.runs = 0

    def __call__(self, module):
        self.runs += 1
        return module


def test_toggling_the_last_pass_runs_nothing_before_it_again(cast):
    counting, runner = Counting(), Runner(cast)
    pipeline = wb.Pipeline(["EliminateCommonSubexpr", counting, "FuseOps"])
    first = runner.run(pipeline)
    second = runner.run(pipeline.toggled(2))
    third = runner.run(pipeline)
    assert counting.runs == 1
    assert second.steps[0].state_after is first.steps[0].state_after
    assert third.end is first.end


def test_toggling_an_earlier_pass_runs_what_comes_after_it_again(cast):
    counting, runner = Counting(), Runner(cast)
    pipeline = wb.Pipeline(["EliminateCommonSubexpr", counting])
    runner.run(pipeline)
    runner.run(pipeline.toggled(0))
    assert counting.runs == 2


def test_two_functions_of_one_name_do_not_share_a_result(cast):
    runner = Runner(cast)
    same = runner.run(wb.Pipeline([lambda module: module]))
    fused = runner.run(wb.Pipeline([lambda module: relay.transform.FuseOps()(module)]))
    assert statuses(same) + statuses(fused) == ["same", "changed"]


def test_other_opt_levels_do_not_share_results(cast):
    runner = Runner(cast)
    assert statuses(runner.run(wb.Pipeline(["EliminateCommonSubexpr"]), 2)) == ["skipped"]
    assert statuses(runner.run(wb.Pipeline(["EliminateCommonSubexpr"]), 3)) == ["changed"]


def test_a_run_can_be_given_up_between_passes(cast):
    counting = Counting()
    with pytest.raises(Cancelled):
        Runner(cast).run(wb.Pipeline([counting, counting]), cancelled=lambda: counting.runs == 1)
    assert counting.runs == 1


def test_a_pass_does_not_change_the_workload_it_is_given(cast):
    before = cast.text()
    wb.trace(cast, "FuseOps,SimplifyExpr")
    assert wb.load(cast.module).text() == before
