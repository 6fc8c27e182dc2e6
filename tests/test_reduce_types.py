"""Data types and functions in `wb.reduce`, on both dialects: the edits, and reductions that get smaller by them."""

from __future__ import annotations

import numpy as np
import pytest
from calls_and_types import CALLS, RECURSIVE, TYPES

import workbench as wb
from workbench.experiments.reduce.search import inline, retype
from workbench.experiments.reduce.size import size_of
from workbench.pipeline.spec import PassStep, Pipeline


def typed(dialect: str) -> wb.Workload:
    return wb.load(TYPES[dialect])


def calling(dialect: str) -> wb.Workload:
    return wb.load(CALLS[dialect])


def after(w: wb.Workload, *steps: PassStep) -> wb.Workload:
    trace = wb.trace(w, Pipeline(steps), 0)
    assert trace.failed is None, [step.error for step in trace.steps]
    return w.of(trace.result)


def names(w: wb.Workload) -> list[str]:
    return [node.op.rpartition(".")[2] for node in w.graph.ops]


def dtypes(w: wb.Workload) -> set[str]:
    return {dtype for node in w.graph.nodes for dtype in ("float16", "float32", "float64") if dtype in node.type}


def depends(w: wb.Workload, first: str, last: str) -> bool:
    """Return whether an operator depends on another one."""
    graph, found = w.graph, set[int]()
    for node in graph.nodes:
        if node.op.endswith(first) or found & set(graph.inputs[node.id]):
            found.add(node.id)
    return any(graph.nodes[node].op.endswith(last) for node in found)


def softmax_of_sum(w: wb.Workload, _: wb.Config) -> bool:
    return depends(w, "add", "softmax")


def test_a_type_changes_everywhere(dialect: str) -> None:
    w = typed(dialect)
    made = after(w, retype("float64", "float32"), retype("float16", "float32"))
    assert dtypes(made) == {"float32"}
    assert names(made) == names(w)
    assert size_of(made) < size_of(w)


def test_the_type_of_one_input_changes(dialect: str) -> None:
    w = typed(dialect)
    (place,) = (node.id for node in w.graph.nodes if node.op == "y")
    made = after(w, retype("float16", "float32", [place]))
    assert dtypes(made) == {"float32", "float64"}
    (wrong,) = (node.id for node in w.graph.nodes if node.op == "x")
    assert size_of(after(w, retype("float16", "float32", [wrong]))).types == size_of(w).types


def test_a_cast_that_joins_types_is_removed(dialect: str) -> None:
    small = wb.reduce(typed(dialect), softmax_of_sum)
    assert names(small.workload) == ["add", "softmax"]
    assert dtypes(small.workload) == {"float32"}
    assert "ChangeDtype" in small.edits
    assert small.trace.failed is None
    assert any("float32 in the place of float64" in step.said for step in small.steps)


def test_a_type_that_the_symptom_needs_stays(dialect: str) -> None:
    def has_double(w: wb.Workload, config: wb.Config) -> bool:
        return softmax_of_sum(w, config) and "float64" in dtypes(w)

    small = wb.reduce(typed(dialect), has_double)
    assert len(small.workload.graph.ops) == 3
    assert dtypes(small.workload) == {"float32", "float64"}


def test_parameters_have_the_new_type(dialect: str) -> None:
    def has_values(w: wb.Workload, config: wb.Config) -> bool:
        return softmax_of_sum(w, config) and "x" in w.params

    w = wb.load(TYPES[dialect], {"x": np.full((4, 8), 0.5)})
    small = wb.reduce(w, has_values)
    assert dtypes(small.workload) == {"float32"}
    assert str(small.workload.params["x"].dtype) == "float32"


def test_functions_are_inlined(dialect: str) -> None:
    w = calling(dialect)
    made = after(w, inline())
    assert names(made) == ["exp", "tanh", "relu"] * 2 + ["softmax"]
    assert [group.name for group in made.graph.groups] == ["main"]
    assert size_of(w).operators == size_of(made).operators == 7
    assert size_of(made) < size_of(w)
    chain = [node.id for node in made.graph.nodes]
    assert [list(made.graph.inputs[node]) for node in chain] == [[], *([node] for node in chain[:-1])]


def test_one_function_is_inlined(dialect: str) -> None:
    made = after(calling(dialect), inline(["f"]))
    assert sorted(group.name for group in made.graph.groups) == ["g", "main"]
    assert names(made).count("exp") == 2


def test_a_function_that_calls_itself_stays(dialect: str) -> None:
    w = wb.load(RECURSIVE[dialect])
    made = after(w, inline())
    assert sorted(group.name for group in made.graph.groups if group.kind == "function") == ["f", "main"]
    assert size_of(w).operators == 2, "the call in main, and the one within"


@pytest.mark.parametrize("wanted", [("tanh", "softmax"), ("exp", "relu")])
def test_operators_in_functions_are_removed(dialect: str, wanted: tuple[str, str]) -> None:
    small = wb.reduce(calling(dialect), lambda w, _: set(wanted) <= set(names(w)))
    assert sorted(names(small.workload)) == sorted(wanted)
    assert "InlineFunctions" in small.edits


def test_a_function_that_the_symptom_needs_stays(dialect: str) -> None:
    def calls_g(w: wb.Workload, _: wb.Config) -> bool:
        return any(group.name == "g" for group in w.graph.groups)

    small = wb.reduce(calling(dialect), calls_g)
    assert [group.name for group in small.workload.graph.groups] == ["main", "g"]
    assert "functions=['f']" in small.edits


@pytest.mark.one_dialect
def test_two_searches_are_equal(dialect: str) -> None:
    first, second = (wb.reduce(typed(dialect), softmax_of_sum) for _ in range(2))
    assert (first.edits, first.probes, first.text) == (second.edits, second.probes, second.text)


@pytest.mark.one_dialect
def test_wrong_options_are_refused(dialect: str) -> None:
    def error(w: wb.Workload, step: PassStep) -> str:
        return wb.trace(w, Pipeline([step]), 0).steps[0].error

    w = typed(dialect)
    added = next(node.id for node in w.graph.ops)
    assert "is not an input or a constant" in error(w, retype("float64", "float32", [added]))
    assert "is not an input or a constant" in error(w, retype("float64", "float32", [99]))
    assert "has no function 'h'" in error(w, inline(["h"]))
    for wrong in ("nonsense", 3):
        with pytest.raises(wb.WorkbenchError, match="is not a data type that can be changed"):
            wb.trace(w, Pipeline([PassStep("ChangeDtype", {"dtype": "float64", "to": wrong})]), 0)
