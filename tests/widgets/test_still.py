"""The second output of a widget's cell: the picture and the words that a saved notebook shows without a kernel."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from typing import Any

import pytest
from page_driver import Page
from widgets import hostile
from widgets.test_saving import Elements, plain, views, words

import workbench as wb
from workbench.graph.model import Graph
from workbench.widgets.base import STILL_NODES, View
from workbench.widgets.graph.view import GraphView
from workbench.widgets.still import MOST, OUTPUT

GRAPHVIZ = pytest.mark.skipif(not shutil.which("dot"), reason="needs Graphviz")
WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURE = "data:image/svg+xml;base64," + base64.b64encode(b"<svg/>").decode()


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return a list that gets each output that is displayed, with its options."""
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **how: calls.append((data, how)))
    return calls


def page_sends(view: View, picture: object) -> None:
    Page(view).send("still", picture=picture)


def picture_in(markup: str) -> str | None:
    found = re.search(r'<img src="([^"]*)"', markup)
    return found[1] if found else None


def test_cell_has_the_view_and_then_the_picture(displayed) -> None:
    view = GraphView(plain())
    view._ipython_display_()
    (live, _), (still, how) = displayed
    assert live[WIDGET]["model_id"] == view.model_id
    assert live["text/html"] == "", "a page that shows no widgets shows the picture only"
    assert list(still) == ["text/html"]
    assert how == {
        "metadata": {OUTPUT: True},
        "raw": True,
        "display_id": Page(view).trait("_still_id"),
        "update": False,
    }
    assert f'data-wb-still="{Page(view).trait("_still_id")}"' in still["text/html"]


def test_picture_of_the_page_is_kept(displayed) -> None:
    view = GraphView(plain())
    view._ipython_display_()
    page_sends(view, PICTURE)
    page_sends(view, PICTURE)
    assert len(displayed) == 3, "an update without news would make the notebook unsaved"
    data, how = displayed[-1]
    assert picture_in(data["text/html"]) == PICTURE
    assert (how["update"], how["display_id"]) == (True, Page(view).trait("_still_id"))
    assert "Run the cell for the live view" in data["text/html"]
    view._ipython_display_()
    assert picture_in(displayed[-1][0]["text/html"]) == PICTURE


def test_view_that_is_not_displayed_updates_nothing(displayed) -> None:
    page_sends(GraphView(plain()), PICTURE)
    assert displayed == []


@pytest.mark.parametrize(
    "picture",
    [
        'data:image/svg+xml;base64,AA" onerror="alert(1)',
        "data:image/svg+xml,<svg onload='alert(1)'/>",
        "data:text/html;base64,AAAA",
        "https://example.org/a.png",
        "data:image/png;base64," + "A" * MOST,
        "data:image/png;base64,AAAA\n",
        7,
        None,
    ],
)
def test_other_texts_than_pictures_are_dropped(displayed, picture: object) -> None:
    view = GraphView(plain(STILL_NODES + 1))
    view._ipython_display_()
    page_sends(view, picture)
    assert picture_in(displayed[-1][0]["text/html"]) is None


@GRAPHVIZ
@pytest.mark.parametrize("kind", ["graph", "compare"])
def test_small_graph_has_a_picture_at_once(kind: str) -> None:
    for view in views(kind):
        markup = Page(view).still()
        picture = picture_in(markup)
        assert picture
        assert len(picture) <= MOST
        words(base64.b64decode(picture.partition(",")[2]))
        assert [tag for tag, _ in Elements(markup).found] == ["div", "style", "img", "p"]


def test_larger_graph_has_words_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    made = Page(GraphView(plain(STILL_NODES + 1))).still()
    assert f"plain: {STILL_NODES + 1} nodes" in made
    assert picture_in(made) is None


@pytest.mark.parametrize("name", hostile.NAMES)
def test_names_are_text(name: str) -> None:
    evil = GraphView(hostile.graph())
    evil.model = Graph(plain(STILL_NODES + 1).nodes, name=name)
    assert [tag for tag, _ in Elements(Page(evil).still()).found] == ["div", "style", "p"]


def test_every_widget_has_a_still(displayed) -> None:
    made = [GraphView(plain()), wb.Predict("How many?", 3), *views("compare")]
    for view in made:
        view._ipython_display_()
    stills = [data["text/html"] for data, how in displayed if OUTPUT in how["metadata"]]
    assert len(stills) == len(made)
    assert all("<p>" in still for still in stills)


def test_answer_of_a_question_is_kept_when_it_is_known(displayed) -> None:
    view = wb.Predict("How many?", 3)
    view._ipython_display_()
    assert view.answer == 3
    page_sends(view, "")
    assert "The answer" not in displayed[1][0]["text/html"]
    assert "<details>" in displayed[-1][0]["text/html"]
