"""A public function that takes a Workload refuses another object in one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb


def _takes_a_workload(name: str) -> bool:
    found = getattr(wb, name)
    parameters = list(inspect.signature(found).parameters.values()) if inspect.isfunction(found) else []
    return bool(parameters) and parameters[0].annotation in (
        "Workload",
        "Workload | None",
        "Workload | Graph",
        "Workload | Trace",
    )


NAMES = [name for name in sorted(wb.__all__) if _takes_a_workload(name)]


def test_the_functions_are_found() -> None:
    assert {"count", "measure", "trace", "trace_build", "tune", "cut"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_another_object_is_refused(name: str) -> None:
    function = getattr(wb, name)
    _, *others = inspect.signature(function).parameters.values()
    required = [each for each in others if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    # pattern_for looks at the ids first
    with pytest.raises(wb.WorkbenchError, match=r"Workload|ids"):
        function("model.onnx", *["FuseOps" for _ in required])


@pytest.mark.parametrize("name", ["overlay_of", "joined"])
def test_another_object_than_counted_kernels_is_refused(name: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=f"{name} takes the result of wb.kernels"):
        getattr(wb, name)(3)


TRACE = wb.Trace.open(Path(__file__).parents[2] / "docs" / "recorded" / "casts.wbtrace")
GRAPH = TRACE.start.graph
BOUNDARIES = wb.boundary_costs(GRAPH)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: wb.count("model.onnx"), "wb.load reads a file or a text", id="a path"),
        pytest.param(lambda: wb.count(TRACE), r"wb\.load\(trace\.result\)", id="a trace"),
        pytest.param(lambda: wb.count(GRAPH), "a graph has no module", id="a graph"),
        pytest.param(lambda: wb.explain_fusion(TRACE), r"trace\.end\.graph", id="a trace for a graph"),
        pytest.param(lambda: wb.load(TRACE), r"wb\.load\(trace\.result\)", id="a trace to load"),
        pytest.param(lambda: wb.load("old.wbtrace"), r"wb\.Trace\.open reads it", id="the file of a trace to load"),
        pytest.param(lambda: wb.load(3), "wb.load takes an IRModule, .*, not int", id="a number to load"),
        pytest.param(lambda: wb.remarks(3), "remarks takes a Workload or a Trace, not int", id="remarks of a number"),
        pytest.param(lambda: wb.Pipeline(3), "a pipeline is a text or a list of passes, not int", id="a pipeline"),
        pytest.param(
            lambda: wb.explain_fusion(GRAPH).why("cast", "relu"),
            r"a node is named by its id, not by str 'cast'; take ids from g\.nodes, such as g\.ops\[0\]\.id",
            id="an operator for a node",
        ),
        pytest.param(
            lambda: wb.explain_fusion(GRAPH).why(GRAPH.ops[0]), f"Node {GRAPH.ops[0].id}", id="a Node for its id"
        ),
        pytest.param(lambda: TRACE.step("FuseOpss"), "no pass in this trace named 'FuseOpss'; .* FuseOps", id="a step"),
        pytest.param(lambda: TRACE.save("t.html"), r"wb\.PassStepper\(trace\)\.save", id="a trace as a page"),
        pytest.param(lambda: wb.plots.peak_by_pass(GRAPH), "takes a trace, not Graph", id="the peaks of a graph"),
        pytest.param(lambda: wb.plots.memory(GRAPH), "takes a memory plan, not Graph", id="the memory of a graph"),
    ],
)
def test_the_message_has_the_remedy(call: Callable[[], object], message: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_a_step_is_found_by_the_name_of_its_pass() -> None:
    assert TRACE.step("FuseOps") is next(step for step in TRACE.steps if step.name == "FuseOps")


def test_an_absent_operator_suggests_the_names_of_the_graph() -> None:
    with pytest.raises(AssertionError, match=r"no operator matmul; it has relax\.matmul"):
        wb.assert_fused(GRAPH, ["matmul", "relax.add"])
    with pytest.raises(AssertionError, match=r"no operator zzz\.$"):
        wb.assert_fused(GRAPH, ["zzz"])


def test_costs_print_the_dearest_boundaries_alone() -> None:
    text = str(BOUNDARIES)
    assert text.startswith(f"{len(BOUNDARIES)} boundaries")
    assert len(text.splitlines()) <= 9


def test_a_report_counts_the_operators_without_a_kind() -> None:
    assert "8 operators without a kind, see LegalizeOps,AnnotateTIROpPattern" in repr(wb.explain_fusion(GRAPH))
    assert "without a kind" not in repr(wb.explain_fusion(TRACE.step("FuseOps").before))
