"""The FusionInspector as a person uses it, in JupyterLab with the Relay kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from playwright.sync_api import Browser, Locator, expect

LEFT, LEFT_RELU, DENSE, ADD = 2, 3, 5, 10

HOSTILE = """
import sys
sys.path.insert(0, {tests!r})
from dataclasses import replace
from widgets import hostile
made = hostile.graph
loose = replace(made, nodes=tuple(replace(n, group=None, pattern=0) for n in made.nodes), groups=())
view = wb.FusionInspector(loose, selection=[1], tab="player")
view
"""


@pytest.fixture(scope="module")
def notebook(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A page of its own with the Relay kernel."""
    with living_page(browser) as page:
        notebook = lab.open(page, "00_quickstart.ipynb")
        notebook.run_cell("import workbench as wb\nw = wb.samples.load('parallel_cast')")
        yield notebook


def show(notebook: Notebook, source: str) -> Locator:
    views = notebook.page.locator(".wb-fusion").count()
    notebook.run_cell(source)
    expect(notebook.page.locator(".wb-fusion")).to_have_count(views + 1, timeout=BRIEFLY)
    root = notebook.page.locator(".wb-fusion").last
    expect(root).to_have_attribute("data-scenes", "1", timeout=BRIEFLY)
    root.locator("canvas.wb-canvas").first.scroll_into_view_if_needed()
    return root


@pytest.fixture
def view(notebook: Notebook) -> Locator:
    return show(notebook, "view = wb.FusionInspector(w)\nview")


def click_edge(view: Locator, source: int, target: int, along: float = 0.5) -> None:
    """Click on the edge that leaves a node straight downwards, that part of the way to the other."""
    places = {int(id): (x, y) for id, x, y, _ in view.evaluate("(root) => root.places(0)")}
    (x, y), (_, below) = places[source], places[target]
    y += along * (below - y)
    view.locator("canvas.wb-canvas").first.click(position={"x": x, "y": y})


def test_a_boundary_says_why_and_a_cut_makes_one_kernel_more(notebook: Notebook, view: Locator) -> None:
    expect(notebook.part("kernels")).to_have_text("5", timeout=BRIEFLY)
    click_edge(view, LEFT_RELU, DENSE, 0.35)
    expect(notebook.part("why")).to_contain_text("nn.relu (node 3) does not join", timeout=BRIEFLY)
    notebook.agree("view.selection", [LEFT_RELU, DENSE])
    click_edge(view, LEFT, LEFT_RELU)
    expect(notebook.part("why")).to_contain_text("joins nn.relu", timeout=BRIEFLY)
    notebook.agree("view.selection", [LEFT, LEFT_RELU])
    notebook.page.keyboard.press("x")
    expect(notebook.part("kernels")).to_have_text("6", timeout=BRIEFLY)
    notebook.agree("[view.kernels, len(view.edited), view.edited[0].applied]", [6, 1, True])
    expect(notebook.part("kernels-change")).to_contain_text("5 → 6, +16 bytes")
    notebook.page.keyboard.press("u")
    expect(notebook.part("kernels")).to_have_text("5", timeout=BRIEFLY)
    notebook.agree("[view.kernels, view.edits]", [5, []])


def test_a_button_says_why_it_cannot_be_pressed(notebook: Notebook, view: Locator) -> None:
    notebook.python("view.set_trait('selection', [2, 6])")
    expect(notebook.part("card")).to_contain_text("no edge goes from cast (node 2) to cast (node 6)", timeout=BRIEFLY)
    expect(notebook.part("act-cut")).to_be_disabled()


def test_the_list_of_edits_takes_one_away(notebook: Notebook, view: Locator) -> None:
    notebook.python("view.cut(2, 3)")
    notebook.part("tab-edits").click()
    edits = notebook.part("edits")
    expect(edits).to_contain_text("applied", timeout=BRIEFLY)
    expect(notebook.part("compared")).to_contain_text("with the edits")
    edits.get_by_role("button", name="Take this edit away").click()
    expect(notebook.part("kernels")).to_have_text("5", timeout=BRIEFLY)
    notebook.agree("view.edits", [])


def test_settings_are_run_at_once_and_nonsense_is_said(notebook: Notebook, view: Locator) -> None:
    notebook.part("max_depth").fill("1")
    notebook.page.keyboard.press("Enter")
    expect(notebook.part("kernels")).to_have_text("8", timeout=BRIEFLY)
    notebook.part("max_depth").fill("-3")
    notebook.page.keyboard.press("Enter")
    expect(notebook.part("error")).to_contain_text("give a whole number", timeout=BRIEFLY)
    notebook.agree("view.settings['max_depth']", 1)


def test_the_player_and_the_branches(notebook: Notebook, view: Locator) -> None:
    notebook.part("tab-player").click()
    expect(notebook.part("frame-words")).not_to_be_empty(timeout=BRIEFLY)
    notebook.part("act-on").click()
    notebook.agree("view.frame", 1)
    notebook.part("not_fused").check()
    notebook.agree("view.frame_filter", {"not_fused": True})
    notebook.part("tab-branches").click()
    notebook.part("branches").locator("button").first.click()
    notebook.agree("view.selection", [2, 3, 6, 7])
    expect(notebook.part("branches")).to_contain_text("-2 kernels")


def test_a_region_is_shaded_by_a_key(notebook: Notebook, view: Locator) -> None:
    notebook.python("view.set_trait('selection', [1])")
    expect(notebook.part("card")).to_contain_text("cast", timeout=BRIEFLY)
    view.locator("canvas.wb-canvas").first.focus()
    notebook.page.keyboard.press("r")
    expect(notebook.part("region")).to_contain_text("to add", timeout=BRIEFLY)
    notebook.agree("[view.region, view.marks['exit']]", [1, ADD])


def test_hostile_names_stay_text(notebook: Notebook) -> None:
    view = show(notebook, HOSTILE.format(tests=str(Path(__file__).parents[1])))
    expect(notebook.part("frame-words")).not_to_be_empty(timeout=BRIEFLY)
    assert notebook.page.evaluate("() => window.broken ?? 0") == 0
    assert view.locator("img, script, b, svg[onload]").count() == 0
