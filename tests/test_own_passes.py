"""Passes of a person's own, the bad ones above all: each is a step with its diagnosis, and the notebook goes on."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

import workbench as wb
from workbench.errors import Cancelled, PipelineError
from workbench.pipeline.run import Runner

CHANGES = "EliminateCommonSubexpr"


@pytest.fixture
def w(dialect: str) -> wb.Workload:
    return wb.samples.load("parallel_cast", dialect=dialect)


def same(module: Any) -> Any:
    return module


def merged(module: Any) -> Any:
    from workbench.dialects.registry import dialect, installed

    here = installed()
    assert here
    return dialect(here).passes.make("EliminateCommonSubexpr", {})(module)


def waits(module: Any) -> Any:
    time.sleep(0.3)
    return module


def replaced(module: Any) -> Any:
    """Changes the module that it is given, as many people's passes do."""
    module["main"] = wb.samples.load("chain", length=1).module["main"]
    return module


def raises(module: Any) -> Any:
    raise ValueError("first\n\nthe reason")


def loops(module: Any) -> Any:
    while True:
        time.sleep(0.01)


def crashes(module: Any) -> Any:
    os.kill(os.getpid(), signal.SIGSEGV)


def gives_none(module: Any) -> Any:
    return None


def gives_a_function(module: Any) -> Any:
    return module["main"]


def exits(module: Any) -> Any:
    raise SystemExit(3)


class Silent(BaseException):
    def __str__(self) -> str:
        raise OSError


def raises_anything(module: Any) -> Any:
    raise Silent


def interrupts(module: Any) -> Any:
    raise KeyboardInterrupt


def recurses(module: Any) -> Any:
    return recurses(module)


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (raises, "ValueError: first the reason"),
        (gives_none, "returned a NoneType"),
        (gives_a_function, "returned a Function; a pass returns an IRModule"),
        (recurses, "RecursionError"),
        (exits, "SystemExit: 3"),
        (raises_anything, "Silent"),
    ],
)
def test_a_bad_pass_is_a_step_that_says_what_was_wrong(w: wb.Workload, bad: Any, words: str, isolated: bool) -> None:
    trace = wb.trace(w, [bad, CHANGES], isolated=isolated)
    assert [step.status for step in trace.steps] == ["error", "changed"]
    assert trace.failed is trace.steps[0]
    assert words in trace.failed.error
    assert "\n" not in trace.failed.error
    assert trace.failed.diff.empty
    assert trace.steps[1].before == w.graph


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Relay's TVM drops a SystemExit in C
@pytest.mark.parametrize("bad", [exits, raises])
def test_a_bad_pass_object_is_a_step_too(w: wb.Workload, bad: Any) -> None:
    import tvm

    made = tvm.transform.module_pass(lambda module, _context: bad(module), opt_level=0, name="bad")
    trace = wb.trace(w, [made, CHANGES])
    assert [step.status for step in trace.steps] == ["error", "changed"]


@pytest.mark.one_dialect
def test_an_interrupt_of_the_user_ends_the_trace(w: wb.Workload) -> None:
    with pytest.raises(KeyboardInterrupt):
        wb.trace(w, [interrupts])


@pytest.mark.one_dialect
@pytest.mark.parametrize(("bad", "words"), [(loops, "no result within 1 s"), (crashes, "SIGSEGV")])
def test_a_pass_that_loops_or_ends_its_process_is_a_step_when_isolated(w: wb.Workload, bad: Any, words: str) -> None:
    # the child starts within the time of its first pass
    wb.trace(w, [same], isolated=True)
    trace = wb.trace(w, [bad, CHANGES], timeout=1 if bad is loops else 30, isolated=True)
    assert trace.steps[0].status == "error"
    assert words in trace.steps[0].error
    if bad is crashes:
        assert trace.steps[1].changed


def test_a_pass_may_change_the_module_that_it_is_given(w: wb.Workload) -> None:
    before = w.text()
    trace = wb.trace(w, [replaced])
    assert trace.steps[0].changed
    assert len(trace.end.graph.ops) == 1
    assert trace.steps[0].text_before == before == w.text()


@pytest.mark.parametrize("passes", [["EliminateCommonSubexpr"], [merged], [same, merged, same]])
def test_isolated_passes_make_the_same_modules(w: wb.Workload, passes: list[Any]) -> None:
    from workbench.dialects.registry import dialect as door

    ours, theirs = wb.trace(w, passes, isolated=True), wb.trace(w, passes)
    assert [step.status for step in ours.steps] == [step.status for step in theirs.steps]
    assert door(w.dialect).frontend.same(ours.result, theirs.result)
    assert ours.end.graph == theirs.end.graph


@pytest.mark.one_dialect
@pytest.mark.parametrize("isolated", [False, True])
def test_the_time_that_a_pass_waits_is_not_that_of_a_processor(w: wb.Workload, isolated: bool) -> None:
    (step,) = wb.trace(w, [waits], isolated=isolated).steps
    assert step.seconds > 0.3
    assert 0 < step.busy < 0.1


@pytest.mark.one_dialect
def test_a_function_of_the_notebook_takes_along_what_it_uses(w: wb.Workload) -> None:
    holder = [merged]
    trace = wb.trace(w, [lambda module: holder[0](module)], isolated=True)
    assert trace.steps[0].changed


@pytest.mark.one_dialect
def test_a_pass_object_cannot_be_isolated_and_the_error_says_what_can(w: wb.Workload) -> None:
    from workbench.dialects.registry import dialect as door

    with pytest.raises(PipelineError, match="give its name"):
        wb.trace(w, [door(w.dialect).passes.make("EliminateCommonSubexpr", {})], isolated=True)


@pytest.mark.one_dialect
def test_an_isolated_pass_is_given_up_while_it_runs(w: wb.Workload) -> None:
    started = time.monotonic()
    with pytest.raises(Cancelled):
        Runner(w, 30.0).run(wb.Pipeline([loops]), cancelled=lambda: time.monotonic() > started + 0.5)


@pytest.mark.one_dialect
def test_an_edited_function_is_another_pass(w: wb.Workload) -> None:
    runner = Runner(w)

    def mine(module: Any) -> Any:
        return module

    first = runner.run(wb.Pipeline([mine]))

    def mine(module: Any) -> Any:
        return merged(module)

    assert [runner.run(wb.Pipeline([mine])).steps[0].status, first.steps[0].status] == ["changed", "same"]
