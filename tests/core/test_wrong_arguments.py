"""A public function that takes a Workload refuses another object in one sentence."""

from __future__ import annotations

import inspect

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
