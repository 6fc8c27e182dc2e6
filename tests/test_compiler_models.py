"""The models of compiler_models compute what ONNX's own evaluator does, in both dialects."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.pipeline.outputs import run_once

sys.path.insert(0, str(Path(__file__).parent))
from breadth import breadth
from compiler_models import MODELS
from onnx_models import reference

SHORT = ("LSTM, unrolled",)
REFUSED = {"LSTM": "LSTM"}
"a model that a dialect may have no converter for -> the operator"


@pytest.mark.parametrize("name", breadth(MODELS, *SHORT))
def test_outputs_are_those_of_onnx_or_the_operator_is_named(dialect: str, name: str, tell: Any) -> None:
    model = MODELS[name]()
    try:
        workload = wb.load(model)
    except wb.WorkbenchError as error:
        assert f"cannot convert 1 of the model's ONNX operators: {REFUSED[name]}" in str(error)  # noqa: PT017
        tell(f"{dialect}: {name} does not load: {error}")
        return
    (ours,), (theirs,) = run_once(workload).outputs, reference(model, workload.limits)
    scale = np.abs(theirs).max()
    tell(f"{dialect}: {name} differs from onnx's own by {np.abs(ours - theirs).max() / scale:.1e} of its largest value")
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=1e-4, atol=1e-5)
