"""Building and running Relay workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.dialects.base import Built, Workload
from workbench.dialects.capture import pass_context
from workbench.dialects.inputs import random_values
from workbench.dialects.relay.kernels import call_rows
from workbench.dialects.relay.sources import generated
from workbench.errors import MeasureError


def llvm_host_cpu() -> str:
    """What this TVM's LLVM takes the host's CPU for."""
    return str(tvm.target.codegen.llvm_get_system_cpu())


def optimized(
    workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
) -> tvm.IRModule:
    """The module after the graph-level part of relay.build."""
    with pass_context(config, instruments):
        module, _ = relay.optimize(workload.module, target=target, params=workload.params)
    return relay.transform.InferType()(module)


def compiled(workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()) -> Built:
    """Build for the graph executor."""
    with pass_context(config, instruments):
        return RelayBuilt(workload, target, relay.build(workload.module, target=target, params=workload.params))


class RelayBuilt:
    """A library for the graph executor."""

    method = "graph executor, time_evaluator"

    def __init__(self, workload: Workload, target: str, library: Any) -> None:
        self.workload = workload
        self.target = target
        self.library = library
        self.tvm = tvm.__version__
        self.threads = int(tvm.runtime.num_threads())

    def calls(self) -> list[dict[str, Any]]:
        return call_rows(json.loads(self.library.get_graph_json()))

    def source(self) -> str:
        return generated(self.library.get_lib())

    def runner(self, seed: int) -> Callable[[int], float]:
        device, executor = self._filled(seed)

        def run(number: int) -> float:
            return float(executor.module.time_evaluator("run", device, number=number, repeat=1)().results[0])

        return run

    def outputs(self, seed: int) -> list[np.ndarray]:
        _, executor = self._filled(seed)
        executor.run()
        return [executor.get_output(place).numpy() for place in range(executor.get_num_outputs())]

    def _filled(self, seed: int) -> tuple[Any, Any]:
        """The device, and an executor with random inputs set."""
        kind = self.target.split()[0]
        device = tvm.device(kind, 0)
        if not device.exist:
            raise MeasureError(f"there is no {kind} device here, so nothing was run")
        executor = graph_executor.GraphModule(self.library["default"](device))
        for name, value in random_inputs(self.workload, seed).items():
            executor.set_input(name, value)
        return device, executor


def random_inputs(workload: Workload, seed: int) -> dict[str, np.ndarray]:
    """Seeded values for every parameter of `main` that has no array (dialects/inputs.py)."""
    found = {}
    for variable in workload.module["main"].params:
        name, type = variable.name_hint, variable.checked_type
        if name in workload.params:
            continue
        if not isinstance(type, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type.shape):
            raise MeasureError(f"the input {name} has type {type}; only tensors of known shape can be filled and timed")
        found[name] = random_values(name, [int(d) for d in type.shape], type.dtype, seed)
    return found
