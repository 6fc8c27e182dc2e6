"""TFLite to Relay, by TVM's converters, which report all operators that they lack by themselves."""

from __future__ import annotations

from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, shapes
from workbench.dialects.importers.tflite_model import input_names
from workbench.dialects.relay.frontend import load


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a tflite.Model."""
    from tvm.relay.frontend.tflite import from_tflite

    converting = Converting()
    with converting:
        module, params = from_tflite(model, shapes(inputs, input_names(model)) or None)
    made = load(module, params, name)
    assert made is not None, "it is an IRModule"
    made.notes += converting.warnings
    return made
