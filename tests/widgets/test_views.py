"""GraphView and CompareView from Python: what they send, what they refuse."""

from __future__ import annotations

import json

import ipywidgets
import pytest
import traitlets
from page_driver import Page

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.model import GraphBuilder
from workbench.measurement.kernels import Kernels
from workbench.pipeline.config import Config
from workbench.widgets.base import _BUNDLE as BUNDLE
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


@pytest.mark.parametrize("error", [TypeError, WorkbenchError])
def test_a_keyword_that_a_widget_does_not_take_is_refused(error):
    with pytest.raises(error, match="keyword of GraphView named 'heigth'; did you mean height"):
        wb.GraphView(chain("relu"), heigth=300)


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


def test_show_sends_the_nodes_to_the_page(view):
    page = Page(view)
    view.show(iter([2]))
    assert page.messages == [{"type": "show", "ids": [2]}]


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


def test_half_a_character_in_a_name_can_be_sent():
    view = wb.GraphView(chain("\ud800 half", "whole 🚀"))
    assert {"? half", "whole 🚀"} <= set(view.graph["strings"])


def test_groups_that_there_are_can_be_collapsed():
    b = GraphBuilder("kernels", "relay")
    b.group("function", "main", None)
    at = b.node("param", "x", group=0)
    b.outputs = [b.node("op", "exp", (at,), group=b.group("primitive", "fused", 0))]
    view = wb.GraphView(b.build(), collapsed=[1])
    assert view.collapsed == [1]
    # the function around everything is left out: what the page counts from 0 is still called 1
    assert view.graph["group"]["id"] == bytes([1])
    with pytest.raises(WorkbenchError, match="group 2 is not in this graph"):
        view.collapsed = [2]
    view.collapsed = None
    assert view.collapsed is None


def test_a_mark_that_there_is_not_cannot_be_muted(view):
    view.muted = ["nn.relu", "mark:kept", "nn.relu"]
    assert view.muted == ["nn.relu", "mark:kept"]
    with pytest.raises(WorkbenchError, match="'mark:moved' is not a mark"):
        view.muted = ["mark:moved"]


@pytest.mark.parametrize("value", [{"left": [1]}, {"before": [-1]}, {"after": [0.5]}, {"after": [True]}])
@pytest.mark.parametrize("name", ["selection", "hovered", "collapsed"])
def test_ids_of_a_comparison_are_of_two_sides(name, value):
    view = wb.CompareView(chain("relu"), chain("exp"))
    with pytest.raises(WorkbenchError, match=name):
        setattr(view, name, value)


def test_a_compare_view_opens_as_it_was_asked_to():
    view = wb.CompareView(chain("relu"), chain("exp"), selection={"after": [1]}, collapsed={}, direction="right")
    assert view.selection == {"before": [], "after": [1]}
    assert view.collapsed == {"before": [], "after": []}
    assert view.direction == "right"


def test_a_comparison_shows_nodes_of_the_sides_that_it_has():
    view = wb.CompareView(chain("relu"), chain("exp"))
    page = Page(view)
    view.show([1], side="before")
    assert page.messages == [{"type": "show_side", "side": "before", "ids": [1]}]
    with pytest.raises(WorkbenchError, match="'before' and 'after'"):
        view.show([1], side="left")


def kernel_graph():
    """Two nodes in a kernel's box and one beside it, with their calls."""
    b = GraphBuilder("kernels", "relay")
    at = b.node("param", "x", type="t")
    box = b.group("primitive", "fused", None)
    for op in ("exp", "relu"):
        at = b.node("op", op, (at,), type="t", group=box)
    b.outputs = [b.node("op", "tanh", (at,), type="t")]
    common = {"noop": False, "bytes_written": 4, "launches": 1}
    fused = {**common, "index": 0, "nodes": [1, 2], "bytes_read": 6, "flops": None}
    alone = {**common, "index": 1, "nodes": [3], "bytes_read": 1, "flops": 8}
    return Kernels((fused, alone), "llvm", Config(), 0.0, answer={"graph": json.loads(b.build().to_json())})


def test_a_kernel_has_its_value_where_the_graph_shows_it():
    kernels = kernel_graph()
    found = wb.overlay_of(kernels, "bytes")
    assert (dict(found.groups), dict(found.nodes)) == ({0: 10.0}, {3: 5.0})
    assert wb.overlay_of(kernels, "flops").nodes == {3: 8.0}
    view = wb.GraphView(kernels.graph)
    view.overlay(found)
    assert view.overlay_state["groups"] == {"0": [10.0, 2]}
    assert view.overlay_state["unit"] == "bytes"


def test_times_of_kernels_are_taken_from_a_measured_row_and_asked_for_where_there_are_none():
    kernels = kernel_graph()
    row = {"config": "opt 3", "per_kernel": [{"index": 1, "name": "tanh", "median_us": 2.5}]}
    assert wb.overlay_of(kernels, "us", times=[row]).nodes == {3: 2.5}
    with pytest.raises(WorkbenchError, match="per_kernel=True"):
        wb.overlay_of(kernels, "us", times=[{"config": "opt 3", "per_kernel": None}])
    with pytest.raises(WorkbenchError, match="joules"):
        wb.overlay_of(kernels, "joules")


def test_kernels_are_laid_over_another_graph_of_the_program():
    kernels = kernel_graph()
    found = wb.overlay_of(kernels, "bytes", onto=chain("exp", "relu", "tanh"))
    assert not found.groups
    assert found.nodes == {2: 10.0, 3: 5.0}


def test_each_side_of_a_comparison_has_values_and_one_scale():
    kernels = kernel_graph()
    view = wb.CompareView(kernels.graph, kernels.graph)
    heavy, sums = wb.overlay_of(kernels, "bytes"), wb.overlay_of(kernels, "flops")
    view.overlay(heavy, heavy, "CPU and CUDA")
    assert view.overlay_state["title"] == "CPU and CUDA"
    assert view.overlay_state["after"]["values"] == {"3": 5.0}
    with pytest.raises(WorkbenchError, match="one scale"):
        view.overlay(heavy, sums)
    view.overlay(after=heavy)
    assert view.overlay_state["values"] == {}
    view.overlay()
    assert view.overlay_state == {}


def test_a_page_gets_the_script_once_and_again_after_all_widgets_were_closed():
    views = [wb.GraphView(chain("relu")), wb.CompareView(chain("relu"), chain("exp"))]
    assert len({view.get_state("_script")["_script"] for view in views}) == 1
    assert max(len(view.get_state("_esm")["_esm"]) for view in views) < 1500
    ipywidgets.Widget.close_all()
    again = wb.GraphView(chain("relu")).get_state("_script")["_script"]
    assert again != views[0].get_state("_script")["_script"]
    script = ipywidgets.widget_serialization["from_json"](again, None)
    assert script.code == BUNDLE.read_text(encoding="utf-8")
