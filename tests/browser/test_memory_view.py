"""MemoryView in JupyterLab and as a saved page: the keyboard, the pointer, the selection that it shares with a graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.driver import Notebook
from browser.saved import saved_page
from memory_plans import chain
from playwright.sync_api import Browser, expect

import workbench as wb


def test_keys_pointer_and_wheel_share_the_graphs_selection(relax: Notebook) -> None:
    relax.tell("plan = wb.memory(wb.samples.load('parallel_cast'))")
    relax.show("wb.GraphView(plan.graph, height=200)", "graph")
    view = relax.show("wb.MemoryView(plan)")
    relax.tell("from ipywidgets import link; linked = link((view, 'selection'), (graph, 'selection'))")
    words, canvas = view.part("memory-said"), view.part("memory-0")
    canvas.focus()
    view.press("p")
    expect(words).to_contain_text("(the peak)")
    peak = "plan.needed_bytes.index(max(plan.needed_bytes))"
    view.press("Enter")
    view.agree("graph.selection", view.python(f"list(plan.steps[{peak}].nodes)"))
    view.press("ArrowDown")
    expect(words).not_to_contain_text("(the peak)")
    view.press("Enter")
    name = (words.text_content() or "").partition("  ·  ")[0]
    view.agree("graph.selection", view.python(f"next(list(t.nodes) for t in plan.tensors if t.name == {name!r})"))
    view.press("Escape")
    view.agree("view.selection", [])

    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    # the first row, over the first kernel
    place = {"x": 110, "y": box["height"] * 0.32 + 30}
    canvas.hover(position=place)
    tooltip = view.root.locator(".wb-tooltip")
    expect(tooltip).to_contain_text("written by kernel")
    name = tooltip.locator("div").first.text_content() or "?"
    canvas.click(position=place)
    expect(words).to_contain_text(name)
    view.agree("graph.selection", view.python(f"next(list(t.nodes) for t in plan.tensors if t.name == {name!r})"))

    view.tell("view.selection = []")
    view.page.wait_for_timeout(300)
    before = canvas.screenshot()
    view.tell("graph.selection = list(plan.steps[0].nodes)")
    view.until(lambda: canvas.screenshot() != before)

    canvas.hover()
    view.page.mouse.wheel(0, -120)
    view.agree("view.viewport['end'] - view.viewport['start'] < len(plan.steps)", True)
    view.part("fit").click()
    view.agree("view.viewport", {})


def test_tab_of_the_workbench_selects_on_its_graph(relax: Notebook) -> None:
    bench = relax.show("wb.Workbench(wb.samples.load('parallel_cast'), auto_measure=False)")
    assert bench.python("view.wait()")
    bench.part("tab-memory").click()
    canvas = bench.part("memory-0")
    canvas.press("p")
    canvas.press("Enter")
    # the page adds the same nodes of the graph before the passes
    bench.agree("len(view.selection['after']) > 0", True)
    bench.shows("peak", "at the peak")
    bench.part("memory-rival").select_option("input")
    expect(bench.part("memory-1")).to_be_visible()
    bench.agree("len(view.plans)", 2)


@pytest.mark.long
def test_saved_page_needs_no_kernel(browser: Browser, tmp_path: Path) -> None:
    with saved_page(browser) as saved:
        saved.open(wb.MemoryView(chain(6), chain(4), titles=["<b>six</b>", "four"]).save(tmp_path / "m.html"))
        expect(saved.page.locator(".wb-pane-title").first).to_have_text("<b>six</b>")
        saved.part("memory-0").focus()
        for key in ("p", "ArrowDown", "Home", "Enter"):
            saved.page.keyboard.press(key)
        expect(saved.part("memory-said")).to_contain_text("written by kernel 1: fused_add_1")
        saved.page.locator("summary").click()
        saved.page.get_by_role("button", name="t2: intermediate").first.click()
