"""Readers of other frameworks' files and objects, of saved graphs and of a graph executor's JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.dialects.base import GraphOnly, Workload
from workbench.dialects.facets import Importer, Reader, Source
from workbench.dialects.importers import onnx_model, tflite_model, torch_model
from workbench.dialects.importers.converting import Inputs
from workbench.dialects.registry import known_dialect
from workbench.errors import LoadError, UnknownName
from workbench.graph.json import FORMAT
from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.received import Damaged, contents, fields, parse
from workbench.graph.received import place as inside

PREFIX = "tvmgen_default_"
NOTHING = "__nop"
COPY = "__copy"
WHY = "is what the compiler left of a program, so it can be looked at and not changed or built; load the model it was made of"
NOTE = "each box is a kernel; of the operators in it only its name is left"
_GRAPH = {"nodes": list, "heads": list}
_NODE = {"op": str, "name": str}
_CALL = {"inputs": list, "attrs": dict}
_COLUMNS = {"shape": list, "dltype": list, "storage_id": list, "device_index": list}
_COUNTS = ("num_outputs", "num_inputs", "flatten_data", "func_name")
_MOST_DIMENSIONS, _LONGEST_TYPE = 64, 40
"of a tensor, and of the name of its element type"
_MOST_OUTPUTS = 64
"of a node, in a graph that does not give the type of each output"


def is_executor_graph(data: Any) -> bool:
    """Return whether JSON is such a graph."""
    return isinstance(data, dict) and {"nodes", "arg_nodes", "heads"} <= data.keys()


def build_graph(data: object, name: str) -> Graph:
    """Return the graph of `lib.get_graph_json()`, which Netron shows: one node per kernel call, each kernel a box with its name.

    Format: src/runtime/graph_executor/graph_executor.h in TVM 0.8 to 0.19.

    Raises LoadError: it is damaged, or of another runtime.
    """
    try:
        return _Reading(data, GraphBuilder(name, "relay")).run()
    except Damaged as error:
        raise LoadError(
            f"{name}: this graph of TVM's graph executor is damaged: {error}; save lib.get_graph_json() again"
        ) from None


class _Reading:
    def __init__(self, data: object, builder: GraphBuilder) -> None:
        self.graph = fields(data, _GRAPH)
        # each list with a value for each output of each node is written after the type of its values
        pairs = fields(data.get("attrs", {}) if isinstance(data, dict) else {}, _COLUMNS, optional=True)
        self.columns = {key: fields(dict(enumerate(pair)), {1: list})[1] for key, pair in pairs.items()}
        self.rows = [*fields(data, {"node_row_ptr": list})["node_row_ptr"]] if self.columns else []
        "index of the first output of each node in the columns, and the end of the last one's"
        self.builder = builder
        self.main = builder.group("function", "main", None)
        self.values: list[list[int]] = []
        "for each of its nodes, the node of ours that holds each of its outputs"

    def run(self) -> Graph:
        for place, node in enumerate(self.graph["nodes"]):
            self.values.append(self.outputs(place, node))
        heads = [self.value(reference) for reference in self.graph["heads"]]
        type = f"({', '.join(self.builder.nodes[id].type for id in heads)})"
        result = heads[0] if len(heads) == 1 else self.add("tuple", "tuple", heads, type)
        self.builder.outputs.append(result)
        self.builder.returns(self.main, result)
        return self.builder.build()

    def outputs(self, place: int, node: Any) -> list[int]:
        known = fields(node, _NODE)
        if known["op"] == "null":
            return [self.add("param", known["name"], (), self.type(place, 0), attrs=self.planned(place, 0))]
        if known["op"] != "tvm_op":
            raise LoadError(
                f"node {place} is a {known['op'][:40]!r}: a graph of another runtime; TVM's has `tvm_op` and `null` only"
            )
        called = fields(node, _CALL)
        inputs = [self.value(reference) for reference in called["inputs"]]
        types = [self.type(place, output) for output in range(self.count(place, called["attrs"]))]
        made = self.call(known["name"], called["attrs"], inputs, types, self.planned(place, 0))
        if len(types) == 1:
            return [made]
        return [self.add("get_item", f".{i}", (made,), type) for i, type in enumerate(types)]

    def count(self, place: int, attrs: Mapping[str, Any]) -> int:
        """Return the number of outputs of a node, which is its number of rows in the columns."""
        written = str(attrs.get("num_outputs", 1))[:10]
        count = int(written) if written.isdecimal() else 0
        if not 0 < count <= (self.begin(place + 1) - self.begin(place) if self.columns else _MOST_OUTPUTS):
            raise Damaged(f"node {place} has {written!r} outputs")
        return count

    def begin(self, place: int) -> int:
        most = min(len(values) for values in self.columns.values()) + 1
        return inside(self.rows[inside(place, len(self.rows), "node_row_ptr")], most, "node_row_ptr")

    def call(
        self, name: str, given: Mapping[str, Any], inputs: list[int], types: list[str], planned: dict[str, int]
    ) -> int:
        type = types[0] if len(types) == 1 else f"({', '.join(types)})"
        attrs = {key: str(value) for key, value in given.items() if key not in _COUNTS} | planned
        function = fields(given, {"func_name": str})["func_name"]
        if function in (NOTHING, COPY):
            # neither computes; a `call` counts as no kernel
            return self.add("call", function, inputs, type, name=name, attrs=attrs)
        box = self.builder.group("external" if "Compiler" in attrs else "primitive", function, self.main)
        made = self.add("op", function.removeprefix(PREFIX), inputs, type, group=box, name=name, attrs=attrs)
        self.builder.takes(box, inputs)
        self.builder.returns(box, made)
        return made

    def value(self, reference: Any) -> int:
        """Return our node for a reference: an earlier node, and the index of its output."""
        if not isinstance(reference, list) or len(reference) < 2:
            raise Damaged("a reference is not a list of numbers")
        outputs = self.values[inside(reference[0], len(self.values), "a reference")]
        return outputs[inside(reference[1], len(outputs), "a reference")]

    def entry(self, key: str, wanted: type, place: int, output: int) -> Any:
        """Return the value in one of the graph's columns for an output of a node; None without such a column."""
        if key not in self.columns:
            return None
        row = inside(self.begin(place) + output, self.begin(place + 1), "node_row_ptr")
        return fields({key: self.columns[key][row]}, {key: wanted})[key]

    def type(self, place: int, output: int) -> str:
        shape, dtype = self.entry("shape", list, place, output), self.entry("dltype", str, place, output)
        if shape is None or dtype is None:
            return ""
        if len(shape) > _MOST_DIMENSIONS or len(dtype) > _LONGEST_TYPE:
            raise Damaged(f"node {place} does not have the type of a tensor")
        sizes = [fields({"shape": size}, {"shape": int})["shape"] for size in shape]
        return f"Tensor[({', '.join(map(str, sizes))}), {dtype}]" if sizes else dtype

    def planned(self, place: int, output: int) -> dict[str, int]:
        """Return the place of an output in the memory plan."""
        found = {key: self.entry(key, int, place, output) for key in ("storage_id", "device_index")}
        return {key: value for key, value in found.items() if value is not None}

    def add(self, kind: str, op: str, inputs: Any, type: str, **fields: Any) -> int:
        return self.builder.node(kind, op, inputs, type=type, **{"group": self.main, **fields})


SUFFIXES = (".onnx", ".tflite")
"of files that another framework wrote and we read"
LONGEST = 1 << 29
"bytes of a file of text or JSON that is read"


_OPENED = {"onnx": onnx_model.read, "tflite": tflite_model.read}


class TorchFile:
    """A file of PyTorch's, which can run code when opened."""

    def accepts(self, source: Source) -> bool:
        return source.path is not None and source.path.suffix.lower() in torch_model.SUFFIXES

    def read(self, source: Source) -> Workload:
        assert source.path is not None
        torch_model.refuse_file(source.path)


class Model:
    """A model of another framework: its file, or its object."""

    def accepts(self, source: Source) -> bool:
        return _format(source) is not None

    def read(self, source: Source) -> Workload:
        format, path = _format(source), source.path
        assert format is not None
        given, name = (source.given, type(source.given).__name__) if path is None else (path, path.stem)
        return _with_params(source.converter.model(format, given, source.name or name, source.inputs), source)


class Picture:
    """JSON of a graph without a module: a saved graph, or that of TVM's graph executor."""

    def accepts(self, source: Source) -> bool:
        text = _json_text(source)
        if FORMAT in text[:200]:
            return True
        try:
            return '"arg_nodes"' in text and is_executor_graph(parse(text))
        except Damaged:
            return True

    def read(self, source: Source) -> Workload:
        name = source.name or ("graph" if source.path is None else source.path.stem)
        text = _json_text(source)
        if FORMAT in text[:200]:
            why = "is a saved graph, so it can be looked at and not changed or built; load the module it was made of"
            return _with_params(GraphOnly(Graph.from_json(text), f"{name} {why}"), source)
        try:
            data = parse(text)
        except Damaged as error:
            raise LoadError(
                f"{name} begins as a graph of TVM's graph executor and is damaged ({error}); save lib.get_graph_json() again"
            ) from None
        graph = build_graph(data, name)
        return _with_params(GraphOnly(graph, f"{name} {WHY}", [NOTE]), source)


READERS: tuple[Reader, ...] = (TorchFile(), Model(), Picture())
"of models and graphs from elsewhere, in the order in which they are tried"


def _with_params(workload: Workload, source: Source) -> Workload:
    workload.params.update(source.params or {})
    return workload


def _json_text(source: Source) -> str:
    """Return the JSON of a source; "" if it is something else or cannot be read, which the reader of text reports."""
    if source.path is None:
        return source.given if isinstance(source.given, str) and source.given.lstrip().startswith("{") else ""
    try:
        return contents(source.path, LONGEST).decode() if source.path.suffix.lower() == ".json" else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _format(source: Source) -> str | None:
    """Return the importer for a source; None if it is not another framework's. An object's package is already loaded."""
    if source.path is not None:
        suffix = source.path.suffix.lower()
        return suffix[1:] if suffix in SUFFIXES else None
    onnx, nn = sys.modules.get("onnx"), sys.modules.get("tvm.relax.frontend.nn")
    if onnx is not None and isinstance(source.given, onnx.ModelProto):
        return "onnx"
    if nn is not None and isinstance(source.given, nn.Module):
        return "nn"
    return "torch" if torch_model.kind_of(source.given) else None


def converted(format: str, dialect: str, source: Any, name: str, inputs: Inputs) -> Workload:
    """Convert a model by the importer of a format for a dialect."""
    model = _OPENED[format](source) if isinstance(source, Path) else source
    try:
        convert = importer(format, dialect)
        return onnx_model.workload(convert, model, name, inputs) if format == "onnx" else convert(model, name, inputs)
    except UnicodeDecodeError:
        raise LoadError(f"{name} holds a name that is not UTF-8, so the file is damaged; export it again") from None


def importer(format: str, dialect: str) -> Importer:
    """Return the converter of a format for a dialect, such as `onnx` of `dialects/relay/importers.py`."""
    known = known_dialect(dialect).importers
    if format not in known:
        raise UnknownName(f"format of a model for {dialect.capitalize()}", format, known)
    return known[format]
