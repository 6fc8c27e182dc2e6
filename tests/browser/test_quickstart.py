"""The quickstart as a user runs it: JupyterLab, the Relay kernel, Chromium."""

from __future__ import annotations

from browser.driver import BRIEFLY, View
from browser.lab import Lab, living_page
from playwright.sync_api import Browser, expect


def test_quickstart(lab: Lab, browser: Browser) -> None:
    with living_page(browser, 1600, 1100) as page:
        notebook = lab.open(page, "00_quickstart.ipynb")
        notebook.run_all()
        page.wait_for_selector("[data-testid='kernels-after']", timeout=BRIEFLY)
        assert notebook.python("[int(count) for count in kernels.values()]") == [8, 5, 3, 5]
        bench = View(notebook, 0)
        expect(bench.part("kernels-before")).to_have_text("8")
        expect(bench.part("kernels-after")).to_have_text("3")

        bench.part("toggle-EliminateCommonSubexpr").click()
        expect(bench.part("kernels-after")).to_have_text("5")
        assert notebook.python("[bench.kernels, bench.wait(60)]") == [5, True]
        rows = notebook.python("bench.rows[['config', 'kernels', 'status']].values.tolist()")
        assert ["opt 3 passes -EliminateCommonSubexpr", 5, "ok"] in rows
        expect(bench.part("rows-1")).to_contain_text("5")
        bench.part("undo").click()
        expect(bench.part("kernels-after")).to_have_text("3")

        bench.part("context-mode").click()
        expect(bench.part("toggle-AlterOpLayout")).to_be_visible()
        bench.part("toggle-EliminateCommonSubexpr").click()
        expect(bench.part("kernels-after")).to_have_text("5")
        assert notebook.python("list(bench.choice.disabled)") == ["EliminateCommonSubexpr"]
