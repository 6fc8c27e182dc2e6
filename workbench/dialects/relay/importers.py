"""Models of other frameworks as Relay, by TVM's converters.

TVM folds constants while it converts, which builds code; for that it looks for tuned schedules on the network, with
retries, unless that is disabled.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay.frontend import onnx as onnx_frontend
from tvm.relay.frontend import pytorch
from tvm.relay.prelude import Prelude

from workbench.dialects.base import Workload
from workbench.dialects.importers import tflite_model
from workbench.dialects.importers.converting import (
    Converting,
    Inputs,
    drawn_once,
    needed,
    refuse,
    shapes,
    unknown_shapes,
    wrong_outputs,
)
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
from workbench.dialects.importers.torch_model import evaluating, examples, kind_of
from workbench.dialects.relay.compiler.folding import at
from workbench.dialects.relay.frontend import load
from workbench.dialects.relay.passes.rewriting import with_parts
from workbench.errors import LoadError

if TYPE_CHECKING:
    from workbench.dialects.facets import Importer

os.environ.setdefault("TOPHUB_LOCATION", "NONE")


def supported(version: int) -> set[str]:
    """Return the operators that this TVM converts from that opset."""
    table = onnx_frontend._get_convert_map(version)  # noqa: SLF001  TVM has no public list
    return {*table, *onnx_frontend._identity_list, "Constant"}  # noqa: SLF001


def _newest() -> int:
    """Return the newest opset that a converter here was written for."""
    table = onnx_frontend._get_convert_map(1 << 16)  # noqa: SLF001
    return newest_version(getattr(converter, "__name__", "") for converter in table.values())


def onnx(model: Any, name: str, inputs: Inputs) -> Workload:
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
    importer, converting = onnx_frontend.GraphProto(given, "float32", frozen, {}), Converting()
    converting.contradicted = contradicted(model, given)
    convert = importer._convert_operator  # noqa: SLF001  the node being converted has no public name

    def recorded(op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
        converting.now(op_name, attrs["tvm_custom"]["name"])
        return convert(op_name, inputs, attrs, opset)

    importer._convert_operator = recorded  # noqa: SLF001
    with one_convert_map(onnx_frontend), linear_folding(onnx_frontend), converting, importer:
        module, params = importer.from_onnx(model.graph, opset(model))
        made = load(module, params, name)
        if made and any(node.op.startswith("dyn.") for node in made.graph.ops):
            # as from_onnx does: shapes that follow from those of the inputs are folded only here
            made = load(relay.transform.DynamicToStatic()(made.module), params, name)
    assert made is not None, "it is an IRModule"
    made.notes += notes(model, given, _newest(), made.graph) + converting.warnings
    return made


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
            value = self._fold_one(here, parts, [self._folded[at(part)] for part in parts])
            for each in (here, value):
                self._folded[at(each)] = value
                self._kept.append(each)
        return self._folded[at(expr)]

    def _fold_one(self, expr: Any, old: list[Any], parts: list[Any]) -> Any:
        """Return an expression whose operands are folded."""
        if isinstance(expr, relay.TupleGetItem):
            return parts[0].fields[expr.index] if isinstance(parts[0], relay.Tuple) else with_parts(expr, old, parts)
        if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
            call = with_parts(expr, old, parts)
            if expr.op.name in _OF_TYPES:
                return self._by_tvm(call)
            fields = [each for part in parts for each in (part.fields if isinstance(part, relay.Tuple) else [part])]
            if not parts or not all(isinstance(each, relay.Constant) for each in fields):
                return call
            value = small_integers(call)
            return self._by_tvm(call) if value is None else relay.const(value, str(value.dtype))
        if isinstance(expr, (relay.Tuple, *_LEAVES)):
            return with_parts(expr, old, parts)
        return self._by_tvm(expr)


def _parts(expr: Any) -> list[Any]:
    """Return the operands that are folded before an expression; bindings and branches are left to TVM as a whole."""
    if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op):
        return expr.args[:]
    if isinstance(expr, relay.Tuple):
        return expr.fields[:]
    return [expr.tuple_value] if isinstance(expr, relay.TupleGetItem) else []


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


def tflite(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a tflite.Model."""
    from tvm.relay.frontend.tflite import from_tflite

    return tflite_model.workload(from_tflite, load, model, name, inputs)


_WITHOUT_CONVERTER = (
    *("prim::Constant", "prim::GetAttr", "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct"),
    *("prim::TupleUnpack", "prim::RaiseException", "prim::If", "prim::Loop"),
)
"converted without an entry in TVM's table"


def torch(model: Any, name: str, inputs: Inputs) -> Workload:
    """Return a Workload of a ScriptModule, or of a module that is traced for it; its weights are the parameters."""
    package = needed("torch", "torch", "a PyTorch model")
    kind = kind_of(model)
    if kind == "exported":
        raise LoadError(
            "TVM with Relay reads TorchScript, not torch.export; give the model itself with example inputs, wb.load(model, inputs=[...])"
        )
    converting = Converting()
    with converting:
        if kind == "module":
            model = package.jit.trace(evaluating(model), examples(inputs, "module"))
        table = pytorch.PyTorchOpConverter(Prelude(tvm.IRModule()), "float32").convert_map
        known = {*_WITHOUT_CONVERTER, *table, *pytorch.qnn_torch.convert_map}
        # and their in-place variants
        refuse(operators(model), known | {f"{name}_" for name in known}, "PyTorch operators")
        described = _described(model, None if kind == "module" else inputs)
        with full_paths(model):
            module, params = relay.frontend.from_pytorch(model, described, preserve_pytorch_scopes=True)
    made = load(_alone(module), params, name)
    assert made is not None, "it is an IRModule"
    # a script that was traced has the shapes of that run
    if kind != "script" or not inputs:
        values = [(value.debugName(), value.type()) for value in model.graph.outputs()]
        declared = [(each, type.sizes() if type.kind() == "TensorType" else None) for each, type in values]
        made.notes += wrong_outputs(declared, made.graph)
    made.notes += drawn_once(operators(model)) + converting.warnings
    return made


def _described(script: Any, inputs: Inputs) -> list[tuple[str, tuple[tuple[int, ...], str]]]:
    """Return name, shape and type of each input: as traced, or as given by the user."""
    package = needed("torch", "torch", "a PyTorch model")
    taken = list(script.graph.inputs())[1:]
    # TorchScript numbers the values of a variable, `x.1`
    names = [value.debugName().partition(".")[0] for value in taken]
    given = shapes(inputs, names)
    described = []
    for name, value in zip(names, taken, strict=True):
        tensor = value.type().kind() == "TensorType"
        shape = given.get(name) or (value.type().sizes() if tensor else None)
        if shape is None:
            raise LoadError(
                f"the shape of the input {name} is not in the script, which was not traced; give shapes, wb.load(model, inputs={{{name!r}: (1, ...)}})"
            )
        dtype = value.type().dtype() if tensor else None
        described.append((name, (tuple(shape), str(dtype or package.float32).removeprefix("torch."))))
    return described


def _alone(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module without the importer's library of lists and tensor arrays, if `main` uses none of it."""
    uses: list[Any] = []
    relay.analysis.post_order_visit(
        module["main"],
        lambda e: uses.append(e) if isinstance(e, (relay.GlobalVar, relay.Match, tvm.ir.GlobalVar)) else None,
    )
    return module if uses else tvm.IRModule.from_expr(module["main"])


@contextmanager
def full_paths(script: Any) -> Iterator[None]:
    """Make TVM's importer name the operators of this script by the paths of the modules that call them."""
    paths: dict[str, deque[str]] = defaultdict(deque)
    for kind, path in operators(script):
        paths[kind].append(path)

    theirs = pytorch.PytorchScopePreservingNamer

    class ByModule(theirs):
        def get_node_source_name(self, node: Any) -> str:
            named = paths.get(node.kind()) if node.kind().startswith("aten::") else None
            if named:
                named.rotate(-1)  # the whole graph is visited more than once
            # a script from a file has no paths
            return (named[-1] if named else "") or super().get_node_source_name(node)

    pytorch.PytorchScopePreservingNamer = ByModule
    try:
        yield
    finally:
        pytorch.PytorchScopePreservingNamer = theirs


def operators(script: Any) -> Iterator[tuple[str, str]]:
    """Yield every operator and the path of the module that calls it, in order, branches and loops included."""
    graph = script.inlined_graph  # its nodes live as long as it does
    waiting = [graph.nodes()]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            continue
        yield node.kind(), path_in(node.scopeName())
        waiting.extend(block.nodes() for block in reversed(list(node.blocks())))


def path_in(scope: str) -> str:
    """Return the path of a module from either form of a scope's name that PyTorch writes.

    >>> path_in("__module.layers.0/__module.layers.0.query"), path_in("Net::/Layer::layers.0/torch.nn.Linear::query")
    ('layers.0.query', 'layers.0.query')
    """
    if "__module." in scope:
        return scope.rpartition("__module.")[2]
    return ".".join(name for part in scope.split("/") if (name := part.rpartition("::")[2]))


IMPORTERS: dict[str, Importer] = {"onnx": onnx, "tflite": tflite, "torch": torch}
