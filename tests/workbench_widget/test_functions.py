"""A Workbench on a module of several functions."""

import threading
import time

import pytest
from dialect_facts import FACTS
from page_driver import Page
from workbench_widget.driving import rows

import workbench as wb
from workbench.pipeline.config import Config

pytestmark = pytest.mark.one_dialect


@pytest.fixture
def steps(dialect):
    made = wb.Workbench(wb.load(FACTS[dialect].steps), "", auto_measure=False)
    assert made.wait()
    yield made
    made.cancel()
    made.close()


@pytest.fixture
def page(steps):
    return Page(steps)


def test_first_function_is_shown_and_others_are_offered(steps):
    assert (steps.state["entries"], steps.state["entry"]) == (["first", "second"], "first")
    assert steps.state["counts"]["before_kernels"] == 2
    assert steps.state["build"]["kernels"] == wb.count(steps.workload).calls


def test_chosen_function_is_drawn_and_measured(steps, page):
    steps.measure()
    assert steps.wait()
    page.send("entry", name="second")
    assert (steps.state["entry"], rows(steps), steps.state["error"]) == ("second", [], None)
    assert steps.state["counts"]["before_kernels"] == 1
    assert steps.state["build"]["kernels"] == 1
    steps.measure()
    assert steps.wait()
    assert [(row.status, row.kernels) for row in rows(steps)] == [("ok", 1)]


def test_tabs_of_the_other_function_are_made_anew(steps, page):
    page.open_tab("kernels")
    page.send("set", name="kernels-overlay", value="bytes")
    assert steps.overlay_state
    first = table_rows(steps.kernels_tab)
    page.open_tab("ablation")
    page.open_tab("kernels")
    page.send("entry", name="second")
    assert steps.overlay_state == {}
    assert steps.ablation_tab == []
    assert table_rows(steps.kernels_tab) != first, "the open tab is filled for the new function"
    assert len(table_rows(steps.kernels_tab)) == 2, "the heads and one kernel"


def test_results_of_the_function_before_are_not_shown(steps):
    old, old_panels = steps.session, steps.panels
    steps.use_entry("second")
    assert steps.wait()
    traits = ("state", "explore_tab", "measure_tab", "kernels_tab")
    before = [getattr(steps, name) for name in traits]
    old.measurements.keep_race(Config(name="a"), Config(name="b"), None)
    old.page.fail("late", "late")
    for panel in old_panels.values():
        panel.show()
    assert [getattr(steps, name) for name in traits] == before


def test_passes_of_two_functions_do_not_run_at_the_same_time(steps):
    """TVM's passes may build and run kernels, which two threads of a process must not do together."""
    begun, running, most = threading.Event(), [], []

    def slow(module):
        running.append(module)
        most.append(len(running))
        begun.set()
        time.sleep(0.3)
        running.pop()
        return module

    steps.pipeline = wb.Pipeline([slow])
    assert begun.wait(10)
    steps.use_entry("second")
    assert steps.wait()
    assert max(most) == 1
    assert len(most) == 2


def table_rows(blocks):
    return [row for block in blocks for row in block.get("rows", ())]


def test_unknown_function_changes_nothing(steps, page):
    page.send("entry", name="third")
    assert "known: first, second" in steps.state["error"]["text"]
    assert steps.state["entry"] == "first"
