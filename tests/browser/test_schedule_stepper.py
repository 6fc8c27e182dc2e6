"""ScheduleStepper in JupyterLab: a step is clicked, its decision is changed, and TVM's new module and code are shown."""

from __future__ import annotations

from browser.driver import Notebook
from playwright.sync_api import expect

VECTORIZED = """
def vectorized(sch):
    _, j, k = sch.get_loops(sch.get_sblock("matmul"))
    outer, inner = sch.split(j, [None, 8])
    sch.reorder(outer, k, inner)
    sch.vectorize(inner)
"""


def test_a_decision_is_changed_and_the_new_module_is_shown(relax: Notebook) -> None:
    relax.run_cell(VECTORIZED)
    view = relax.show("wb.ScheduleStepper(wb.samples.load('mlp'), 'fused_matmul_add_relu', 'llvm', vectorized)")
    view.shows("schedule-facts", "vector width: 8")
    split = view.python("next(place for place, step in enumerate(view.steps) if step.decision)")
    view.part(f"step-{split}").click()
    expect(view.part(f"step-{split}")).to_have_attribute("aria-current", "step")
    view.shows("text-diff", "T.grid(T.int64(1), T.int64(4), T.int64(8), T.int64(32))")
    view.part("schedule-decision").select_option("?, 16")
    view.shows("text-diff", "T.grid(T.int64(1), T.int64(2), T.int64(16), T.int64(32))")
    view.agree(f"view.steps.edits == {{{split}: (None, 16)}}", True)
    view.part(f"step-{view.python('len(view.steps) - 1')}").click()
    view.shows("schedule-facts", "vector width: 16")
    view.part("act-schedule-undo").click()
    view.shows("schedule-facts", "vector width: 8")


def test_a_block_marks_its_lines_of_cuda_code_and_a_line_its_block(relax: Notebook) -> None:
    view = relax.show("wb.ScheduleStepper(wb.samples.load('mlp'), 'fused_matmul_add_relu', 'cuda -arch=sm_80')")
    view.part("act-schedule-code").click()
    source, tree = view.part("schedule-source"), view.part("schedule-tree")
    tree.get_by_role("button", name="compute", exact=True).click()
    expect(source.locator(".wb-chosen").first).to_be_in_viewport()
    marked = source.locator("li").evaluate_all(
        "lines => lines.flatMap((line, i) => line.classList.contains('wb-chosen') ? [i] : [])"
    )
    assert marked == view.python("view.steps.lines('compute')")
    source.get_by_role("button", name="for (int ax1_fused_0 = 0").click()
    expect(tree.locator(".wb-chosen")).to_contain_text("for ax1_fused_0 in range(2)")


TILED = """
def tiled(sch):
    i, j, k = sch.get_loops(sch.get_sblock("matmul"))
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(j, [None, 32])[1], "threadIdx.x")
    copy = sch.cache_read("matmul", 0, "shared")
    sch.compute_at(copy, k)
    sch.bind(sch.fuse(*sch.get_loops(copy)[-2:]), "threadIdx.x")
"""


def test_a_row_of_the_loops_that_is_too_long_is_wrapped(relax: Notebook) -> None:
    relax.page.set_viewport_size({"width": 1920, "height": 1080})
    relax.run_cell(TILED)
    view = relax.show("wb.ScheduleStepper(wb.samples.load('mlp'), 'fused_matmul_add_relu', 'cuda -arch=sm_80', tiled)")
    rows = view.part("schedule-tree").locator("li")
    expect(rows.filter(has_text="threadIdx.x").first).to_be_visible()
    assert not rows.evaluate_all("rows => rows.filter((row) => row.scrollWidth > row.clientWidth).length")
