"""Building and running Relax workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.base import Built, Workload
from workbench.dialects.capture import pass_context
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.kernels import call_rows
from workbench.dialects.relax.running import Running, device_of
from workbench.dialects.relax.sources import generated
from workbench.dialects.relax.target import make_target


def llvm_host_cpu() -> str:
    """What this TVM's LLVM takes the host's CPU for."""
    return str(tvm.get_global_func("target.llvm_get_system_cpu")())


def optimized(
    workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
) -> tvm.IRModule:
    """The module in which the compiler's own pipeline has decided on its kernels.

    That is the one that FuseTIR gets: a kernel is still a function of its operators, and can be drawn as a box of them.
    """
    made = make_target(target)
    watch = _Handover("FuseTIR", "CallTIRRewrite")
    with made, pass_context(config, [watch, *instruments]):
        relax.get_default_pipeline(made)(workload.module)
    return watch.module()


def compiled(workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()) -> Built:
    """Build for Relax's virtual machine.

    The pipeline is named: by default TVM fuses for a GPU only, and leaves every operator of a CPU build a kernel.
    """
    made = make_target(target)
    # the last module before calls become allocations and packed calls; a build always comes past this pass
    watch = _Handover("CallTIRRewrite")
    with pass_context(config, [watch, *instruments]):
        executable = tvm.compile(workload.module, made, relax_pipeline=relax.get_default_pipeline(made))
    return RelaxBuilt(workload, target, executable, watch.module())


@tvm.ir.instrument.pass_instrument
class _Handover:
    """Keeps the module as the first of these passes that runs gets it."""

    def __init__(self, *passes: str) -> None:
        self.passes = passes
        self.kept: dict[str, tvm.IRModule] = {}

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:
        if info.name in self.passes:
            self.kept.setdefault(info.name, module)

    def module(self) -> tvm.IRModule:
        return next(self.kept[name] for name in self.passes if name in self.kept)


class RelaxBuilt:
    """An executable for Relax's virtual machine."""

    def __init__(self, workload: Workload, target: str, executable: Any, module: tvm.IRModule) -> None:
        self.workload = workload
        self.target = target
        self.executable = executable
        self.module = module
        self.tvm = tvm.__version__
        self.threads = int(tvm.runtime.num_threads())

    def calls(self) -> list[dict[str, Any]]:
        return call_rows(build_graph(self.module, self.workload.name))

    def source(self) -> str:
        return generated(self.executable.mod)

    def load(self, seed: int) -> Running:
        return Running(self.workload, self.executable, device_of(self.target), seed)
