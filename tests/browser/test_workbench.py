"""The Workbench in JupyterLab with the Relay kernel: passes edited, tried, counted and laid out."""

from __future__ import annotations

import re

import pytest
from browser.driver import Notebook, View
from playwright.sync_api import expect

PASSES = "SimplifyInference,EliminateCommonSubexpr,FoldConstant,FuseOps"
FIRST = PASSES.split(",")
NAMES = "[step.name for step in bench.pipeline]"


@pytest.fixture
def bench(relay: Notebook) -> View:
    return shown(relay, "wb.samples.load('parallel_cast')", PASSES)


def shown(notebook: Notebook, workload: str, passes: str) -> View:
    view = notebook.show(f"wb.Workbench({workload}, {passes!r}, auto_measure=False)", "bench")
    expect(view.part("kernels-after")).not_to_be_empty()
    return view


def test_passes_are_edited(bench: View) -> None:
    expect(bench.part("kernels-after")).to_have_text("3")
    bench.part("pass-1").focus()
    bench.press("Alt+ArrowUp")
    bench.agree(NAMES, [FIRST[1], FIRST[0], *FIRST[2:]])
    expect(bench.part("pass-0")).to_be_focused()
    bench.press("+")
    bench.agree(NAMES, [FIRST[1], FIRST[1], FIRST[0], *FIRST[2:]])
    expect(bench.part("pass-1")).to_be_focused()
    bench.press("Delete")
    bench.agree(NAMES, [FIRST[1], FIRST[0], *FIRST[2:]])
    bench.press("u")
    bench.agree(NAMES, [FIRST[1], FIRST[1], FIRST[0], *FIRST[2:]])
    expect(bench.part("pass-1")).to_be_focused()
    bench.press("u", "u")
    bench.agree(NAMES, FIRST)

    bench.part("pass-3").drag_to(bench.part("pass-0"))
    bench.agree(NAMES, [FIRST[3], *FIRST[:3]])
    bench.part("undo").click()
    bench.agree(NAMES, FIRST)

    bench.part("pass-0").click()
    expect(bench.part("pass-0")).to_have_attribute("aria-current", "step")
    bench.part("pass-filter").fill("common sub")
    expect(bench.part("catalog")).to_contain_text("after SimplifyInference")
    bench.part("add-EliminateCommonSubexpr").click()
    bench.agree(NAMES, [FIRST[0], FIRST[1], *FIRST[1:]])


def test_option_is_refused_and_set(bench: View) -> None:
    expect(bench.part("kernels-after")).to_have_text("3")
    bench.part("pass-3").focus()
    bench.press("o")
    field = bench.part("option-3-fuse_opt_level")
    expect(field).to_be_focused()
    expect(bench.part("details-3")).to_contain_text("Needed: lowering takes kernels")
    field.fill("0.5")
    field.press("Enter")
    expect(bench.part("option-3-fuse_opt_level-refused")).to_have_text("0.5 is not a whole number")
    expect(bench.part("kernels-after")).to_have_text("3")
    field.fill("0")
    field.press("Enter")
    bench.agree("dict(bench.pipeline[3].options)", {"fuse_opt_level": 0})
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(bench.part("kernels-after")).not_to_have_text("3")


def test_passes_are_tried_and_outputs_are_checked(bench: View) -> None:
    bench.part("tab-explore").click()
    bench.part("act-explore-try").click()
    expect(bench.part("explore-words")).to_contain_text(re.compile(r"at the start: \d+ of \d+ would"), timeout=120_000)
    expect(bench.part("busy")).to_be_hidden()
    expect(bench.part("explore-rows")).to_contain_text("CompilationConfig")
    bench.root.evaluate("(e) => { e.style.width = '480px'; }")
    expect(bench.root).to_have_attribute("data-width", "narrow")
    assert bench.part("explore-rows").evaluate("(table) => table.scrollWidth <= table.parentElement.clientWidth")
    bench.root.evaluate("(e) => { e.style.width = ''; }")
    bench.part("explore-preview-EliminateCommonSubexpr").click()
    expect(bench.root.locator(".wb-pane-title").last).to_have_text("after EliminateCommonSubexpr (preview)")
    bench.part("explore-add-EliminateCommonSubexpr").click()
    bench.agree(NAMES, [FIRST[1], *FIRST])

    bench.part("check").click()
    rows = bench.part("pass-list").locator("li")
    expect(rows.nth(0)).to_contain_text("✓", timeout=120_000)
    expect(rows.nth(1)).not_to_contain_text("✓")


HIT = "([x, y]) => document.elementFromPoint(x, y).closest('[data-testid]').dataset.testid"
CUT = (
    "(list) => [...list.querySelectorAll('.wb-pass-name')].filter((name) => name.scrollWidth > name.clientWidth).length"
)
WIDE = """
(root) => [...root.querySelectorAll("*")]
  .filter((e) => e.getBoundingClientRect().right > root.getBoundingClientRect().right + 1)
  .filter((e) => !e.closest(".wb-tab-body, .wb-panes, [hidden]"))
  .map((e) => e.className)
"""


def test_it_fits_narrow_cells_and_a_full_screen(bench: View) -> None:
    bench.root.evaluate("(e) => { e.style.width = '820px'; }")
    expect(bench.root).to_have_attribute("data-width", "medium")
    assert bench.part("pass-list").evaluate(CUT) == 0
    bench.part("pass-1").hover()
    box = bench.part("pass-1").bounding_box()
    assert box
    assert bench.page.evaluate(HIT, [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]) == "pass-1"
    bench.part("tools-1").click()
    bench.part("up-1").click()
    bench.agree(NAMES, [FIRST[1], FIRST[0], *FIRST[2:]])

    bench.part("pass-add").click()
    bench.part("pass-3").focus()
    bench.press("o")
    bench.root.evaluate("(e) => { e.style.width = '480px'; }")
    expect(bench.root).to_have_attribute("data-width", "narrow")
    assert bench.root.evaluate(WIDE) == []

    bench.root.evaluate("(e) => { e.style.width = ''; }")
    bench.page.set_viewport_size({"width": 1280, "height": 800})
    bench.part("tab-text").click()
    bench.root.evaluate("(e) => e.requestFullscreen()")
    expect(bench.root).to_have_css("width", "1280px")
    graph = bench.canvas().bounding_box()
    assert graph
    assert graph["height"] >= 0.6 * 800
    bench.page.evaluate("() => document.exitFullscreen()")


def test_nodes_kernels_and_text_are_read(bench: View) -> None:
    node = bench.python("next(node.id for node in bench.workload.graph.nodes if node.op == 'nn.dense')")
    bench.click(node)
    bench.agree("bench.selection['before']", [node])
    bench.shows("inspector", "nn.dense")

    bench.part("tab-kernels").click()
    table = bench.part("kernels-table")
    expect(table.locator("tr")).to_have_count(4)
    bench.part("kernels-overlay").select_option("bytes")
    scale = bench.part("scale")
    expect(scale).to_contain_text(re.compile(r"read and written.*80.*1,072 bytes"))
    table.locator("button").filter(has_text="1").last.click()
    expect(table.locator("tr.wb-current")).to_have_count(1)
    assert bench.python("len(bench.selection['after'])") > 0
    bench.part("kernels-overlay").select_option("")
    expect(scale).to_be_hidden()

    bench.canvas(1).focus()
    bench.press("d")
    bench.shows("text-diff", "Primitive=1")


STEPS = """def @first(%b: Tensor[(4, 8), float32]) { %0 = exp(%b); nn.softmax(%0) }
def @second(%c: Tensor[(4, 8), float32]) { abs(%c) }
"""


@pytest.mark.long
def test_notes_and_functions_of_a_module(relay: Notebook) -> None:
    relay.tell("text = wb.samples.load('mlp', layers=1, width=4).text().replace('/*', '*').replace('*/', '*')")
    view = shown(relay, "wb.load(text)", "FuseOps")
    expect(view.part("noted")).to_have_text(re.compile(r"^\d+ notes?$"))
    expect(view.part("notes")).to_be_hidden()
    view.part("noted").click()
    expect(view.part("notes")).to_be_visible()
    assert view.part("notes").locator("li").all_text_contents() == view.python("bench.workload.notes")
    expect(view.part("notes")).to_contain_text("slashes")

    view = shown(relay, f"wb.load({STEPS!r})", "")
    expect(view.part("entries")).to_have_value("first")
    expect(view.part("kernels-after")).to_have_text("2")
    view.part("entries").select_option("second")
    expect(view.part("kernels-after")).to_have_text("1")
    view.agree("bench.workload.entry", "second")


@pytest.mark.long
def test_settings_presets_and_stages(bench: View) -> None:
    expect(bench.part("kernels-after")).to_have_text("3")
    bench.part("tab-waterfall").click()
    expect(bench.part("waterfall-table").locator("tr")).to_have_count(6)
    plot = bench.part("plot-waterfall").locator("img:visible")
    expect(plot).to_have_count(1)
    expect(plot).to_have_attribute("alt", re.compile("8 to 3 kernels"))

    bench.part("toggle-EliminateCommonSubexpr").click()
    expect(bench.part("kernels-after")).to_have_text("5")
    bench.part("presets").select_option(label="Save or delete …")
    bench.part("act-preset-save").click()
    expect(bench.part("preset-refused")).to_contain_text("needs a name")
    bench.part("preset-save-name").fill("apart <b>")
    bench.part("preset-save-name").press("Enter")
    expect(bench.part("act-preset-delete")).to_contain_text("apart <b>")
    bench.part("toggle-EliminateCommonSubexpr").click()
    expect(bench.part("kernels-after")).to_have_text("3")
    bench.part("presets").select_option(label="apart <b>")
    expect(bench.part("kernels-after")).to_have_text("5")
    bench.part("act-preset-delete").click()
    bench.agree("'apart <b>' in bench.presets", False)

    bench.part("context-mode").click()
    bench.agree("bench.choice.mode", "context")
    bench.part("pass-filter").fill("fuseops.max_depth")
    field = bench.part("setting-relay.FuseOps.max_depth")
    field.fill("1.5")
    field.press("Enter")
    expect(bench.part("setting-relay.FuseOps.max_depth-refused")).to_contain_text("not a whole number")
    field.fill("1")
    field.press("Enter")
    bench.agree("dict(bench.choice.options)", {"relay.FuseOps.max_depth": 1})
    bench.part("tab-code").click()
    expect(bench.part("code")).to_contain_text("config={'relay.FuseOps.max_depth': 1}")
