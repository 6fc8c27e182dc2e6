"""Running a Relay library on a device: the graph executor with random inputs, timed as a whole and per call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.base import Workload
from workbench.dialects.compiler import running
from workbench.dialects.compiler.inputs import values_of
from workbench.dialects.compiler.running import KernelTime, Made, RanCall, evaluated
from workbench.dialects.trust import ask
from workbench.errors import MeasureError

Entry = tuple[int, int]
"a node of the executor's graph, and which of its outputs"
NOP, COPY = "__nop", "__copy"


@dataclass(frozen=True)
class _Ran:
    """A call in the executor's graph, after it ran."""

    function: str
    inputs: list[Entry]
    outputs: list[Entry]
    tensors: list[Any]
    "those that it reads, then those that it writes"


def _entries(graph: Mapping[str, Any], debug: Any) -> Iterator[_Ran]:
    """Run node after node, and yield each call."""
    held: dict[Entry, Any] = {}
    readers = Counter((source, output) for node in graph["nodes"] for source, output, _ in node["inputs"])
    for place, node in enumerate(graph["nodes"]):
        debug["execute_node"](place)
        outputs = [(place, output) for output in range(int(node.get("attrs", {}).get("num_outputs", 1)))]
        held.update({entry: debug["get_node_output"](*entry) for entry in outputs})
        inputs = [(source, output) for source, output, _ in node["inputs"]]
        if node["op"] == "tvm_op":
            yield _Ran(node["attrs"]["func_name"], inputs, outputs, [held[entry] for entry in (*inputs, *outputs)])
        for entry in inputs:
            readers[entry] -= 1
        # tensors without remaining readers need no memory
        for entry in {*inputs, *outputs}:
            if readers[entry] <= 0:
                del held[entry]


class Running(running.Running):
    """A library in a graph executor.

    Parameters
    ----------
    library
        The result of relay.build, or the same loaded from a file, here or in an RPC session.
    device
        A device of this machine or of an RPC session.
    """

    method = "graph executor, time_evaluator"
    kernel_method = "each call by itself on the inputs of a real run (debug executor), repeated by time_evaluator"

    def __init__(self, workload: Workload, library: Any, device: Any, seed: int) -> None:
        ask()
        self.library = library
        self.device = device
        self.inputs = random_inputs(workload, seed)
        self.executor = graph_executor.GraphModule(library["default"](device))
        for name, value in self.inputs.items():
            self.executor.set_input(name, value)

    @property
    def compiled(self) -> Any:
        """Return the module with the compiled functions, of a library just built or loaded from a file."""
        return self.library.get_lib() if hasattr(self.library, "get_lib") else self.library.imported_modules[0]

    def run(self, number: int) -> float:
        timed = self.executor.module.time_evaluator("run", self.device, number=number, repeat=1)
        return float(timed().results[0])

    def outputs(self) -> list[np.ndarray]:
        self.executor.run()
        return [self.executor.get_output(place).numpy() for place in range(self.executor.get_num_outputs())]

    def kernels(self, budget: float) -> list[KernelTime]:
        graph, debug = self._debugged()
        seconds = budget / max(1, sum(node["op"] == "tvm_op" for node in graph["nodes"]))

        def timed(call: _Ran) -> list[float]:
            # a reshape without a copy has no function
            nop = call.function == NOP
            return [0.0] if nop else evaluated(self.compiled, call.function, call.tensors, self.device, seconds)

        return [KernelTime(call.function, timed(call)) for call in _entries(graph, debug)]

    def calls(self) -> Iterator[RanCall]:
        made: dict[Entry, Made | None] = {}
        number = 0
        for call in _entries(*self._debugged()):
            sources = {place: made.get(entry) for place, entry in enumerate(call.inputs)}
            if call.function in (NOP, COPY):
                # they pass a value on
                made[call.outputs[0]] = sources[0]
                continue
            written = tuple(range(len(call.inputs), len(call.tensors)))
            kernel = self.compiled.get_function(call.function, query_imports=True)
            yield RanCall(call.function, kernel, call.tensors, sources, written, tvm.nd.empty)
            made.update({entry: (number, output) for output, entry in enumerate(call.outputs)})
            number += 1

    def _debugged(self) -> tuple[Mapping[str, Any], Any]:
        """Return the executor's graph, and TVM's debug executor with the inputs."""
        graph = json.loads(self.library["get_graph_json"](), strict=False)  # as in build.py
        debug = self.library["debug_create"]("default", self.device)
        for name, value in self.inputs.items():
            debug["set_input"](name, tvm.nd.array(value, self.device))
        return graph, debug


def random_inputs(workload: Workload, seed: int) -> dict[str, np.ndarray]:
    """Return given or seeded values for every parameter of `main` that has no array (dialects/compiler/inputs.py)."""
    found = {}
    for variable in workload.module["main"].params:
        name, type = variable.name_hint, variable.checked_type
        if name in workload.params:
            continue
        if not isinstance(type, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type.shape):
            raise MeasureError(f"the input {name} has type {type}; only tensors of known shape can be filled and timed")
        found[name] = values_of(workload, name, [int(d) for d in type.shape], type.dtype, seed)
    return found
