"""TFLite models: read as TVM's converters take them, and converted. The converters report all operators that they lack by themselves."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, needed, shapes
from workbench.errors import LoadError, reason
from workbench.graph.received import contents

IDENTIFIER = b"TFL3"
LARGEST = 1 << 31
"bytes of a file, the limit of its format"


def read(path: Path) -> Any:
    """Return the tflite.Model in a file.

    Raises LoadError: it is not a TFLite model, it is damaged, or the package tflite is not installed.
    """
    tflite = needed("tflite", "tflite", "reading a TFLite model")
    try:
        data = contents(path, LARGEST)
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; check the path") from None
    if data[4:8] != IDENTIFIER:
        raise LoadError(
            f"{path.name} is not a TFLite model: it lacks the mark {IDENTIFIER.decode()}; give what TensorFlow's converter wrote"
        )
    try:
        model = tflite.Model.GetRootAsModel(data, 0)
        _walk(model)
    except (struct.error, IndexError, ValueError, TypeError, AttributeError) as error:
        raise LoadError(f"{path.name} is damaged: {error}; get the whole file") from None
    return model


def _walk(model: Any) -> None:
    """Touch all parts that the converters read, to find truncated data here."""
    for buffer in range(model.BuffersLength()):
        data = model.Buffers(buffer).DataAsNumpy()
        if getattr(data, "size", 0) and data[-1] is None:
            raise ValueError("a buffer without data")
    for place in range(model.SubgraphsLength()):
        graph = model.Subgraphs(place)
        for tensor in range(graph.TensorsLength()):
            graph.Tensors(tensor).Name()
        for operator in range(graph.OperatorsLength()):
            graph.Operators(operator).InputsAsNumpy()
            graph.Operators(operator).OutputsAsNumpy()


def input_names(model: Any) -> list[str]:
    """Return the names of the main graph's inputs."""
    graph = model.Subgraphs(0)
    return [graph.Tensors(i).Name().decode() for i in graph.InputsAsNumpy()]


def workload(
    convert: Callable[[Any, Any], tuple[Any, Any]],
    load: Callable[[Any, Any, str], Workload | None],
    model: Any,
    name: str,
    inputs: Inputs,
) -> Workload:
    """Return a Workload of a tflite.Model.

    `convert`: returns a module of the dialect and its parameters, for the model and shapes by input. `load`: the frontend's.
    """
    with Converting() as converting:
        module, params = convert(model, dict(shapes(inputs, input_names(model))) or None)
    made = load(module, params, name)
    assert made is not None, "it is an IRModule"
    made.notes += converting.warnings
    return made
