"""The graph that TVM's graph executor runs, read without TVM: one node a call of a kernel, each kernel a box.

What `lib.get_graph_json()` gives and Netron shows. The operators inside a kernel are not in it; its name is all that is left
of them. Format: src/runtime/graph_executor/graph_executor.h in TVM 0.8 to 0.19.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.errors import LoadError
from workbench.graph.model import Graph, GraphBuilder

PREFIX = "tvmgen_default_"
NOTHING = "__nop"
COPY = "__copy"
WHY = "is what the compiler left of a program, so it can be looked at and not changed or built; load the model it was made of"
NOTE = "each box is a kernel; of the operators in it only its name is left"


def is_executor_graph(data: Any) -> bool:
    """Whether JSON is such a graph."""
    return isinstance(data, dict) and {"nodes", "arg_nodes", "heads"} <= data.keys()


def build_graph(data: Mapping[str, Any], name: str) -> Graph:
    """The neutral picture.

    Raises
    ------
    LoadError
        It is damaged, or of another runtime.
    """
    try:
        return _Reading(data, GraphBuilder(name, "relay")).run()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise LoadError(
            f"{name}: this graph of TVM's graph executor is damaged: {error!r}; save lib.get_graph_json() again"
        ) from None


class _Reading:
    def __init__(self, data: Mapping[str, Any], builder: GraphBuilder) -> None:
        self.data = data
        self.builder = builder
        self.main = builder.group("function", "main", None)
        self.values: list[list[int]] = []
        "for each of its nodes, the node of ours that holds each of its outputs"

    def run(self) -> Graph:
        for place, node in enumerate(self.data["nodes"]):
            self.values.append(self.outputs(place, node))
        heads = [self.value(reference) for reference in self.data["heads"]]
        result = heads[0] if len(heads) == 1 else self.add("tuple", "tuple", heads, self.tuple_type(heads))
        self.builder.outputs.append(result)
        self.builder.returns(self.main, result)
        return self.builder.build()

    def outputs(self, place: int, node: Mapping[str, Any]) -> list[int]:
        if node["op"] == "null":
            return [self.add("param", str(node["name"]), (), self.type(place, 0), attrs=self.planned(place, 0))]
        if node["op"] != "tvm_op":
            raise LoadError(
                f"node {place} is a {node['op']!r}: a graph of another runtime; TVM's has `tvm_op` and `null` only"
            )
        inputs = [self.value(reference) for reference in node["inputs"]]
        count = int(node["attrs"].get("num_outputs", 1))
        made = self.call(place, node, inputs, count)
        if count == 1:
            return [made]
        return [self.add("get_item", f".{i}", (made,), self.type(place, i)) for i in range(count)]

    def call(self, place: int, node: Mapping[str, Any], inputs: list[int], count: int) -> int:
        types = [self.type(place, i) for i in range(count)]
        type = types[0] if count == 1 else f"({', '.join(types)})"
        attrs = {key: str(value) for key, value in node["attrs"].items() if key not in _COUNTS} | self.planned(place, 0)
        function, name = str(node["attrs"]["func_name"]), str(node["name"])
        if function in (NOTHING, COPY):
            # neither computes; a `call` counts as no kernel
            return self.add("call", function, inputs, type, name=name, attrs=attrs)
        box = self.builder.group("external" if "Compiler" in attrs else "primitive", function, self.main)
        made = self.add("op", function.removeprefix(PREFIX), inputs, type, group=box, name=name, attrs=attrs)
        self.builder.takes(box, inputs)
        self.builder.returns(box, made)
        return made

    def value(self, reference: list[int]) -> int:
        place, output = int(reference[0]), int(reference[1])
        if not 0 <= place < len(self.values) or not 0 <= output < len(self.values[place]):
            raise ValueError(f"{reference} refers to nothing before it")
        return self.values[place][output]

    def entry(self, key: str, place: int, output: int) -> Any:
        """What stands in one of the graph's columns for an output of a node; None where there is no such column."""
        column = self.data.get("attrs", {}).get(key)
        return None if column is None else column[1][self.data["node_row_ptr"][place] + output]

    def type(self, place: int, output: int) -> str:
        shape, dtype = self.entry("shape", place, output), self.entry("dltype", place, output)
        if shape is None or dtype is None:
            return ""
        return f"Tensor[({', '.join(str(int(size)) for size in shape)}), {dtype}]" if shape else str(dtype)

    def planned(self, place: int, output: int) -> dict[str, Any]:
        """Where the memory plan puts an output."""
        found = {key: self.entry(key, place, output) for key in ("storage_id", "device_index")}
        return {key: value for key, value in found.items() if value is not None}

    def tuple_type(self, ids: list[int]) -> str:
        return f"({', '.join(self.builder.nodes[id].type for id in ids)})"

    def add(self, kind: str, op: str, inputs: Any, type: str, **fields: Any) -> int:
        return self.builder.node(kind, op, inputs, type=type, **{"group": self.main, **fields})


_COUNTS = ("num_outputs", "num_inputs", "flatten_data", "func_name")


def loads(text: str) -> Any:
    """JSON, or None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
