"""The graph has its room in every widget with panels: in a cell, with remembered sizes, in full screen and in a narrow cell."""

from __future__ import annotations

import pytest
from breadth import breadth
from browser.driver import Notebook, View
from playwright.sync_api import expect

PASSES = "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps"
PATTERN = """'is_op("nn.relu")(wildcard())'"""
WIDGETS = {
    "PassStepper": f"wb.PassStepper(wb.trace(w, '{PASSES}'), step=0, selection={{'before': [], 'after': [3]}}, height=320)",
    "Workbench": f"wb.Workbench(w, '{PASSES}', auto_measure=False, height=320)",
    "FusionInspector": "wb.FusionInspector(BEFORE, selection=[2, 3], height=320)",
    "PatternInspector": f"wb.PatternInspector(BEFORE, {PATTERN}, height=320)",
}
SIZES = [
    "tabs-height",
    "workbench-height",
    "fusion-height",
    "passes-width",
    "inspector-width",
    "why-width",
    "pattern-width",
]
SHARES = """
(root) => {
  const size = (css, side) => root.querySelector(css).getBoundingClientRect()[side];
  const [whole, wide] = [root.getBoundingClientRect().height, size(".wb-main", "width")];
  return [size(".wb-main", "height") / whole, size(".wb-tabs", "height") / whole, size(".wb-centre", "width") / wide];
}
"""
WIDE = """
(root) => [...root.querySelectorAll("*")]
  .filter((e) => e.getBoundingClientRect().right > root.getBoundingClientRect().right + 1)
  .filter((e) => !e.closest(".wb-tab-body, .wb-panes, .wb-ribbon, [hidden]"))
  .map((e) => e.className)
"""


@pytest.mark.parametrize("name", breadth(WIDGETS, "PassStepper", "Workbench"))
def test_graph_has_half_of_a_cell_and_60_percent_of_a_screen(relax: Notebook, name: str) -> None:
    relax.tell("w = wb.samples.load('parallel_cast')")
    relax.page.set_viewport_size({"width": 1280, "height": 800})
    relax.page.evaluate("(names) => names.forEach((name) => localStorage.setItem(`wb-${name}`, '900'))", SIZES)
    view = relax.show(WIDGETS[name])
    assert relax.python("view.wait()")
    open_all(view)
    shares(view, 320)
    shares(view, 520)
    for edge in view.root.get_by_role("separator").all():
        edge.press("Home")
    shares(view, 520)
    shares(view, 320)

    view.root.evaluate("(e) => e.requestFullscreen()")
    expect(view.root).to_have_css("width", "1280px")
    view.rest()
    graph = view.canvas().bounding_box()
    assert graph
    assert graph["height"] >= 0.6 * 800
    view.page.evaluate("() => document.exitFullscreen()")

    view.root.evaluate("(e) => { e.style.width = '480px'; }")
    expect(view.root).to_have_attribute("data-width", "narrow")
    assert view.root.evaluate(WIDE) == []
    graph = view.canvas().bounding_box()
    assert graph
    assert graph["height"] >= 240


def shares(view: View, height: int) -> None:
    """Assert that the graph has half of the widget's height and width, with each tab open."""
    view.tell(f"view.height = {height}")
    expect(view.root.locator(".wb-main")).to_have_css("height", f"{height}px")
    for tab in view.root.get_by_role("tab").all():
        opens = tab.get_attribute("aria-selected") == "false"
        if opens:
            tab.click()
        assert view.python("view.wait()")
        if opens:
            expect(view.root.locator(".wb-tab-body")).to_be_in_viewport(ratio=0.9)
        main, tabs, centre = view.root.evaluate(SHARES)
        assert tabs <= 0.5 <= main, (height, tab.text_content())
        assert centre >= 0.5


def open_all(view: View) -> None:
    """Open every panel, and the history of the selected node if the widget has one."""
    for fold in view.root.locator(".wb-fold[aria-expanded=false]").all():
        fold.click()
    if view.root.locator(".wb-ribbon").count():
        expect(view.part("ribbon")).to_be_visible()
