"""The quickstart as a person runs it: JupyterLab, the Relay kernel, Chromium."""

from __future__ import annotations

from browser.lab import BRIEFLY, Notebook
from playwright.sync_api import expect


def test_the_picture_and_python_agree_on_three_kernels(ran: Notebook) -> None:
    expect(ran.part("kernels-before")).to_have_text("8", timeout=BRIEFLY)
    expect(ran.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)
    assert ran.python("bench.kernels") == 3


def test_unticking_a_pass_gives_five_kernels_on_the_page_and_in_python(quickstart: Notebook) -> None:
    quickstart.part("toggle-EliminateCommonSubexpr").click()
    expect(quickstart.part("kernels-after")).to_have_text("5", timeout=BRIEFLY)
    assert quickstart.python("bench.kernels") == 5
    assert quickstart.python("bench.wait(60)")
    rows = quickstart.python("bench.rows[['config', 'kernels', 'status']].values.tolist()")
    assert ["opt 3 passes -EliminateCommonSubexpr", 5, "ok"] in rows
    expect(quickstart.part("row-1")).to_contain_text("5", timeout=BRIEFLY)


def test_undo_brings_the_three_kernels_back(quickstart: Notebook) -> None:
    quickstart.part("toggle-EliminateCommonSubexpr").click()
    expect(quickstart.part("kernels-after")).to_have_text("5", timeout=BRIEFLY)
    quickstart.part("undo").click()
    expect(quickstart.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)


def test_the_compilers_own_pipeline_obeys_the_same_toggle(quickstart: Notebook) -> None:
    quickstart.part("context-mode").click()
    expect(quickstart.part("toggle-AlterOpLayout")).to_be_visible(timeout=BRIEFLY)
    quickstart.part("toggle-EliminateCommonSubexpr").click()
    expect(quickstart.part("kernels-after")).to_have_text("5", timeout=BRIEFLY)
    assert quickstart.python("list(bench.choice.disabled)") == ["EliminateCommonSubexpr"]


def test_a_click_on_a_node_shows_what_it_is_and_reaches_python(quickstart: Notebook) -> None:
    canvas = quickstart.part("canvas-before")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    # down the middle of the pane: the first node under the pointer is the input or an operator
    for step in range(4, 60):
        quickstart.page.mouse.click(box["x"] + box["width"] * 0.45, box["y"] + step * box["height"] / 60)
        if quickstart.python("bench.selection['before']"):
            break
    chosen = quickstart.python("bench.selection['before'][0]")
    op = quickstart.python(f"w.graph.nodes[{chosen}].op")
    expect(quickstart.part("inspector")).to_contain_text(op, timeout=BRIEFLY)


def test_a_build_that_ends_its_process_leaves_the_notebook_alive(quickstart: Notebook) -> None:
    message = quickstart.python("wb.measure(w, [3], targets=['llvm -mtriple=foo-bar']).message[0]")
    assert "SIGSEGV" in message
    assert "notebook is untouched" in message
    assert quickstart.python("wb.kernels(w).calls") == 3


def test_without_fusion_there_are_six_kernels(quickstart: Notebook) -> None:
    quickstart.part("toggle-FuseOps").click()
    expect(quickstart.part("kernels-after")).to_have_text("6", timeout=BRIEFLY)
