"""The CompilerView in JupyterLab: a line shows its kernels on both sides, and a selection on the graph reaches Python."""

from __future__ import annotations

from browser.driver import Notebook
from playwright.sync_api import expect


def test_line_selects_its_kernels_on_both_sides(relax: Notebook) -> None:
    relax.tell("from widgets.compared import pair")
    view = relax.show("wb.CompilerView(pair())")
    line = view.root.locator(".wb-compilers-list .wb-link")
    expect(line).to_have_count(1)
    line.focus()
    view.press("Enter")
    view.agree("view.selection", {"before": [1], "after": [1, 2]})
    view.shows("brief", "2 nodes selected")
    view.canvas().focus()
    view.press("Escape", "c")
    view.agree("[view.selection, view.mode]", [{"before": [], "after": []}, "changed"])
    view.tell("view.selection = {'before': [2], 'after': []}")
    view.shows("brief", "nn.relu")
