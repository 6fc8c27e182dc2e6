"""ONNX to Relay, by TVM's converters."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tvm import relay
from tvm.relay.frontend import onnx as onnx_frontend

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import Converting, Inputs, shapes, unknown_shapes
from workbench.dialects.importers.onnx_model import (
    contradicted,
    input_names,
    newest_version,
    nodes,
    notes,
    one_convert_map,
    onnx_package,
    opset,
    prepared,
    visible_names,
)
from workbench.dialects.relay.frontend import load
from workbench.dialects.relay.importers.folding import linear_folding


def supported(version: int) -> set[str]:
    """Return the operators that this TVM converts from that opset."""
    table = onnx_frontend._get_convert_map(version)  # noqa: SLF001  TVM has no public list
    return {*table, *onnx_frontend._identity_list, "Constant"}  # noqa: SLF001


def _newest() -> int:
    """Return the newest opset that a converter here was written for."""
    table = onnx_frontend._get_convert_map(1 << 16)  # noqa: SLF001
    return newest_version(getattr(converter, "__name__", "") for converter in table.values())


def workload(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a ModelProto; weights are its parameters.

    Where a shape that the inputs fix is known only if weights are constants, they are: TVM's `from_onnx` has them so by default.
    """
    model = visible_names(model)
    given = shapes(inputs, input_names(model))
    model = prepared(model, supported(opset(model)), given)
    axes_as_attributes(model)
    _with_mapping(onnx_package())
    made = _converted(model, name, given, frozen=False)
    unknown = unknown_shapes(made.graph)
    if unknown:
        frozen = _converted(model, name, given, frozen=True)
        made = frozen if len(unknown_shapes(frozen.graph)) < len(unknown) else made
    return made


def _converted(model: Any, name: str, given: Mapping[str, tuple[int, ...]], *, frozen: bool) -> Workload:
    importer = _Importer(given, "float32", frozen, {})
    importer.converting.contradicted = contradicted(model, given)
    with one_convert_map(onnx_frontend), linear_folding(onnx_frontend), importer.converting, importer:
        module, params = importer.from_onnx(model.graph, opset(model))
        made = load(module, params, name)
        if made and any(node.op.startswith("dyn.") for node in made.graph.ops):
            # as from_onnx does: shapes that follow from those of the inputs are folded only here
            made = load(relay.transform.DynamicToStatic()(made.module), params, name)
    assert made is not None, "it is an IRModule"
    made.notes += notes(model, given, _newest(), made.graph) + importer.converting.warnings
    return made


class _Importer(onnx_frontend.GraphProto):
    """TVM's importer, which also records the node being converted."""

    converting: Converting

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.converting = Converting()

    def _convert_operator(self, op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
        self.converting.now(op_name, attrs["tvm_custom"]["name"])
        return super()._convert_operator(op_name, inputs, attrs, opset)


def _with_mapping(onnx: Any) -> None:
    """Restore the table that this TVM's importer reads: onnx 1.19 removed the module `onnx.mapping`."""
    if "onnx.mapping" in sys.modules:
        return
    try:
        import onnx.mapping
    except ImportError:
        mapping = ModuleType("onnx.mapping")
        kinds = [kind for kind in onnx.TensorProto.DataType.values() if kind != onnx.TensorProto.UNDEFINED]
        to_numpy = {kind: onnx.helper.tensor_dtype_to_np_dtype(kind) for kind in kinds}
        mapping.TENSOR_TYPE_TO_NP_TYPE = to_numpy  # type: ignore[attr-defined]
        mapping.NP_TYPE_TO_TENSOR_TYPE = {dtype: kind for kind, dtype in to_numpy.items()}  # type: ignore[attr-defined]
        sys.modules["onnx.mapping"] = mapping


def axes_as_attributes(model: Any) -> None:
    """Write constant axes of every reduction in the model back into the attribute, in place."""
    onnx = onnx_package()
    values = {
        node.output[0]: attribute.t
        for node in nodes(model.graph)
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    }
    for node in nodes(model.graph):
        if node.op_type.startswith("Reduce") and len(node.input) == 2 and node.input[1] in values:
            axes = onnx.numpy_helper.to_array(values[node.input[1]]).reshape(-1).tolist()
            if axes:
                _rewrite(onnx, node, axes)


def _rewrite(onnx: Any, node: Any, axes: list[int]) -> None:
    del node.input[1]
    kept = [attribute for attribute in node.attribute if attribute.name not in ("axes", "noop_with_empty_axes")]
    node.ClearField("attribute")
    node.attribute.extend([*kept, onnx.helper.make_attribute("axes", axes)])
