"""ONNX models that TVM refuses as exported, or imports with unknown shapes, retried after onnxscript simplifies them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import LONGEST, Inputs, needed, shapes, unknown_shapes
from workbench.dialects.importers.onnx_model import contradicted, input_names, onnx_package
from workbench.errors import LoadError, Unconverted
from workbench.wording import counted

Convert = Callable[[Any, str, Inputs], Workload]
FILLED = 1 << 16
"elements of a ConstantOfShape that may be written out: paddings and shapes, not weights"


def workload(convert: Convert, model: Any, name: str, inputs: Inputs) -> Workload:
    """Convert a ModelProto; simplify it first if the converter refuses it as it is, or does not know shapes that inputs decide.

    Raises
    ------
    LoadError
        The converter refuses both the original and the simplified model; the message is about the original.
    """
    try:
        made = convert(model, name, inputs)
    except Unconverted as error:
        return _instead_of_refused(str(error), convert, model, name, inputs)
    unknown = unknown_shapes(made.graph)
    if not unknown:
        return made
    first = next(iter(unknown[0].source), unknown[0].op)
    said = f"the inputs have known shapes, and TVM cannot tell {counted(len(unknown), 'shape')}, the first at {first[:LONGEST]}"
    try:
        simple = convert(_simplified(_optimizer(), model, inputs), name, inputs)
    except LoadError as error:
        made.notes.append(f"{said}; the simplified model may have them: {error}")
        return made
    if len(unknown_shapes(simple.graph)) < len(unknown):
        return _noted(simple, f"{said}, in the model")
    made.notes.append(f"{said}: only a run decides them")
    return made


def _instead_of_refused(refused: str, convert: Convert, model: Any, name: str, inputs: Inputs) -> Workload:
    if other := contradicted(model, shapes(inputs, input_names(model))):
        raise LoadError(refused if other in refused else f"{refused}; {other}")
    try:
        optimizer = _optimizer()
    except LoadError as missing:
        raise LoadError(f"{refused}; the simplified model may convert, and {missing}") from None
    try:
        made = convert(_simplified(optimizer, model, inputs), name, inputs)
    except LoadError:
        raise LoadError(refused) from None
    return _noted(made, refused.partition(": ")[0])


def _noted(made: Workload, why: str) -> Workload:
    made.notes.insert(0, f"{why} as exported, so onnxscript simplified the model first: constants are folded in it")
    return made


def _optimizer() -> Any:
    return needed("onnxscript.optimizer", "simplify", "simplifying an ONNX model")


def _simplified(optimizer: Any, model: Any, inputs: Inputs) -> Any:
    """Return a copy with constants folded and the shapes of inputs written in; raises LoadError if that fails."""
    copy = onnx_package().ModelProto()
    copy.CopyFrom(model)
    given = shapes(inputs, input_names(model))
    for value in copy.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, given.get(value.name, ()), strict=False):
            dimension.dim_value = size
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer.fold_constants(copy, onnx_shape_inference=True, should_fold=_is_small_filling)
            return optimizer.optimize(copy)
    except Exception as error:  # noqa: BLE001  it runs the model's operators, which may fail with anything
        raise LoadError(f"the model cannot be simplified: {error}") from None


def _is_small_filling(node: Any) -> bool | None:
    """Return whether to fold a node; None for onnxscript's own rules, which leave every ConstantOfShape."""
    if node.op_type != "ConstantOfShape":
        return None
    shape = node.inputs[0].const_value if node.inputs and node.inputs[0] is not None else None
    return True if shape is not None and shape.numpy().prod() <= FILLED else None
