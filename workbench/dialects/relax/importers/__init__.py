"""Importers of other frameworks' models to Relax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import UnknownName

if TYPE_CHECKING:
    from workbench.dialects.facets import Importer


def importer(format: str) -> Importer:
    """Return the converter of a format; it imports TVM's frontend of it."""
    match format:
        case "onnx":
            from workbench.dialects.relax.importers import onnx

            return onnx.workload
        case "tflite":
            from tvm.relax.frontend import detach_params
            from tvm.relax.frontend.tflite import from_tflite

            from workbench.dialects.importers import tflite_model
            from workbench.dialects.relax.frontend import load

            # the weights are constants already; the detached arrays are copies of them that belong to no parameter
            return tflite_model.workload(lambda *given: (detach_params(from_tflite(*given))[0], None), load)
        case "torch":
            from workbench.dialects.relax.importers import torch

            return torch.workload
        case "nn":
            from workbench.dialects.relax.importers import nn

            return nn.workload
    raise UnknownName("format of a model for Relax", format, ("onnx", "tflite", "torch", "nn"))
