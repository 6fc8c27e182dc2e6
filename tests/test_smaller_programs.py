"""The passes that make smaller programs, on samples of both dialects."""

from __future__ import annotations

import pytest
from small_samples import SMALL

import workbench as wb
from workbench.analysis.subprograms import operators
from workbench.experiments.reduce.search import earlier, fill, keep, replace_values, resize
from workbench.experiments.reduce.size import is_filled
from workbench.pipeline.spec import PassStep, Pipeline


def after(w: wb.Workload, step: PassStep) -> wb.Workload:
    trace = wb.trace(w, Pipeline([step]), 0)
    assert trace.failed is None, trace.steps[0].error
    return wb.load(trace.result)


def error(w: wb.Workload, step: PassStep) -> str:
    return wb.trace(w, Pipeline([step]), 0).steps[0].error


@pytest.fixture(params=sorted(SMALL))
def w(request: pytest.FixtureRequest, dialect: str) -> wb.Workload:
    return wb.samples.load(request.param, dialect=dialect, **SMALL[request.param])


def ops(w: wb.Workload) -> list[str]:
    return sorted(node.op for node in w.graph.ops)


def test_any_run_of_operators_is_a_program(w: wb.Workload) -> None:
    nodes = operators(w.graph)
    for start in range(0, len(nodes), max(1, len(nodes) // 5)):
        chosen = nodes[start : start + 3]
        made = after(w, keep(w.graph, chosen))
        assert ops(made) == sorted(w.graph.nodes[node].op for node in chosen)


def test_operators_that_are_apart_are_a_program(w: wb.Workload) -> None:
    chosen = operators(w.graph)[::3]
    assert ops(after(w, keep(w.graph, chosen))) == sorted(w.graph.nodes[node].op for node in chosen)


def test_earlier_value_takes_the_place_of_an_operator(w: wb.Workload) -> None:
    pairs = [(node, other) for node in operators(w.graph) for other in list(earlier(w.graph, node))[:1]]
    for pair in pairs[:3]:
        made = after(w, replace_values(w.graph, [pair]))
        assert len(made.graph.ops) < len(w.graph.ops)
        assert made.graph.nodes[made.graph.outputs[0]].type == w.graph.nodes[w.graph.outputs[0]].type


def test_all_operators_compute_the_same(dialect: str) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    whole = after(w, keep(w.graph, operators(w.graph)))
    whole.params = w.params
    assert wb.compare_outputs(w, whole)


def test_dimensions_of_one_size_change(dialect: str) -> None:
    w = wb.samples.load("mlp", dialect=dialect, width=12)
    made = after(w, resize(12, 2, True))
    assert not any("12" in node.type for node in made.graph.nodes)
    assert any("12" in node.type for node in w.graph.nodes)
    assert ops(made) == ops(w)


def test_size_that_is_nowhere_changes_nothing(w: wb.Workload) -> None:
    """All attributes of the samples are made again; Relax's number of inputs is left out once."""
    nothing = resize(7777, 1, True)
    assert wb.trace(after(w, nothing), Pipeline([nothing]), 0).steps[0].status == "same"


def test_resize_to_the_same_size_changes_nothing(w: wb.Workload) -> None:
    assert wb.trace(w, Pipeline([resize(8, 8, True)]), 0).steps[0].status == "same"


def test_constants_have_one_value(dialect: str) -> None:
    w = wb.samples.load("attention", dialect=dialect, seq=8)
    given = [node.id for node in w.graph.nodes if node.kind == "constant" and not is_filled(node)]
    assert given
    made = after(w, fill(given, 1)).graph
    assert all(is_filled(made.nodes[place]) for place in given)


def test_wrong_options_are_an_error_of_the_step(dialect: str) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    nodes = operators(w.graph)
    assert "is not an operator" in error(w, PassStep("KeepOperators", {"nodes": [0]}))
    assert "written for" in error(w, PassStep("KeepOperators", {"nodes": [nodes[0]], "ops": ["nothing"]}))
    assert "cannot replace" in error(w, PassStep("ReplaceValues", {"pairs": [[nodes[0], nodes[1]]]}))
    with pytest.raises(wb.WorkbenchError, match="from 1 to 4"):
        wb.trace(w, "ResizeDimensions{size=4,to=5}")
