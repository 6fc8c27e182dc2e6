"""The values of traits and the messages to the page are of the types that page_types.py declares. No TVM."""

from __future__ import annotations

import pytest
from page_driver import Page
from widgets.conforming import misfits, misfits_of

import workbench as wb
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.widgets import page_types

TENSOR = "Tensor[(1, 16), float32]"


@pytest.fixture
def graph() -> Graph:
    b = GraphBuilder("two_branches", "relay")
    x = b.node("param", "x", type=TENSOR)
    branches = [b.node("op", "cast", [x], pattern=0, type=TENSOR, attrs={"dtype": "int8"}) for _ in range(2)]
    b.outputs = [b.node("op", "sum", [b.node("op", "add", branches, pattern=1, type=TENSOR)], pattern=3, type=TENSOR)]
    return b.build()


def test_a_value_of_another_type_is_found() -> None:
    assert misfits({"what": "x", "fraction": None}, page_types.Busy, "busy") == ["busy.since is missing"]
    assert misfits({"error": {"title": "x", "text": 3, "at": 0.0}}, page_types.Status, "status") == [
        "status.error.text = 3"
    ]
    assert misfits([{"t": "p", "text": "x"}], list[page_types.Block], "card") != []


@pytest.mark.parametrize("tab", ["edits", "costs", "branches", "chains", "player", "code"])
@pytest.mark.parametrize("selection", [[], [1], [3, 4]], ids=str)
def test_the_page_of_a_fusion_inspector(graph: Graph, tab: str, selection: list[int]) -> None:
    view = wb.FusionInspector(graph, tab=tab, selection=selection, region=0)
    assert view.wait(30)
    Page(view).click_action("cut")
    assert view.status["error"]
    assert misfits_of(view) == []


@pytest.mark.parametrize("tab", ["found", "suggest", "code"])
def test_the_page_of_a_pattern_inspector(graph: Graph, tab: str) -> None:
    view = wb.PatternInspector(graph, 'is_op("add")(is_op("cast")(wildcard()), is_op("exp")(wildcard()))', tab=tab)
    view.selection = [3]
    assert view.wait(30)
    assert misfits_of(view) == []


def test_what_a_pass_stepper_shows_and_sends(graph: Graph) -> None:
    start, end = (State(None, lambda: graph, lambda: "text") for _ in range(2))
    view = wb.PassStepper(Trace("sample", "relay", (Step("Pass", start, end, "changed", 0.1),), start, 3))
    assert misfits_of(view) == []
    wishes = [
        ("state", 0),
        ("facts", 1),
        ("text", 0),
        ("diff", 0, 1),
        ("counts", 0, 1),
        ("lineage", 0, 1),
        ("code", 0),
        ("code", -1, 0),
    ]
    page = Page(view)
    page.send("want", items=[list(wish) for wish in wishes])
    sent = page.messages
    assert {message["type"] for message in sent} == {wish[0] for wish in wishes}
    assert [misfits(message, page_types.ToPage, message["type"]) for message in sent] == [[] for _ in sent]


def test_the_panel_of_a_search_and_a_question() -> None:
    question = wb.Predict("How many?", 3)
    question.reveal("2")
    assert misfits_of(question) == []
