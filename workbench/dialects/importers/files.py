"""Readers of other frameworks' files and objects, of saved graphs and of a graph executor's JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from workbench.dialects.base import GraphOnly, Workload
from workbench.dialects.facets import Importer, Reader, Source
from workbench.dialects.importers import executor_json, onnx_model, tflite_model, torch_model
from workbench.dialects.importers.converting import Inputs
from workbench.dialects.registry import known_dialect
from workbench.errors import LoadError
from workbench.graph.json import FORMAT
from workbench.graph.model import Graph
from workbench.graph.received import Damaged, contents, parse

SUFFIXES = (".onnx", ".tflite")
"of files that another framework wrote and we read"
LONGEST = 1 << 29
"bytes of a file of text or JSON that is read"


_OPENED = {"onnx": onnx_model.read, "tflite": tflite_model.read}


class TorchFile:
    """A file of PyTorch's, which can run code when opened."""

    def accepts(self, source: Source) -> bool:
        return source.path is not None and source.path.suffix.lower() in torch_model.SUFFIXES

    def read(self, source: Source) -> Workload:
        assert source.path is not None
        torch_model.refuse_file(source.path)


class Model:
    """A model of another framework: its file, or its object."""

    def accepts(self, source: Source) -> bool:
        return _format(source) is not None

    def read(self, source: Source) -> Workload:
        format, path = _format(source), source.path
        assert format is not None
        given, name = (source.given, type(source.given).__name__) if path is None else (path, path.stem)
        return _with_params(source.converter.model(format, given, source.name or name, source.inputs), source)


class Picture:
    """JSON of a graph without a module: a saved graph, or that of TVM's graph executor."""

    def accepts(self, source: Source) -> bool:
        text = _json_text(source)
        if FORMAT in text[:200]:
            return True
        try:
            return '"arg_nodes"' in text and executor_json.is_executor_graph(parse(text))
        except Damaged:
            return True

    def read(self, source: Source) -> Workload:
        name = source.name or ("graph" if source.path is None else source.path.stem)
        text = _json_text(source)
        if FORMAT in text[:200]:
            why = "is a saved graph, so it can be looked at and not changed or built; load the module it was made of"
            return _with_params(GraphOnly(Graph.from_json(text), f"{name} {why}"), source)
        try:
            data = parse(text)
        except Damaged as error:
            raise LoadError(
                f"{name} begins as a graph of TVM's graph executor and is damaged ({error}); save lib.get_graph_json() again"
            ) from None
        graph = executor_json.build_graph(data, name)
        return _with_params(GraphOnly(graph, f"{name} {executor_json.WHY}", [executor_json.NOTE]), source)


READERS: tuple[Reader, ...] = (TorchFile(), Model(), Picture())
"of models and graphs from elsewhere, in the order in which they are tried"


def _with_params(workload: Workload, source: Source) -> Workload:
    workload.params.update(source.params or {})
    return workload


def _json_text(source: Source) -> str:
    """Return the JSON of a source; "" if it is something else or cannot be read, which the reader of text reports."""
    if source.path is None:
        return source.given if isinstance(source.given, str) and source.given.lstrip().startswith("{") else ""
    try:
        return contents(source.path, LONGEST).decode() if source.path.suffix.lower() == ".json" else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _format(source: Source) -> str | None:
    """Return the importer for a source; None if it is not another framework's. An object's package is already loaded."""
    if source.path is not None:
        suffix = source.path.suffix.lower()
        return suffix[1:] if suffix in SUFFIXES else None
    onnx, nn = sys.modules.get("onnx"), sys.modules.get("tvm.relax.frontend.nn")
    if onnx is not None and isinstance(source.given, onnx.ModelProto):
        return "onnx"
    if nn is not None and isinstance(source.given, nn.Module):
        return "nn"
    return "torch" if torch_model.kind_of(source.given) else None


def converted(format: str, dialect: str, source: Any, name: str, inputs: Inputs) -> Workload:
    """Convert a model by the importer of a format for a dialect."""
    model = _OPENED[format](source) if isinstance(source, Path) else source
    try:
        convert = importer(format, dialect)
        return onnx_model.workload(convert, model, name, inputs) if format == "onnx" else convert(model, name, inputs)
    except UnicodeDecodeError:
        raise LoadError(f"{name} holds a name that is not UTF-8, so the file is damaged; export it again") from None


def importer(format: str, dialect: str) -> Importer:
    """Return the converter of a format for a dialect, such as that of `dialects/relay/importers/onnx.py`."""
    return known_dialect(dialect).importer(format)
