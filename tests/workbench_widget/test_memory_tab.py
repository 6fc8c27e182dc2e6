"""The Memory tab: the plan of the choice, beside another one; its nodes are those of the graph on the page."""

from __future__ import annotations

import struct

import pytest
from page_driver import Page
from widgets.conforming import misfits_of
from workbench_widget.driving import MERGE

import workbench as wb

pytestmark = pytest.mark.one_dialect


def numbers(column: bytes) -> list[int]:
    return [each for (each,) in struct.iter_unpack("<I", column)]


def block(bench, name):
    return next(found for found in bench.memory_tab if found.get("name") == name)


@pytest.fixture
def opened(bench):
    Page(bench).open_tab("memory")
    return bench


def test_closed_tab_plans_nothing(bench):
    assert (bench.plans, bench.memory_tab, bench.state.get("peak", "")) == ([], [], "")


def test_tab_has_the_plan_that_python_returns(opened):
    plan = wb.memory(opened.workload, opened.target, opened.session.config)
    (payload,) = opened.plans
    assert len(numbers(payload["step"]["name_s"])) == len(plan.steps)
    assert f"{plan.peak_bytes:,} bytes held at the peak" in block(opened, "memory-summary")["text"]
    assert opened.state["peak"] == f"{plan.peak_bytes:,} bytes at the peak"
    assert misfits_of(opened) == []


def test_nodes_are_those_of_the_graph_on_the_page(opened):
    (payload,) = opened.plans
    graph = opened.trace.end.graph
    nodes = numbers(payload["step"]["nodes"])
    assert nodes
    assert {graph.nodes[node].kind for node in nodes} <= {"op", "call"}
    kernels = {graph.kernel_of(node) for node in nodes}
    assert len(kernels) == opened.kernels, "the kernels of the plan are those that are drawn"


def test_another_choice_is_planned_and_can_be_compared(opened, page):
    page.send("set", name="memory-rival", value="input")
    both = opened.plans
    assert [plan["title"] for plan in both] == ["input", opened.session.config.label]
    counts = [len(numbers(plan["step"]["name_s"])) for plan in both]
    assert counts[0] > counts[1]
    assert block(opened, "memory-summary")["text"].startswith("Held at the peak: ")
    first = opened.session.config.label
    opened.toggle(MERGE)
    assert opened.wait()
    assert opened.plans[1] != both[1]
    page.send("set", name="memory-rival", value=first)
    assert [plan["title"] for plan in opened.plans] == [first, opened.session.config.label]
    assert opened.plans[0]["step"]["nodes"] == b"", "its graph is not on the page"
    page.send("set", name="memory-rival", value="")
    assert len(opened.plans) == 1


def test_live_bytes_are_on_the_graph(opened, page):
    page.send("set", name="memory-overlay", value="live")
    after = opened.overlay_state["after"]
    values = [*after["values"].values(), *(value for value, _ in after.get("groups", {}).values())]
    assert len(values) == opened.kernels
    plan = wb.memory(opened.workload, opened.target, opened.session.config)
    assert max(values) == plan.lower_bound_bytes
    page.send("set", name="memory-overlay", value="")
    assert opened.overlay_state == {}


def test_unknown_values_change_nothing(opened, page):
    before = (opened.plans, opened.memory_tab, opened.overlay_state)
    for name, value in (("memory-rival", "x"), ("memory-overlay", "us"), ("memory-other", "1")):
        page.send("set", name=name, value=value)
        assert (opened.plans, opened.memory_tab, opened.overlay_state) == before, name


def test_fit_shows_all_kernels(opened, page):
    opened.memory_viewport = {"start": 1, "end": 2, "top": 0}
    page.click_action("memory-fit")
    assert opened.memory_viewport == {}


def test_peak_of_a_choice_that_is_not_planned_is_not_shown(opened, page):
    planned = opened.state["peak"]
    page.open_tab("")
    opened.toggle(MERGE)
    assert opened.wait()
    assert opened.state["peak"] == ""
    opened.toggle(MERGE)
    assert opened.wait()
    assert opened.state["peak"] == planned
