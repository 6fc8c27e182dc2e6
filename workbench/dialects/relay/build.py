"""Building and running Relay workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.base import Built, Workload
from workbench.dialects.capture import pass_context
from workbench.dialects.relay.kernels import call_rows
from workbench.dialects.relay.running import Running, device_of
from workbench.dialects.relay.sources import generated


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

    def load(self, seed: int) -> Running:
        return Running(self.workload, self.library, device_of(self.target), seed)
