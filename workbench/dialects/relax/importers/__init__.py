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
            from workbench.dialects.relax.importers import tflite

            return tflite.workload
        case "torch":
            from workbench.dialects.relax.importers import torch

            return torch.workload
        case "nn":
            from workbench.dialects.relax.importers import nn

            return nn.workload
    raise UnknownName("format of a model for Relax", format, ("onnx", "tflite", "torch", "nn"))
