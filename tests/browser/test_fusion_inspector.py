"""The FusionInspector in JupyterLab with the Relay kernel."""

from __future__ import annotations

import re

import pytest
from browser.driver import Notebook, View
from playwright.sync_api import expect

LEFT, LEFT_RELU, DENSE, ADD = 2, 3, 5, 10
LOOSE = """
from dataclasses import replace
hostile_graph = hostile.graph()
loose = replace(hostile_graph, nodes=tuple(replace(n, group=None, pattern=0) for n in hostile_graph.nodes), groups=())
"""


@pytest.fixture
def view(relay: Notebook) -> View:
    return relay.show("wb.FusionInspector(wb.samples.load('parallel_cast'))")


def click_edge(view: View, source: int, target: int, along: float = 0.5) -> None:
    """Click on the edge that leaves a node straight downwards, at a part of the path to the other."""
    (x, y, _), (_, below, _) = view.places()[source], view.places()[target]
    view.canvas().click(position={"x": x, "y": y + along * (below - y)})


def test_boundaries_have_reasons_and_edits_change_the_kernels(view: View) -> None:
    expect(view.part("kernels")).to_have_text("5")
    click_edge(view, LEFT_RELU, DENSE, 0.35)
    expect(view.part("why")).to_contain_text("nn.relu (node 3) does not join")
    view.agree("view.selection", [LEFT_RELU, DENSE])
    click_edge(view, LEFT, LEFT_RELU)
    expect(view.part("why")).to_contain_text("joins nn.relu")
    view.agree("view.selection", [LEFT, LEFT_RELU])
    view.press("x")
    expect(view.part("kernels")).to_have_text("6")
    view.agree("[view.kernels, len(view.edited), view.edited[0].applied]", [6, 1, True])
    expect(view.part("kernels-change")).to_contain_text("5 → 6, +16 bytes")
    view.press("u")
    expect(view.part("kernels")).to_have_text("5")
    view.agree("[view.kernels, view.edits]", [5, []])

    view.tell("view.cut(2, 3)")
    view.part("tab-edits").click()
    expect(view.part("edits")).to_contain_text("applied")
    expect(view.part("compared")).to_contain_text("with the edits")
    view.part("edits").get_by_role("button", name="Remove this edit").click()
    expect(view.part("kernels")).to_have_text("5")
    view.agree("view.edits", [])

    view.part("max_depth").fill("1")
    view.press("Enter")
    expect(view.part("kernels")).to_have_text("8")
    view.part("max_depth").fill("-3")
    view.press("Enter")
    expect(view.part("error")).to_contain_text("give a whole number")
    view.agree("view.settings['max_depth']", 1)


def test_player_branches_and_regions(view: View) -> None:
    view.part("tab-player").click()
    expect(view.part("frame-words")).not_to_be_empty()
    view.part("act-on").click()
    view.agree("view.frame", 1)
    view.part("not_fused").check()
    view.agree("view.frame_filter", {"not_fused": True})
    view.part("tab-branches").click()
    view.part("branches").locator("button").first.click()
    view.agree("view.selection", [2, 3, 6, 7])
    expect(view.part("branches")).to_contain_text("-2 kernels")

    view.tell("view.selection = [1]")
    expect(view.part("card")).to_contain_text("cast")
    view.canvas().focus()
    view.press("r")
    expect(view.part("region")).to_contain_text("to add")
    view.agree("[view.region, view.marks['exit']]", [1, ADD])


@pytest.mark.long
def test_boundary_of_the_list_is_selected_and_tried(view: View) -> None:
    view.part("tab-costs").click()
    rows = view.part("costs").locator("button")
    expect(rows).to_have_count(5)
    rows.filter(has_text="nn.relu → nn.dense").first.click()
    expect(view.part("boundary")).to_contain_text("The boundary costs 32 bytes written and read")
    view.agree("len(view.selection)", 2)
    view.part("legend-toggle").click()
    expect(view.part("edge-scale")).to_contain_text("Written and read")
    view.part("act-try").click()
    # whichever of the two this machine allows just now
    expect(view.part("measured-boundary")).to_contain_text(re.compile("Measured: one kernel saves|too noisy just now"))
    expect(view.part("peak")).to_contain_text("Peak memory")


@pytest.mark.long
def test_hostile_names_stay_text(relay: Notebook) -> None:
    relay.tell(LOOSE)
    view = relay.show("wb.FusionInspector(loose, selection=[1], tab='player')")
    expect(view.part("frame-words")).not_to_be_empty()
    assert view.page.evaluate("window.broken ?? 0") == 0
    assert view.root.locator("img, script, b, svg[onload]").count() == 0
