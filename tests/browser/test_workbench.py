"""The Workbench as a person edits passes in it: in JupyterLab with the Relay kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from playwright.sync_api import Browser, expect

PASSES = "SimplifyInference,EliminateCommonSubexpr,FoldConstant,FuseOps"


@pytest.fixture(scope="module")
def notebook(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A page of its own with the Relay kernel."""
    with living_page(browser) as page:
        notebook = lab.open(page, "00_quickstart.ipynb")
        notebook.run_cell(
            "import os, tempfile\nos.environ['XDG_CONFIG_HOME'] = tempfile.mkdtemp()\nimport workbench as wb"
        )
        yield notebook


@pytest.fixture
def bench(notebook: Notebook) -> Notebook:
    views = notebook.page.locator(".wb-workbench").count()
    notebook.run_cell(f"bench = wb.Workbench(wb.samples.load('parallel_cast'), {PASSES!r}, auto_measure=False)\nbench")
    expect(notebook.page.locator(".wb-workbench")).to_have_count(views + 1, timeout=BRIEFLY)
    expect(notebook.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)
    return notebook


NAMES = "[step.name for step in bench.pipeline]"
FIRST = PASSES.split(",")


def test_passes_are_moved_duplicated_and_removed_by_keys_and_the_focus_stays(bench: Notebook) -> None:
    keys = bench.page.keyboard
    bench.part("pass-1").focus()
    keys.press("Alt+ArrowUp")
    bench.agree(NAMES, [FIRST[1], FIRST[0], *FIRST[2:]])
    expect(bench.part("pass-0")).to_be_focused()
    keys.press("+")
    bench.agree(NAMES, [FIRST[1], FIRST[1], FIRST[0], *FIRST[2:]])
    expect(bench.part("pass-1")).to_be_focused()
    keys.press("Delete")
    bench.agree(NAMES, [FIRST[1], FIRST[0], *FIRST[2:]])
    keys.press("u")
    bench.agree(NAMES, [FIRST[1], FIRST[1], FIRST[0], *FIRST[2:]])
    expect(bench.part("pass-1")).to_be_focused()
    keys.press("u")
    keys.press("u")
    bench.agree(NAMES, FIRST)


def test_a_pass_is_dragged_to_another_place(bench: Notebook) -> None:
    bench.part("pass-3").drag_to(bench.part("pass-0"))
    bench.agree(NAMES, [FIRST[3], *FIRST[:3]])


def test_a_pass_is_found_by_what_it_does_and_added_after_the_step_that_is_shown(bench: Notebook) -> None:
    bench.part("pass-0").click()
    expect(bench.part("pass-0")).to_have_attribute("aria-current", "step")
    bench.part("pass-filter").fill("common sub")
    expect(bench.part("catalog")).to_contain_text("after SimplifyInference")
    bench.part("add-EliminateCommonSubexpr").click()
    bench.agree(NAMES, [FIRST[0], FIRST[1], *FIRST[1:]])


def test_a_pass_that_only_python_can_make_says_why_it_cannot_be_added(bench: Notebook) -> None:
    bench.part("pass-filter").fill("MergeComposite")
    expect(bench.part("add-MergeComposite")).to_be_disabled()
    expect(bench.part("catalog")).to_contain_text("patterns")


def test_an_option_is_a_field_and_a_wrong_value_is_answered_beside_it(bench: Notebook) -> None:
    bench.part("pass-3").focus()
    bench.page.keyboard.press("o")
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


def test_a_config_key_is_found_set_and_refused_in_words(bench: Notebook) -> None:
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


def test_a_preset_of_ones_own_is_saved_chosen_and_deleted(bench: Notebook) -> None:
    bench.part("toggle-EliminateCommonSubexpr").click()
    expect(bench.part("kernels-after")).to_have_text("5", timeout=BRIEFLY)
    bench.part("presets").select_option(label="Save or delete …")
    bench.part("preset-save").click()
    expect(bench.part("preset-refused")).to_contain_text("needs a name")
    bench.part("preset-name").fill("apart <b>")
    bench.part("preset-name").press("Enter")
    expect(bench.part("preset-delete-apart <b>")).to_be_visible()
    bench.part("toggle-EliminateCommonSubexpr").click()
    expect(bench.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)
    bench.part("presets").select_option(label="apart <b>")
    expect(bench.part("kernels-after")).to_have_text("5", timeout=BRIEFLY)
    bench.part("preset-delete-apart <b>").click()
    bench.agree("'apart <b>' in bench.presets", False)


def test_what_would_change_the_module_is_listed_shown_and_added(bench: Notebook) -> None:
    bench.part("tab-explore").click()
    bench.part("explore").click()
    expect(bench.part("explore-words")).to_contain_text(re.compile(r"at the start: \d+ of \d+ would"), timeout=120_000)
    expect(bench.part("explore-cancel")).to_be_hidden()
    expect(bench.part("explore-rows")).to_contain_text("CompilationConfig")
    bench.part("preview-EliminateCommonSubexpr").click()
    expect(bench.page.locator(".wb-pane-title").last).to_have_text("after EliminateCommonSubexpr (preview)")
    bench.part("explore-add-EliminateCommonSubexpr").click()
    bench.agree(NAMES, [FIRST[1], *FIRST])


def test_checked_steps_are_marked(bench: Notebook) -> None:
    bench.part("check").click()
    rows = bench.part("pass-list").locator("li")
    expect(rows.nth(1)).to_contain_text("✓", timeout=120_000)
    expect(rows.nth(0)).not_to_contain_text("✓")


UNNAMED = """
() => [...[...document.querySelectorAll('.wb-workbench')].at(-1).querySelectorAll('button, input, select')]
  .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.[0]?.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 200))
"""


def test_every_control_has_a_name_and_a_narrow_cell_is_one_column(bench: Notebook) -> None:
    bench.part("pass-add").click()
    bench.part("pass-3").focus()
    bench.page.keyboard.press("o")
    assert bench.page.evaluate(UNNAMED) == []
    root: Any = bench.page.locator(".wb-workbench").last
    root.evaluate("(e) => { e.style.width = '480px'; }")
    expect(root).to_have_attribute("data-width", "narrow")
    wide = root.evaluate(
        "(e) => [...e.querySelectorAll('*')].filter((c) => c.getBoundingClientRect().right > e.getBoundingClientRect().right + 1"
        " && !c.closest('.wb-tab-body, .wb-panes, [hidden]')).map((c) => c.className)"
    )
    assert wide == []


def test_kernels_are_listed_selected_and_laid_over_the_graph(bench: Notebook) -> None:
    bench.part("tab-kernels").click()
    table = bench.part("kernels-table")
    expect(table.locator("tr")).to_have_count(4, timeout=BRIEFLY)
    bench.part("kernels-overlay").select_option("bytes")
    scale = bench.part("scale")
    expect(scale).to_contain_text(re.compile(r"read and written.*80.*1,072 bytes"))
    table.locator("button").filter(has_text="1").last.click()
    expect(table.locator("tr.wb-current")).to_have_count(1)
    assert bench.python("len(bench.selection['after'])") > 0
    bench.part("kernels-overlay").select_option("")
    expect(scale).to_be_hidden()


def test_stages_are_counted_when_their_tab_is_opened_and_shown_as_a_plot(bench: Notebook) -> None:
    bench.part("tab-waterfall").click()
    expect(bench.part("waterfall-table").locator("tr")).to_have_count(6, timeout=BRIEFLY)
    shown = bench.part("plot-waterfall").locator("img:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_have_attribute("alt", re.compile("8 to 3 kernels"))


def test_what_was_repaired_on_loading_is_told_where_the_program_is_shown(notebook: Notebook) -> None:
    notebook.run_cell(
        "text = wb.samples.load('mlp', layers=1, width=4).text().replace('/*', '*').replace('*/', '*')\n"
        "bench = wb.Workbench(wb.load(text), 'FuseOps', auto_measure=False)\nbench"
    )
    expect(notebook.part("noted")).to_have_text(re.compile(r"^\d+ notes?$"), timeout=BRIEFLY)
    expect(notebook.part("notes")).to_be_hidden()
    notebook.part("noted").click()
    expect(notebook.part("notes")).to_be_visible()
    assert notebook.part("notes").locator("li").all_text_contents() == notebook.python("bench.workload.notes")
    expect(notebook.part("notes")).to_contain_text("slashes")


STEPS = """def @first(%b: Tensor[(4, 8), float32]) { %0 = exp(%b); nn.softmax(%0) }
def @second(%c: Tensor[(4, 8), float32]) { abs(%c) }
"""


def test_function_of_a_module_is_chosen_in_the_header(notebook: Notebook) -> None:
    views = notebook.page.locator(".wb-workbench").count()
    notebook.run_cell(f"bench = wb.Workbench(wb.load({STEPS!r}), '', auto_measure=False)\nbench")
    expect(notebook.page.locator(".wb-workbench")).to_have_count(views + 1, timeout=BRIEFLY)
    expect(notebook.part("entries")).to_have_value("first", timeout=BRIEFLY)
    expect(notebook.part("kernels-after")).to_have_text("2", timeout=BRIEFLY)
    notebook.part("entries").select_option("second")
    expect(notebook.part("kernels-after")).to_have_text("1", timeout=BRIEFLY)
    notebook.agree("bench.workload.entry", "second")


def test_module_with_one_function_offers_no_choice(bench: Notebook) -> None:
    expect(bench.part("entries")).to_be_hidden()
