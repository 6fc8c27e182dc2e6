"""A wrong value for a widget is refused in one sentence, by the constructor and by an assignment."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import traitlets

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder

pytestmark = pytest.mark.widgets


def tanh() -> Graph:
    """Return a graph of one operator."""
    b = GraphBuilder("tanh", "relay")
    x = b.node("param", "x", name="x", type="Tensor[(1, 16), float32]")
    b.outputs = [b.node("op", "tanh", (x,), type="Tensor[(1, 16), float32]")]
    return b.build()


class Lines:
    """A value with a representation of two lines."""

    def __repr__(self) -> str:
        return "one\ntwo"


GRAPH = tanh()
WRONG = {
    "a graph view of a number": (lambda: wb.GraphView(3), "GraphView takes a Workload or a Graph, not int"),
    "a comparison with a number": (
        lambda: wb.CompareView(GRAPH, 3),
        "CompareView takes a Workload or a Graph, not int",
    ),
    "one title": (lambda: wb.CompareView(GRAPH, GRAPH, titles=["before"]), "titles"),
    "a stepper of a graph": (lambda: wb.PassStepper(GRAPH), "give a trace"),
    "a workbench of a graph": (lambda: wb.Workbench(GRAPH), "takes an IRModule"),
    "a fusion inspector of a number": (lambda: wb.FusionInspector(3), "takes an IRModule"),
    "a pattern inspector of a number": (lambda: wb.PatternInspector(3), "takes an IRModule"),
    "a cut behind no node": (lambda: wb.FusionInspector(GRAPH).cut(0, 99), "the graph has no node 99"),
    "an overlay of a number": (lambda: wb.GraphView(GRAPH).overlay(3), "overlay takes values by node id, .* not int"),
    "a memory view of a graph": (lambda: wb.MemoryView(GRAPH), "MemoryView takes"),
    "a search of a number": (lambda: wb.TunePanel(3), "TunePanel takes a Workload, not int"),
    "a search of a graph": (lambda: wb.TunePanel(GRAPH), "TunePanel takes a Workload, not Graph"),
    "a question that is a graph": (lambda: wb.Predict(GRAPH, 3), "question is text, not Graph"),
    "a unit that is a number": (lambda: wb.Predict("How many?", 3, unit=3), "unit is text, not int"),
    "a reason that is a number": (lambda: wb.Predict("How many?", 3, because=3), "because is text, not int"),
    "choices in one text": (lambda: wb.Predict("How many?", 3, choices="ab"), "choices is a list of texts, not 'ab'"),
    "choices of numbers": (
        lambda: wb.Predict("How many?", 3, choices=[1, 2]),
        "choices is a list of texts, not \\[1, 2]",
    ),
    "a number as choices": (lambda: wb.Predict("How many?", 3, choices=5), "choices is a list of texts, not 5"),
    "a value of several lines": (lambda: wb.GraphView(GRAPH, height=Lines()), "expected an int, not the Lines one two"),
    "a height in words": (
        lambda: wb.GraphView(GRAPH, height="high"),
        "'height' .* expected an int, not the str 'high'",
    ),
    "a small height": (lambda: wb.FusionInspector(GRAPH, height=3), "not be less than 120"),
    "an unknown mode": (lambda: wb.CompareView(GRAPH, GRAPH, mode="up"), "'mode' .* expected any of"),
    "a tab that is not there": (lambda: wb.PatternInspector(GRAPH, tab="up"), "'tab' .* expected any of"),
}


@pytest.mark.parametrize(("make", "message"), [pytest.param(*given, id=name) for name, given in WRONG.items()])
def test_constructor_refuses(make: Callable[[], object], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_assignment_refuses_and_keeps_the_value() -> None:
    view = wb.GraphView(GRAPH)
    with pytest.raises(WorkbenchError, match=r"'direction' .* expected any of") as raised:
        view.direction = "up"
    assert view.direction == "down"
    assert isinstance(raised.value, traitlets.TraitError), "traitlets' own handlers know it"
