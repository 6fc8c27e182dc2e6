"""A Workbench on a module of several functions."""

import pytest
from dialect_facts import FACTS
from workbench_widget.driving import says

import workbench as wb


@pytest.fixture
def steps(dialect):
    made = wb.Workbench(wb.load(FACTS[dialect].steps), "", auto_measure=False)
    assert made.wait()
    yield made
    made.cancel()
    made.close()


def test_first_function_is_shown_and_others_are_offered(steps):
    assert (steps.state["entries"], steps.state["entry"]) == (["first", "second"], "first")
    assert steps.state["counts"]["before_kernels"] == 2
    assert steps.state["build"]["kernels"] == wb.count(steps.workload).calls


def test_chosen_function_is_drawn_and_measured(steps):
    steps.measure()
    assert steps.wait()
    says(steps, type="entry", name="second")
    assert (steps.state["entry"], steps.state["rows"], steps.state["error"]) == ("second", [], None)
    assert steps.state["counts"]["before_kernels"] == 1
    assert steps.state["build"]["kernels"] == 1
    steps.measure()
    assert steps.wait()
    assert [(row["status"], row["kernels"]) for row in steps.state["rows"]] == [("ok", 1)]


def test_unknown_function_changes_nothing(steps):
    says(steps, type="entry", name="third")
    assert "known: first, second" in steps.state["error"]["text"]
    assert steps.state["entry"] == "first"


def test_module_with_main_alone_offers_nothing(bench):
    assert bench.state["entries"] == ["main"]
