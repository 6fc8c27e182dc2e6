"""What people bring from elsewhere: other frameworks' files and objects, and what a compiler left."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import GraphOnly, Workload
from workbench.dialects.facets import Converter, Importer
from workbench.dialects.importers import executor_json, onnx_model, onnx_simpler, tflite_model, torch_model
from workbench.dialects.importers.converting import Inputs
from workbench.dialects.registry import known_dialect
from workbench.errors import LoadError
from workbench.graph.json import FORMAT
from workbench.graph.model import Graph
from workbench.graph.received import Damaged, parse

SUFFIXES = (".onnx", ".tflite")
"of files that another framework wrote, and that are read"


_READERS = {"onnx": onnx_model.read, "tflite": tflite_model.read}


def imported(
    source: Any,
    path: Path | None,
    params: Mapping[str, Any] | None,
    name: str | None,
    inputs: Inputs,
    converter: Converter,
) -> Workload | None:
    """A Workload of what another framework made or a compiler left; None for everything else.

    Parameters
    ----------
    path
        The file that `source` names, if it names one.
    inputs
        Shapes, or example arrays, of the model's inputs: by name or in order.
    converter
        Makes TVM's objects of files, and of models that were read from files.
    """
    found = (
        _from_file(path, name, inputs, converter) if path is not None else _from_object(source, name, inputs, converter)
    )
    if found is not None and params:
        found.params.update(params)
    return found


def _from_file(path: Path, name: str | None, inputs: Inputs, converter: Converter) -> Workload | None:
    suffix, called = path.suffix.lower(), name or path.stem
    if suffix in torch_model.SUFFIXES:
        torch_model.refuse_file(path)
    if suffix in SUFFIXES:
        return converter.model(suffix[1:], path, called, inputs)
    if suffix != ".json":
        return None
    try:
        return _picture(path.read_text(encoding="utf-8"), called)
    except (OSError, UnicodeDecodeError):
        return None  # said where all other text is read


def _from_object(source: Any, name: str | None, inputs: Inputs, converter: Converter) -> Workload | None:
    if isinstance(source, str):
        return _picture(source, name or "graph") if source.lstrip().startswith("{") else None
    kind = _kind(source)
    return None if kind is None else converter.model(kind, source, name or type(source).__name__, inputs)


def _kind(source: Any) -> str | None:
    """Which importer takes an object. Its package is loaded if it is one of theirs, so none is imported to look."""
    onnx, nn = sys.modules.get("onnx"), sys.modules.get("tvm.relax.frontend.nn")
    if onnx is not None and isinstance(source, onnx.ModelProto):
        return "onnx"
    if nn is not None and isinstance(source, nn.Module):
        return "nn"
    return "torch" if torch_model.kind_of(source) else None


def converted(format: str, dialect: str, source: Any, name: str, inputs: Inputs) -> Workload:
    """Convert a model by the importer of a format for a dialect."""
    model = _READERS[format](source) if isinstance(source, Path) else source
    try:
        convert = importer(format, dialect)
        return onnx_simpler.workload(convert, model, name, inputs) if format == "onnx" else convert(model, name, inputs)
    except UnicodeDecodeError:
        raise LoadError(f"{name} holds a name that is not UTF-8, so the file is damaged; export it again") from None


def importer(format: str, dialect: str) -> Importer:
    """Return the converter of a format for a dialect: that of `dialects/relay/importers/onnx.py`."""
    return known_dialect(dialect).importer(format)


def _picture(text: str, name: str) -> Workload | None:
    """What JSON shows that is no module: a graph executor's graph, or a graph that was saved here."""
    if FORMAT in text[:200]:
        graph = Graph.from_json(text)
        return GraphOnly(
            graph,
            f"{name} is a saved graph, so it can be looked at and not changed or built; load the module it was made of",
        )
    if '"arg_nodes"' not in text:
        return None
    try:
        data = parse(text)
    except Damaged as error:
        raise LoadError(
            f"{name} begins as a graph of TVM's graph executor and is damaged ({error}); save lib.get_graph_json() again"
        ) from None
    if not executor_json.is_executor_graph(data):
        return None
    return GraphOnly(executor_json.build_graph(data, name), f"{name} {executor_json.WHY}", [executor_json.NOTE])
