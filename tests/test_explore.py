"""What would change this module: tried in a child process, in both dialects."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from dialect_facts import Facts
from small_samples import SMALL

import workbench as wb
from workbench.errors import PipelineError, UnknownName
from workbench.pipeline.config import KERNEL_PASSES
from workbench.worker.parent import worker

# it looks for nodes of another module
FAILS = "CutFusion{edges=[(0, 1, 0)],ops=['none', 'none']}"


def normed(dialect: str) -> wb.Workload:
    return wb.samples.load("conv_bias_batch_norm", dialect=dialect, **SMALL["conv_bias_batch_norm"])


def test_every_pass_of_the_catalogue_is_a_row(dialect: str) -> None:
    found = wb.explore(normed(dialect))
    assert not found.done
    assert all(row.status == "untried" and row.message for row in found.rows)
    found.run()
    assert found.done
    assert [row.name.partition("{")[0] for row in sorted(found.rows, key=lambda row: row.name.lower())] == [
        info.name for info in wb.passes(dialect) if not info.name.startswith(KERNEL_PASSES)
    ]
    assert all(row.message for row in found.rows if row.status in ("error", "untried"))


def test_an_effect_is_what_the_pass_does_when_it_is_run(dialect: str, facts: Facts) -> None:
    w = normed(dialect)
    (effect,) = wb.explore(w, [facts.batch_norm_apart])
    step = wb.trace(w, facts.batch_norm_apart).steps[0]
    assert effect.changed
    assert effect.diff == step.diff.counts
    assert effect.delta("nodes") == len(step.after.nodes) - len(step.before.nodes) != 0
    assert effect.delta("ops") == len(step.after.ops) - len(step.before.ops)


@pytest.mark.one_dialect
def test_a_pass_that_changes_nothing_has_no_delta(dialect: str, facts: Facts) -> None:
    (effect,) = wb.explore(wb.samples.load("mlp", dialect=dialect), [facts.batch_norm_apart])
    assert effect.status == "same"
    assert effect.delta("kernels") == effect.delta("nodes") == 0


def test_kernels_are_those_of_the_fused_module(dialect: str, facts: Facts) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    (effect,) = wb.explore(w, ["EliminateCommonSubexpr"])
    assert (effect.before["kernels"], effect.after["kernels"]) == (5, facts.kernels_of_merged_casts)


@pytest.mark.one_dialect
def test_it_can_be_asked_in_the_middle_of_a_pipeline(dialect: str) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    (effect,) = wb.explore(w, ["EliminateCommonSubexpr"], after="EliminateCommonSubexpr")
    assert effect.status == "same"


@pytest.mark.one_dialect
def test_it_runs_only_as_far_as_it_is_asked_and_goes_on_from_there(dialect: str) -> None:
    found = wb.explore(wb.samples.load("mlp", dialect=dialect), ["FuseOps", "FoldConstant", "DeadCodeElimination"])
    assert found.rows == []
    first = next(iter(found))
    assert found.rows == [first]
    told: list[int] = []
    found.run(lambda so_far: told.append(len(so_far.rows)))
    assert told == [2, 3]
    assert list(found) == found.rows
    assert len(found.table) == 3


@pytest.mark.one_dialect
def test_it_can_be_given_up_and_taken_up_again(dialect: str) -> None:
    found = wb.explore(wb.samples.load("mlp", dialect=dialect), ["FuseOps", "FoldConstant"])
    found.run(lambda so_far: so_far.cancel())
    assert len(found.rows) == 1
    assert len(found.run().rows) == 2


@pytest.mark.one_dialect
def test_given_up_from_another_thread_it_stops_within_the_pass(dialect: str, facts: Facts) -> None:
    found = wb.explore(wb.samples.load("mlp", dialect=dialect), [facts.batch_norm_apart], timeout=60)
    with worker("trials")._free:  # its child takes no job until the timer has gone off
        threading.Timer(0.05, found.cancel).start()
        found.run()
    assert found.rows == []
    assert [row.status for row in found] == ["same"]


@pytest.mark.one_dialect
def test_a_pass_that_takes_too_long_is_a_row(dialect: str) -> None:
    worker("trials").stop()
    (effect,) = wb.explore(wb.samples.load("mlp", dialect=dialect), ["FuseOps"], timeout=0.001)
    assert effect.status == "error"
    assert "longer timeout" in effect.message


@pytest.mark.one_dialect
def test_names_and_options_are_checked_before_anything_runs(dialect: str) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    with pytest.raises(UnknownName, match="did you mean FuseOps"):
        wb.explore(w, ["FuseOp"])
    with pytest.raises(PipelineError, match="FuseOps cannot be made"):
        wb.explore(w, ["FuseOps{nothing=1}"])


@pytest.mark.one_dialect
def test_a_prefix_that_fails_is_said_once_for_each_pass(dialect: str) -> None:
    (effect,) = wb.explore(wb.samples.load("mlp", dialect=dialect), ["FuseOps"], after=FAILS)
    assert effect.status == "error"
    assert "before any pass was tried" in effect.message


@pytest.mark.one_dialect
def test_it_does_not_use_the_process_that_holds_traces(dialect: str) -> None:
    assert worker("trials") is not worker()


@pytest.mark.one_dialect
def test_last_pass_that_another_thread_takes_is_no_error(dialect: str) -> None:
    found = wb.explore(normed(dialect), ["FoldConstant"])

    class Raced(list[Any]):
        """Another thread takes the last one after each look that is not under the lock."""

        def __bool__(self) -> bool:
            held = len(self) > 0
            if not found._turn.locked():
                self.clear()
            return held

    found._waiting = Raced(found._waiting)
    assert [row.status for row in found] in ([], ["same"], ["changed"])
