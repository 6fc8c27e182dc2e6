"""ONNX to Relay, by TVM's converters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay.expr import CallWithFields, TupleGetItemWithFields, TupleWithFields
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
from workbench.dialects.relay.compiler.folding import at
from workbench.dialects.relay.frontend import load


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


LARGEST = 64
"elements; a larger value is not a shape"

_LEAVES = (relay.Var, relay.GlobalVar, relay.Constant, tvm.ir.Op)
_OF_TYPES = ("shape_of", "vm.shape_of", "ndarray_size")
"operators that TVM folds by the type of their operand"

_BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@contextmanager
def linear_folding(frontend: ModuleType) -> Iterator[Folding]:
    """Make a TVM importer fold constants with a Folding while the block runs."""
    theirs = frontend.fold_constant
    folding = Folding(theirs)
    frontend.fold_constant = folding.fold  # type: ignore[attr-defined]
    try:
        yield folding
    finally:
        frontend.fold_constant = theirs  # type: ignore[attr-defined]


class Folding:
    """Constant folding for expressions that grow: no expression is visited twice, and shapes are computed in Python.

    For each converted operator, TVM's `fold_constant` visits the expression down to the inputs, so its time grows with the
    square of the depth; and it compiles a kernel for each addition of two dimensions: 20 of 21 s for a transformer of three
    layers.
    """

    def __init__(self, fold: Callable[..., Any]) -> None:
        self.visits = 0
        "expressions visited"
        self._by_tvm = fold
        self._folded: dict[int, Any] = {}
        self._kept: list[Any] = []
        "every expression in `_folded`, kept alive so that no other takes the address of one"

    def fold(self, expr: Any, mod: Any = None) -> Any:
        """Return an expression with its constant parts computed, as TVM's `fold_constant` does."""
        if mod is not None:
            return self._by_tvm(expr, mod)
        waiting = [expr]
        while waiting:
            here = waiting[-1]
            if at(here) in self._folded:
                waiting.pop()
                continue
            self.visits += 1
            parts = _parts(here)
            unseen = [part for part in parts if at(part) not in self._folded]
            if unseen:
                waiting.extend(unseen)
                continue
            value = self._fold_one(here, [self._folded[at(part)] for part in parts])
            for each in (here, value):
                self._folded[at(each)] = value
                self._kept.append(each)
        return self._folded[at(expr)]

    def _fold_one(self, expr: Any, parts: list[Any]) -> Any:
        """Return an expression whose operands are folded."""
        if isinstance(expr, relay.TupleGetItem):
            return parts[0].fields[expr.index] if isinstance(parts[0], relay.Tuple) else _with_parts(expr, parts)
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
            call = _with_parts(expr, parts)
            if expr.op.name in _OF_TYPES:
                return self._by_tvm(call)
            fields = [each for part in parts for each in (part.fields if isinstance(part, relay.Tuple) else [part])]
            if not parts or not all(isinstance(each, relay.Constant) for each in fields):
                return call
            value = small_integers(call)
            return self._by_tvm(call) if value is None else relay.const(value, str(value.dtype))
        if isinstance(expr, (relay.Tuple, *_LEAVES)):
            return _with_parts(expr, parts)
        return self._by_tvm(expr)


def _parts(expr: Any) -> list[Any]:
    """Return the operands that are folded before an expression; bindings and branches are left to TVM as a whole."""
    if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
        return list(expr.args)
    if isinstance(expr, relay.Tuple):
        return list(expr.fields)
    return [expr.tuple_value] if isinstance(expr, relay.TupleGetItem) else []


def _with_parts(expr: Any, parts: list[Any]) -> Any:
    if all(new.same_as(old) for new, old in zip(parts, _parts(expr), strict=True)):
        return expr
    if isinstance(expr, relay.Call):
        return CallWithFields(expr, expr.op, parts)
    if isinstance(expr, relay.Tuple):
        return TupleWithFields(expr, parts)
    return TupleGetItemWithFields(expr, parts[0])


def small_integers(expr: Any) -> np.ndarray | None:
    """Return the value of a call whose operands are small integer constants; None for every other expression."""
    if isinstance(expr, relay.Constant):
        value = expr.data
        small = np.prod(value.shape, dtype="int64") <= LARGEST
        return value.numpy() if small and value.dtype in ("int32", "int64") else None
    if not isinstance(expr, relay.Call) or not expr.args:
        return None
    first: Any = expr.args[0]
    values = []
    for part in first.fields if isinstance(first, relay.Tuple) else expr.args:
        value = small_integers(part) if isinstance(part, relay.Constant) else None
        if value is None:
            return None
        values.append(value)
    name, attrs = expr.op.name, expr.attrs
    if name in _BINARY and len(values) == 2 and values[0].dtype == values[1].dtype:
        return _BINARY[name](*values)
    if name == "concatenate":
        return np.concatenate(values, int(attrs.axis))
    plain = name == "strided_slice" and len(values) == 1 and values[0].ndim == 1 and attrs.slice_mode == "end"
    if plain and attrs.axes is None and len(attrs.begin) == len(attrs.end) == 1:
        step = int(attrs.strides[0]) if attrs.strides else 1
        return values[0][int(attrs.begin[0]) : int(attrs.end[0]) : step] if step > 0 else None
    return None
