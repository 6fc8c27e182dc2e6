"""Importers of other frameworks' models to Relay.

TVM folds constants while it converts, which builds code; for that it looks for tuned schedules on the network, with
retries, unless that is disabled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.errors import UnknownName

if TYPE_CHECKING:
    from workbench.dialects.facets import Importer

os.environ.setdefault("TOPHUB_LOCATION", "NONE")


def importer(format: str) -> Importer:
    """Return the converter of a format; it imports TVM's frontend of it."""
    match format:
        case "onnx":
            from workbench.dialects.relay.importers import onnx

            return onnx.workload
        case "tflite":
            from tvm.relay.frontend.tflite import from_tflite

            from workbench.dialects.importers import tflite_model
            from workbench.dialects.relay.frontend import load

            return tflite_model.workload(from_tflite, load)
        case "torch":
            from workbench.dialects.relay.importers import torch

            return torch.workload
    raise UnknownName("format of a model for Relay", format, ("onnx", "tflite", "torch"))
