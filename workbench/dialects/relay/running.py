"""Running a Relay library on a device: the graph executor filled with random inputs, timed whole and call by call."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.base import KernelTime, Workload
from workbench.dialects.inputs import limit_of, random_values
from workbench.dialects.relay.calls import METHOD, timed_calls
from workbench.dialects.relay.target import make_target
from workbench.errors import MeasureError, NoDevice


def device_of(target: str) -> Any:
    """The device of this machine that code for a target runs on.

    Raises
    ------
    NoDevice
        There is none.
    """
    kind = make_target(target).kind.name
    device = tvm.device(kind, 0)
    if not device.exist:
        raise NoDevice(f"there is no {kind} device here, so nothing was run")
    return device


class Running:
    """A library in a graph executor.

    Parameters
    ----------
    library
        What relay.build made, or the same loaded from a file, here or in an RPC session.
    device
        Where it runs: this machine's or an RPC session's.
    """

    method = "graph executor, time_evaluator"
    kernel_method = METHOD

    def __init__(self, workload: Workload, library: Any, device: Any, seed: int) -> None:
        self.library = library
        self.device = device
        self.inputs = random_inputs(workload, seed)
        self.executor = graph_executor.GraphModule(library["default"](device))
        for name, value in self.inputs.items():
            self.executor.set_input(name, value)

    @property
    def compiled(self) -> Any:
        """The module with the compiled functions: of a library that was just built, or of one loaded from a file."""
        return self.library.get_lib() if hasattr(self.library, "get_lib") else self.library.imported_modules[0]

    def run(self, number: int) -> float:
        timed = self.executor.module.time_evaluator("run", self.device, number=number, repeat=1)
        return float(timed().results[0])

    def outputs(self) -> list[np.ndarray]:
        self.executor.run()
        return [self.executor.get_output(place).numpy() for place in range(self.executor.get_num_outputs())]

    def kernels(self, budget: float) -> list[KernelTime]:
        graph = json.loads(self.library["get_graph_json"](), strict=False)  # as in build.py
        debug = self.library["debug_create"]("default", self.device)
        for name, value in self.inputs.items():
            debug["set_input"](name, tvm.nd.array(value, self.device))
        return list(timed_calls(graph, debug, self.compiled, self.device, budget))


def random_inputs(workload: Workload, seed: int) -> dict[str, np.ndarray]:
    """Seeded values for every parameter of `main` that has no array (dialects/inputs.py)."""
    found = {}
    for variable in workload.module["main"].params:
        name, type = variable.name_hint, variable.checked_type
        if name in workload.params:
            continue
        if not isinstance(type, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type.shape):
            raise MeasureError(f"the input {name} has type {type}; only tensors of known shape can be filled and timed")
        found[name] = random_values(
            name, [int(d) for d in type.shape], type.dtype, seed, limit_of(workload, name, type.dtype)
        )
    return found
