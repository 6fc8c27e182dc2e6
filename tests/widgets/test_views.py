"""GraphView and CompareView from Python: what they send, what they refuse."""

from __future__ import annotations

import pytest
import traitlets

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.model import GraphBuilder
from workbench.widgets.payload import encode_graph


def chain(*ops):
    b = GraphBuilder("chain", "relay")
    at = b.node("param", "x", type="t")
    for op in ops:
        at = b.node("op", op, (at,), type="t")
    b.outputs = [at]
    return b.build()


@pytest.fixture
def view():
    return wb.GraphView(chain("relu", "exp"))


def test_a_graph_view_sends_the_columns_of_its_graph(view):
    assert view.graph == encode_graph(view.model)
    assert view.get_state()["_view"] == "graph"


@pytest.mark.parametrize("selection", [[], [0], [2, 1]])
def test_nodes_can_be_selected_from_python(view, selection):
    view.selection = selection
    assert view.selection == selection


@pytest.mark.parametrize("selection", [[3], [-1], [0, 99]])
def test_a_node_that_is_not_there_is_refused_and_the_selection_stays(view, selection):
    view.selection = [1]
    with pytest.raises(WorkbenchError, match="ids run from 0 to 2"):
        view.selection = selection
    assert view.selection == [1]


@pytest.mark.parametrize("selection", ["1", [1.5], None, [None]])
def test_a_selection_of_another_type_is_refused(view, selection):
    with pytest.raises(traitlets.TraitError):
        view.selection = selection


def test_an_empty_graph_has_a_view():
    view = wb.GraphView(GraphBuilder("", "relay").build())
    with pytest.raises(WorkbenchError):
        view.selection = [0]


def test_an_overlay_can_be_put_on_and_taken_away(view):
    view.overlay({1: 0.5}, "time", "us")
    assert view.overlay_state == {"title": "time", "unit": "us", "values": {"1": 0.5}}
    view.overlay({}, "time")
    assert view.overlay_state == {}


def test_show_sends_the_nodes_to_the_page(view, monkeypatch):
    sent = []
    monkeypatch.setattr(view, "send", sent.append)
    view.show(iter([2]))
    assert sent == [{"type": "show", "ids": [2]}]


def test_a_height_too_small_to_see_anything_is_refused(view):
    with pytest.raises(traitlets.TraitError):
        view.height = 3


def test_a_compare_view_sends_both_graphs_and_what_changed():
    view = wb.CompareView(chain("relu", "exp"), chain("exp"))
    assert view.changes.removed == (1,)
    assert view.diff["before_mark"] == bytes([0, 2, 1])
    assert view.diff["after_mark"] == bytes([0, 1])


def test_a_compare_view_can_be_given_other_graphs():
    view = wb.CompareView(chain("relu"), chain("relu"))
    view.selection = {"before": [0], "after": [0]}
    view.compare(chain("relu"), chain("relu", "exp"))
    assert view.changes.added == (2,)
    assert view.selection == {"before": [], "after": []}


def test_a_mode_that_there_is_not_is_refused():
    with pytest.raises(traitlets.TraitError):
        wb.CompareView(chain(), chain(), mode="sideways")
