"""The sentences about configurations in JupyterLab: the build's count, a race, a row that failed."""

from __future__ import annotations

import pytest
from browser.driver import Notebook, View
from playwright.sync_api import expect

CUT = """
(part) => [part, ...part.querySelectorAll("*")]
  .some((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow === "hidden")
"""


def shown(notebook: Notebook, made: str) -> View:
    notebook.page.set_viewport_size({"width": 1280, "height": 800})
    return notebook.show(f"wb.Workbench({made})", "bench")


def test_builds_own_count_has_its_reasons(relay: Notebook) -> None:
    view = shown(relay, "wb.samples.load('conv_bias_batch_norm'), auto_measure=False")
    kernels, build = view.python("[bench.kernels, wb.count(bench.workload).calls]")
    assert kernels != build
    expect(view.part("kernels-after")).to_have_text(str(kernels))
    expect(view.part("real-build")).to_contain_text(f"build: {build}")
    expect(view.part("build-why")).to_be_hidden()
    view.part("build-ask").click()
    expect(view.part("build-why")).to_contain_text("AlterOpLayout")
    view.part("build-ask").click()
    expect(view.part("build-why")).to_be_hidden()


def test_two_rows_claim_nothing_before_a_race(relay: Notebook) -> None:
    view = shown(relay, "wb.samples.load('parallel_cast'), budget=0.05")
    assert view.python("bench.wait(60)"), "a toggle withdraws a measurement that is under way"
    expect(view.part("act-measure-race")).to_be_hidden()
    view.part("toggle-EliminateCommonSubexpr").click()
    expect(view.part("headline")).to_contain_text("not raced")
    view.part("act-measure-race").click()
    expect(view.part("act-measure-race")).to_have_text("Race again")
    sentence = view.python("bench.session.measurements.races[-1].outcome.sentence")
    expect(view.part("headline")).to_have_text(sentence)


@pytest.mark.long
def test_build_that_ends_its_process_is_a_row_with_its_reason(relay: Notebook) -> None:
    view = shown(relay, "wb.samples.load('parallel_cast'), target='llvm -mtriple=foo-bar'")
    assert view.python("bench.wait(60)")
    sentence = view.python("bench.measure_tab[-1]['rows'][2][0]")
    status, _, message = sentence.removeprefix("! ").partition(": ")
    assert "SIGSEGV" in message
    expect(view.part("row-status")).to_contain_text(status)
    expect(view.part("error")).to_contain_text(message)
    expect(view.part("rows-0")).to_contain_text(f"! {status}")
    expect(view.part("rows-1")).to_have_text(sentence)
    assert not view.part("rows-1").evaluate(CUT)
    assert not view.part("error").evaluate(CUT)
    for plot in ("plot-kernels", "plot-runtime"):
        titles = view.part(plot).locator("img").evaluate_all("each => each.map((e) => e.alt)")
        assert all(f"1 {status}" in title for title in titles)
