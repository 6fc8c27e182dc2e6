"""What is said of configurations, as a reader meets it: the build's count, a race, a row that failed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from playwright.sync_api import Browser, expect

CUT = """
(id) => {
  const cell = [...document.querySelectorAll(`[data-testid='${id}']`)].at(-1);
  const parts = [cell, ...cell.querySelectorAll('*')];
  return parts.some((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow === 'hidden');
}
"""


@pytest.fixture(scope="module")
def notebook(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A laptop's page with the Relay kernel."""
    with living_page(browser, 1280, 800) as page:
        notebook = lab.open(page, "00_quickstart.ipynb")
        notebook.run_cell(
            "import os, tempfile\nos.environ['XDG_CONFIG_HOME'] = tempfile.mkdtemp()\nimport workbench as wb"
        )
        yield notebook


def opened(notebook: Notebook, made: str) -> None:
    """A new Workbench in a cell of its own."""
    views = notebook.page.locator(".wb-workbench").count()
    notebook.run_cell(f"bench = {made}\nbench")
    expect(notebook.page.locator(".wb-workbench")).to_have_count(views + 1, timeout=BRIEFLY)
    assert notebook.python("bench.wait(120)")


def test_the_builds_count_and_its_passes_are_one_click_away(notebook: Notebook) -> None:
    opened(notebook, "wb.Workbench(wb.samples.load('conv_bias_batch_norm'), auto_measure=False)")
    kernels, build = notebook.python("[bench.kernels, wb.count(bench.workload).calls]")
    assert kernels != build
    expect(notebook.part("kernels-after")).to_have_text(str(kernels), timeout=BRIEFLY)
    expect(notebook.part("real-build")).to_contain_text(f"build: {build}", timeout=BRIEFLY)
    expect(notebook.part("build-why")).to_be_hidden()
    notebook.part("build-ask").click()
    expect(notebook.part("build-why")).to_contain_text("AlterOpLayout", timeout=BRIEFLY)
    notebook.part("build-ask").click()
    expect(notebook.part("build-why")).to_be_hidden()


def test_two_rows_claim_nothing_before_they_raced(notebook: Notebook) -> None:
    opened(notebook, "wb.Workbench(wb.samples.load('parallel_cast'), budget=0.05)")
    expect(notebook.part("race")).to_be_hidden()
    notebook.part("toggle-EliminateCommonSubexpr").click()
    expect(notebook.part("headline")).to_contain_text("not raced", timeout=BRIEFLY)
    notebook.part("race").click()
    expect(notebook.part("race")).to_have_text("Race again", timeout=BRIEFLY)
    said = notebook.python("bench.session.measurements.races[-1].outcome.sentence")
    expect(notebook.part("headline")).to_have_text(said)


def test_a_row_that_failed_is_read_in_full_beside_the_number_and_in_table_and_chart(notebook: Notebook) -> None:
    opened(notebook, "wb.Workbench(wb.samples.load('parallel_cast'), target='llvm -mtriple=foo-bar')")
    said = notebook.python("bench.state['rows'][0]['said']")
    status, _, message = said.partition(": ")
    expect(notebook.part("row-status")).to_contain_text(status, timeout=BRIEFLY)
    expect(notebook.part("error")).to_contain_text(message)
    expect(notebook.part("row-0")).to_contain_text(f"! {status}")
    expect(notebook.part("said-0")).to_have_text(said)
    assert not notebook.page.evaluate(CUT, "said-0")
    assert not notebook.page.evaluate(CUT, "error")
    for plot in ("plot-kernels", "plot-runtime"):
        titles = notebook.part(plot).locator("img").evaluate_all("each => each.map((e) => e.alt)")
        assert all(f"1 {status}" in title for title in titles)
