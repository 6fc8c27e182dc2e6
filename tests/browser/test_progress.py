"""Progress of a long call in JupyterLab, and its stop button."""

from __future__ import annotations

import json

from browser.lab import BRIEFLY, Lab, living_page
from playwright.sync_api import Browser, expect

CELL = {"cell_type": "code", "id": "a", "source": "", "metadata": {}, "outputs": [], "execution_count": None}
MEASURE = """
import workbench as wb
rows = wb.measure(wb.samples.load("mlp"), [0, 1, 2, 3], budget=8, check=False)
print("done")
"""
BEGIN = """
(source) => {
  const { commands, shell } = window.jupyterapp;
  shell.currentWidget.content.activeCell.model.sharedModel.setSource(source);
  void commands.execute("notebook:run-cell");
}
"""
INTERRUPT = "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.interrupt()"


def test_bar_while_it_measures_and_rows_after_an_interrupt(lab: Lab, browser: Browser) -> None:
    content = {"cells": [CELL], "metadata": {"kernelspec": {"name": "python3", "display_name": "Python"}}}
    (lab.folder / "bar.ipynb").write_text(json.dumps({**content, "nbformat": 4, "nbformat_minor": 5}))
    with living_page(browser, 1280, 800) as page:
        notebook = lab.open(page, "bar.ipynb")
        # run_cell returns when the cell has run
        page.evaluate(BEGIN, MEASURE)
        output = page.locator(".jp-OutputArea-output")
        expect(output.locator("progress")).to_be_visible(timeout=BRIEFLY)
        expect(output.filter(has_text="Measuring mlp: opt 1").first).to_be_visible(timeout=BRIEFLY)
        page.evaluate(INTERRUPT)
        expect(output.filter(has_text="Measuring mlp: interrupted after")).to_be_visible(timeout=BRIEFLY)
        expect(output.locator("progress")).to_have_count(0)
        expect(output.filter(has_text="done").last).to_be_visible(timeout=BRIEFLY)
        assert notebook.python("list(rows.status)") == ["ok", "interrupted", "interrupted", "interrupted"]
        again = "list(wb.measure(wb.samples.load('mlp'), [3], budget=0.05, check=False).status)"
        assert notebook.python(again) == ["ok"]
