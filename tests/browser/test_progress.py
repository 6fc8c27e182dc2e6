"""Progress of a long call in JupyterLab, and its stop button."""

from __future__ import annotations

import re

from browser.driver import Notebook
from playwright.sync_api import expect

# a small program is timed in less than a second, before the interrupt could come
MEASURE = """
import workbench as wb
rows = wb.measure(wb.samples.load("bert", layers=1, seq=32), [0, 1, 2, 3], budget=1, check=False)
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


def test_bar_while_it_measures_and_rows_after_an_interrupt(relax: Notebook) -> None:
    page = relax.page
    # run_cell returns when the cell has run
    page.evaluate(BEGIN, MEASURE)
    output = page.locator(".jp-OutputArea-output")
    expect(output.locator("progress")).to_be_visible()
    expect(output.filter(has_text=re.compile("Measuring bert: opt [123]")).first).to_be_visible()
    page.evaluate(INTERRUPT)
    expect(output.filter(has_text="Measuring bert: interrupted after")).to_be_visible()
    expect(output.locator("progress")).to_have_count(0)
    expect(output.filter(has_text="done").last).to_be_visible()
    # "opt 1" may end before the interrupt comes
    done = relax.python("list(rows.status)")
    assert done == ["ok"] * done.count("ok") + ["interrupted"] * done.count("interrupted")
    assert len(done) == 4
    assert done[0] == "ok"
    assert done[-1] == "interrupted"
    again = "list(wb.measure(wb.samples.load('mlp'), [3], budget=0.05, check=False).status)"
    assert relax.python(again) == ["ok"]
