"""ONNX models that TVM refuses as exported, retried after onnxscript simplifies them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Inputs, needed, shapes
from workbench.dialects.importers.onnx_model import input_names, onnx_package
from workbench.errors import LoadError, Unconverted

Convert = Callable[[Any, str, Inputs], Workload]
FILLED = 1 << 16
"elements of a ConstantOfShape that may be written out: paddings and shapes, not weights"


def workload(convert: Convert, model: Any, name: str, inputs: Inputs) -> Workload:
    """Convert a ModelProto; simplify it first if the converter refuses it as it is.

    Raises
    ------
    LoadError
        The converter refuses both the original and the simplified model; the message is about the original.
    """
    try:
        return convert(model, name, inputs)
    except Unconverted as error:
        refused = str(error)
    given = shapes(inputs, input_names(model))
    if other := next(_contradictions(model, given), ""):
        raise LoadError(f"{refused}; {other}")
    optimizer = _optimizer(refused)
    try:
        made = convert(_simplified(optimizer, model, given), name, inputs)
    except LoadError:
        raise LoadError(refused) from None
    what = refused.partition(": ")[0]
    made.notes.insert(0, f"{what} as exported, so onnxscript simplified the model first: constants are folded in it")
    return made


def _contradictions(model: Any, given: dict[str, tuple[int, ...]]) -> Iterator[str]:
    """Yield a sentence for each given shape that the model's own contradicts."""
    for value in model.graph.input:
        if value.name in given and value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            own = [dim.dim_value or dim.dim_param or "?" for dim in dims]
            sizes = given[value.name]
            pairs = zip(own, sizes, strict=False)
            if len(own) != len(sizes) or any(isinstance(size, int) and size != new for size, new in pairs):
                yield f"inputs= gives {value.name} the shape {sizes}, and the model has ({', '.join(map(str, own))})"


def _optimizer(refused: str) -> Any:
    try:
        return needed("onnxscript.optimizer", "simplify", "simplifying an ONNX model")
    except LoadError as missing:
        raise LoadError(f"{refused}; the simplified model may convert, and {missing}") from None


def _simplified(optimizer: Any, model: Any, given: dict[str, tuple[int, ...]]) -> Any:
    """Return a copy with constants folded and the shapes of inputs written in; raises LoadError if that fails."""
    copy = onnx_package().ModelProto()
    copy.CopyFrom(model)
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
