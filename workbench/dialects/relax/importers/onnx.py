"""ONNX to Relax, by TVM's converters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax
from tvm.relax.frontend.onnx import onnx_frontend

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, shapes
from workbench.dialects.importers.names import dotted
from workbench.dialects.importers.onnx_model import (
    contradicted,
    input_names,
    newest_version,
    notes,
    one_convert_map,
    opset,
    prepared,
    visible_names,
)
from workbench.dialects.relax.frontend import load
from workbench.dialects.relax.importers.origins import Origins

_WITHOUT_CONVERTER = ("If", "Constant")
"converted without an entry in TVM's table"


def supported() -> set[str]:
    """Return the operators that this TVM converts."""
    return {name for name, converter in onnx_frontend._get_convert_map().items() if converter} | {*_WITHOUT_CONVERTER}  # noqa: SLF001  TVM has no public list


def _newest() -> int:
    """Return the newest opset that a converter here was written for."""
    table = onnx_frontend._get_convert_map()  # noqa: SLF001
    return newest_version(name for converter in table.values() if converter for name in dir(converter))


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a ModelProto; weights are its parameters."""
    model = visible_names(model)
    given = shapes(inputs, input_names(model))
    model = prepared(model, supported(), given)
    importer = _Importer(given)
    importer.converting.contradicted = contradicted(model, given)
    with one_convert_map(onnx_frontend), importer.converting:
        module = importer.from_onnx(model.graph, opset(model))
    module, params = relax.frontend.detach_params(importer.origins.named(module))
    made = load(module, params, name)
    assert made is not None, "it is an IRModule"
    made.notes += notes(model, given, _newest(), made.graph) + importer.converting.warnings
    return made


class _Importer(onnx_frontend.ONNXGraphImporter):
    """TVM's importer, which also records the node being converted and its result."""

    def __init__(self, shapes: Mapping[str, Sequence[int]]) -> None:
        super().__init__({name: list(shape) for name, shape in shapes.items()}, "float32", keep_params_in_input=True)
        self.converting = Converting()
        self.origins = Origins()

    def _convert_operator(self, op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
        path = attrs["tvm_custom"]["name"]
        self.converting.now(op_name, path)
        made = super()._convert_operator(op_name, inputs, attrs, opset)
        if isinstance(made, relax.Expr):
            # TVM 0.26 does this next, and makes another expression, which would have no name
            made = self.bb.normalize(made)
        self.origins.came(made, dotted(path.split("/")), self.bb)
        return made
