"""An ONNX model as the converters of both dialects take it: read, checked, its nodes named by their place in the model.

PyTorch's exporters record the module of a node: the older one in the node's name (`/layers.0/q/MatMul`), today's in
the node's metadata. Both become the name, because TVM's converters keep only the name.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.importers.converting import (
    LONGEST,
    Inputs,
    drawn_once,
    needed,
    refuse,
    shapes,
    unknown_shapes,
    wrong_outputs,
)
from workbench.dialects.importers.names import Names, dotted
from workbench.errors import LoadError, Unconverted, UnknownName, reason, reason_of
from workbench.graph.model import Graph
from workbench.graph.received import Damaged, contents, literal
from workbench.quoting import shell
from workbench.terminal import visible
from workbench.wording import counted

SCOPES = "pkg.torch.onnx.name_scopes"
LARGEST = 1 << 31
"bytes of a file, the limit of protobuf; weights may be in other files"
LONGEST_ENTRY = 10_000
"characters of an entry of metadata_props that is read; Python's parser reads it recursively"
_FEW_NODES, _NODES_PER_NODE = 2_000, 20
"most nodes of a model whose functions are inlined, beyond those that its nodes justify: each function can call others many times"
_VERSION = re.compile(r"_impl_v(\d+)")
_SETTINGS = {"Resize", "Upsample", "Clip", "Pad", "Dropout", "QuantizeLinear", "DequantizeLinear", "Range", "OneHot"}
"operators that take settings as inputs; TVM needs their values when it converts"


def onnx_package() -> Any:
    """Return the package onnx; raises LoadError if it is not installed."""
    return needed("onnx", "onnx", "reading an ONNX model")


def read(path: Path) -> Any:
    """Return the ModelProto in a file, with the weights in files beside it.

    Raises LoadError: it is not an ONNX model, it or its weights are damaged or missing, or onnx is not installed.
    """
    onnx = onnx_package()
    try:
        data = contents(path, LARGEST)
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; check the path") from None
    try:
        model = onnx.load_model_from_string(data)
    except (ValueError, TypeError, onnx.onnx_cpp2py_export.checker.ValidationError) as error:
        raise LoadError(_damaged(path, reason_of(error))) from None
    except Exception as error:
        if type(error).__name__ != "DecodeError":  # protobuf's own class, whose module differs between its versions
            raise
        raise LoadError(_damaged(path, reason_of(error))) from None
    if not model.graph.node or not model.graph.output:
        raise LoadError(_damaged(path, "it holds no graph"))
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, TypeError, onnx.checker.ValidationError) as error:
        raise LoadError(
            f"the weights that {path.name} keeps in other files cannot be read: {reason_of(error)}"
        ) from None
    return model


def _damaged(path: Path, said: str) -> str:
    return f"{path.name} is not an ONNX model, or is damaged: {said}; export it again, or get the whole file"


def prepared(model: Any, supported: Collection[str], shapes: Mapping[str, Any]) -> Any:
    """Return a copy that a converter accepts: functions inlined, settings as constants, nodes named by their scopes, each once.

    Weights stay initializers, so they become parameters of the program. Shapes, scales and limits become constants,
    because TVM needs their values when it converts.

    Raises LoadError or UnknownName: operators that TVM has no converter for, all at once; shapes for inputs that the
    model does not have.
    """
    onnx = onnx_package()
    copy = onnx.ModelProto()
    copy.CopyFrom(_inlined(model) if model.functions else model)
    _check_names(copy.graph)
    refuse(((node.op_type, node.name) for node in nodes(copy.graph)), supported, "ONNX operators")
    known = input_names(copy)
    for name in shapes:
        if name not in known:
            raise UnknownName("input", name, known)
    for node, name in zip(nodes(copy.graph), _unique_names(copy.graph), strict=True):
        node.name = name
    _settings_to_constants(onnx, copy.graph)
    return copy


def _unique_names(graph: Any) -> list[str]:
    """Return the path of each node, with a number where another node has it."""
    names, found = Names(), []
    for node in nodes(graph):
        path = scoped_name(node)
        plain = dotted(path)
        found.append("/" + "/".join(path) + names.once(plain)[len(plain) :])
    return found


def sources(model: Any) -> dict[str, Any]:
    """Return the NodeProtos of a model by the names that the nodes of a graph have for them, `Node.source`."""
    model = visible_names(model)
    graph = (_inlined(model) if model.functions else model).graph
    return {dotted(name.split("/")): node for name, node in zip(_unique_names(graph), nodes(graph), strict=True)}


def _inlined(model: Any) -> Any:
    """Return the model with its functions inlined at their calls."""
    bodies = {(function.domain, function.name): list(nodes(function)) for function in model.functions}
    calls = {key: [(node.domain, node.op_type) for node in body] for key, body in bodies.items()}
    sizes: dict[tuple[str, str], int] = {}
    try:
        for key in TopologicalSorter(calls).static_order():
            sizes[key] = sum(sizes[called] for called in calls[key]) if key in calls else 1
    except CycleError:
        raise LoadError("a function of the ONNX model calls itself, so the model is damaged; export it again") from None
    own = [(node.domain, node.op_type) for node in nodes(model.graph)]
    most = _FEW_NODES + _NODES_PER_NODE * (len(own) + sum(map(len, bodies.values())))
    if sum(sizes.get(each, 1) for each in own) > most:
        raise LoadError(f"the functions of the ONNX model expand to more than {most:,} nodes; export it without them")
    return needed("onnx.inliner", "onnx", "reading an ONNX model with functions").inline_local_functions(model)


def _check_names(graph: Any) -> None:
    """Refuse names that are not UTF-8: the protobuf package returns them as bytes, or raises UnicodeDecodeError."""
    try:
        named = [[node.name, node.op_type, node.domain, *node.input, *node.output] for node in nodes(graph)]
        named.append([value.name for value in (*graph.input, *graph.output, *graph.initializer)])
    except UnicodeDecodeError:
        named = [[b""]]
    if not all(isinstance(name, str) for names in named for name in names):
        raise LoadError("the model holds a name that is not UTF-8, so the file is damaged; export it again")


def visible_names(model: Any) -> Any:
    """Return the model, or a copy with control characters in names escaped, which terminals and TVM's JSON do not do."""
    _check_names(model.graph)
    graphs = list(_graphs(model.graph))
    names = chain(
        (part.name for graph in graphs for part in _named_parts(graph)),
        (name for graph in graphs for node in graph.node for name in (*node.input, *node.output)),
    )
    joined = "".join(names)
    if joined == visible(joined):
        return model
    copy = onnx_package().ModelProto()
    copy.CopyFrom(model)
    for graph in _graphs(copy.graph):
        for named in _named_parts(graph):
            named.name = visible(named.name)
        for names in (names for node in graph.node for names in (node.input, node.output)):
            names[:] = map(visible, names)
    return copy


def _named_parts(graph: Any) -> Iterator[Any]:
    return chain(graph.node, graph.input, graph.output, graph.initializer, graph.value_info)


def _graphs(graph: Any) -> Iterator[Any]:
    """Yield a graph, and those in branches and loop bodies."""
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        yield one
        for attribute in (attribute for node in one.node for attribute in node.attribute):
            waiting.extend([attribute.g] if attribute.HasField("g") else attribute.graphs)


def nodes(graph: Any) -> Iterator[Any]:
    """Yield every node, those in branches and loop bodies too."""
    return (node for one in _graphs(graph) for node in one.node)


def scoped_name(node: Any) -> list[str]:
    """Return the modules that a node is in, outermost first, and then a name for the node itself."""
    told = next((entry.value for entry in node.metadata_props if entry.key == SCOPES), None)
    if told is not None:
        return [*_modules(told), node.op_type]
    parts = [part for part in node.name.split("/") if part]
    return parts or [node.op_type]


def _modules(told: str) -> list[str]:
    """Return the modules in torch.onnx.export's list of full names, each within the previous one, the operator last."""
    if len(told) > LONGEST_ENTRY:
        return []
    try:
        full = literal(told)
    except Damaged:
        return []
    if not isinstance(full, list) or not all(isinstance(name, str) for name in full):
        return []
    names = [visible(name) for name in full[:-1] if name]
    return [
        name.removeprefix(f"{before}.") for before, name in zip(["", *names], names, strict=False) if name != before
    ]


def _settings_to_constants(onnx: Any, graph: Any) -> None:
    settings = {name for node in graph.node if node.op_type in _SETTINGS for name in node.input}
    kind, fixed = onnx.TensorProto, []
    for tensor in graph.initializer:
        floating = tensor.data_type in (kind.FLOAT, kind.FLOAT16, kind.DOUBLE, kind.BFLOAT16)
        if not floating or tensor.name in settings or all(size == 1 for size in tensor.dims):
            fixed.append(tensor)
    names, weights = ({tensor.name for tensor in tensors} for tensors in (fixed, graph.initializer))
    made = [onnx.helper.make_node("Constant", [], [tensor.name], f"/{tensor.name}", value=tensor) for tensor in fixed]
    rest = [tensor for tensor in graph.initializer if tensor.name not in names]
    # before version 4 of the format each initializer is also an input, which Relax's converter would make a second parameter
    inputs = [value for value in graph.input if value.name not in weights]
    body = list(graph.node)
    for field, values in (("node", [*made, *body]), ("initializer", rest), ("input", inputs)):
        graph.ClearField(field)
        getattr(graph, field).extend(values)


def notes(model: Any, shapes: Mapping[str, Sequence[int]], newest: int, graph: Graph) -> list[str]:
    """Return notes about a model and what TVM imported of it. `newest`: the highest opset of TVM's converters."""
    found = [contradicted(model, shapes)]
    if not found[0]:
        kinds = [(value.name, value.type.tensor_type) for value in model.graph.output]
        # 0 is an open dimension
        declared = [
            (name, [each.dim_value or None for each in kind.shape.dim] if kind.HasField("shape") else None)
            for name, kind in kinds
        ]
        found = wrong_outputs(declared, graph)
    found += drawn_once((node.op_type, node.name) for node in nodes(model.graph))
    if opset(model) > newest:
        found.append(
            f"the model is in opset {opset(model)} and the newest of TVM's converters here is for {newest}: an operator that changed "
            "since is converted as it was; compare its outputs with those of another runtime"
        )
    return found + unknown_dimensions(model, shapes)


def unknown_dimensions(model: Any, shapes: Mapping[str, Any]) -> list[str]:
    """Return notes about inputs whose shape neither the model nor the caller gives."""
    weights = {tensor.name for tensor in model.graph.initializer}
    notes = []
    for value in model.graph.input:
        if value.name in weights or value.name in shapes or not value.type.HasField("tensor_type"):
            continue
        open = [d.dim_param or "?" for d in value.type.tensor_type.shape.dim if not d.dim_value]
        if open:
            notes.append(
                f"the input {value.name} leaves {', '.join(open)} open; "
                f"wb.load(..., inputs={{{value.name!r}: (1, ...)}}), or `--input {shell(f'{value.name}=1,...')}` in a shell, fixes its shape"
            )
    return notes


def contradicted(model: Any, shapes: Mapping[str, Sequence[int]]) -> str:
    """Return the given shapes that differ from those in the file, as a sentence; empty if there are none."""
    found = []
    for value in model.graph.input:
        kind = value.type.tensor_type
        if value.name not in shapes or not kind.HasField("shape"):
            continue
        given, dims = shapes[value.name], kind.shape.dim
        if len(given) != len(dims) or any(d.dim_value not in (0, size) for d, size in zip(dims, given, strict=True)):
            declared = " x ".join(str(d.dim_value or d.dim_param or "?") for d in dims) or "a scalar"
            found.append(
                f"the file declares the input {value.name} as {declared}, and inputs= gives {' x '.join(map(str, given))}"
            )
    return "; ".join(found)


def opset(model: Any) -> int:
    """Return the version of ONNX's own operators that the model uses."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)


def input_names(model: Any) -> list[str]:
    """Return the model's inputs, without those that the file has values for."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in weights]


@contextmanager
def one_convert_map(frontend: ModuleType) -> Iterator[None]:
    """Make the converter table of a TVM ONNX importer once while the block runs, and not for each operator."""
    make = frontend._get_convert_map  # noqa: SLF001  TVM has no public table
    frontend._get_convert_map = cache(make)  # type: ignore[attr-defined]  # noqa: SLF001
    try:
        yield
    finally:
        frontend._get_convert_map = make  # type: ignore[attr-defined]  # noqa: SLF001


def newest_version(names: Iterable[str]) -> int:
    """Return the highest opset in the names of TVM's converters, `_impl_v13`."""
    return max((int(found.group(1)) for name in names if (found := _VERSION.fullmatch(name))), default=1)


Convert = Callable[[Any, str, Inputs], Workload]
FILLED = 1 << 16
"elements of a ConstantOfShape that may be written out: paddings and shapes, not weights"


def workload(convert: Convert, model: Any, name: str, inputs: Inputs) -> Workload:
    """Convert a ModelProto; simplify it first if the converter refuses it as it is, or does not know shapes that inputs decide.

    Raises LoadError: the converter refuses both the original and the simplified model; the message is about the
    original.
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
