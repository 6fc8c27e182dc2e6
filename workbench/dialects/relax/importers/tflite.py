"""TFLite to Relax, by TVM's converters, which report all operators that they lack by themselves."""

from __future__ import annotations

from typing import Any

from tvm import relax

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, shapes
from workbench.dialects.importers.tflite_model import input_names
from workbench.dialects.relax.frontend import load


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a tflite.Model."""
    from tvm.relax.frontend.tflite import from_tflite

    converting = Converting()
    with converting:
        converted = from_tflite(model, dict[str, Any](shapes(inputs, input_names(model))) or None)
    # the weights are constants already; the detached arrays are copies of them that belong to no parameter
    module, _ = relax.frontend.detach_params(converted)
    made = load(module, None, name)
    assert made is not None, "it is an IRModule"
    made.notes += converting.warnings
    return made
