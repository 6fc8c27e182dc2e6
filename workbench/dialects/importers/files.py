"""What people bring from elsewhere: other frameworks' files and objects, and what a compiler left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.graph_only import GraphOnly
from workbench.dialects.importers import executor_json, onnx_model, tflite_model, torch_model
from workbench.dialects.importers.shapes import Inputs
from workbench.dialects.parts import part
from workbench.errors import LoadError
from workbench.graph.json import FORMAT, loads
from workbench.graph.received import Damaged, parse

ONNX, TFLITE = ".onnx", ".tflite"
SUFFIXES = (ONNX, TFLITE)
"of files that another framework wrote, and that are read"


def imported(
    source: Any,
    path: Path | None,
    params: Mapping[str, Any] | None,
    name: str | None,
    inputs: Inputs,
    here: Callable[[], str],
) -> Workload | None:
    """A Workload of what another framework made or a compiler left; None for everything else.

    Parameters
    ----------
    path
        The file that `source` names, if it names one.
    inputs
        Shapes, or example arrays, of the model's inputs: by name or in order.
    here
        Gives the dialect that this environment's TVM runs, which is what a model is converted to, or raises LoadError.
    """
    found = _from_file(path, name, inputs, here) if path is not None else _from_object(source, name, inputs, here)
    if found is not None and params:
        found.params.update(params)
    return found


def _from_file(path: Path, name: str | None, inputs: Inputs, here: Callable[[], str]) -> Workload | None:
    suffix, called = path.suffix.lower(), name or path.stem
    if suffix in torch_model.SUFFIXES:
        torch_model.refuse_file(path)
    if suffix == ONNX:
        return _converted("onnx", here(), onnx_model.read(path), called, inputs)
    if suffix == TFLITE:
        return _converted("tflite", here(), tflite_model.read(path), called, inputs)
    if suffix != ".json":
        return None
    try:
        return _picture(path.read_text(encoding="utf-8"), called)
    except (OSError, UnicodeDecodeError):
        return None  # said where all other text is read


def _from_object(source: Any, name: str | None, inputs: Inputs, here: Callable[[], str]) -> Workload | None:
    if isinstance(source, str):
        return _picture(source, name or "graph") if source.lstrip().startswith("{") else None
    kind = _kind(source)
    return None if kind is None else _converted(kind, here(), source, name or type(source).__name__, inputs)


def _kind(source: Any) -> str | None:
    """Which importer takes an object. Its package is loaded if it is one of theirs, so none is imported to look."""
    onnx, nn = sys.modules.get("onnx"), sys.modules.get("tvm.relax.frontend.nn")
    if onnx is not None and isinstance(source, onnx.ModelProto):
        return "onnx"
    if nn is not None and isinstance(source, nn.Module):
        return "nn"
    return "torch" if torch_model.kind_of(source) else None


def _converted(format: str, dialect: str, model: Any, name: str, inputs: Inputs) -> Workload:
    """A model converted by the importer of a format for a dialect: `dialects/relay/importers/onnx.py`."""
    try:
        return part(dialect, f"importers.{format}").workload(model, name, inputs)
    except UnicodeDecodeError:
        raise LoadError(f"{name} holds a name that is not UTF-8, so the file is damaged; export it again") from None


def _picture(text: str, name: str) -> Workload | None:
    """What JSON shows that is no module: a graph executor's graph, or a graph that was saved here."""
    if FORMAT in text[:200]:
        graph = loads(text)
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
