"""Building and running Relax workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from workbench.dialects import compat
from workbench.dialects.base import Built, Workload
from workbench.dialects.capture import pass_context
from workbench.dialects.inputs import random_values
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.kernels import call_rows
from workbench.dialects.relax.sources import generated
from workbench.dialects.relax.target import make_target
from workbench.errors import MeasureError


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
    return RelaxBuilt(workload, made, executable, watch.module())


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

    method = "Relax VM, time_evaluator"

    def __init__(self, workload: Workload, target: tvm.target.Target, executable: Any, module: tvm.IRModule) -> None:
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

    def runner(self, seed: int) -> Callable[[int], float]:
        device, machine, arguments = self._filled(seed)

        def run(number: int) -> float:
            return float(machine.time_evaluator("main", device, number=number, repeat=1)(*arguments).results[0])

        return run

    def outputs(self, seed: int) -> list[np.ndarray]:
        _, machine, arguments = self._filled(seed)
        return list(_flat(machine["main"](*arguments)))

    def _filled(self, seed: int) -> tuple[Any, Any, list[Any]]:
        """The device, a machine, and its arguments with random inputs."""
        kind = self.target.kind.name
        device = tvm.device("cpu" if kind in ("llvm", "c") else kind, 0)
        if not device.exist:
            raise MeasureError(f"there is no {kind} device here, so nothing was run")
        machine = relax.VirtualMachine(self.executable, device)
        values = {**random_inputs(self.workload, seed), **self.workload.params}
        names = [compat.name_of(variable) for variable in _entry(self.workload).params]
        return device, machine, [tvm.runtime.tensor(_array(values[name]), device) for name in names]


def random_inputs(workload: Workload, seed: int) -> dict[str, np.ndarray]:
    """Seeded values for every parameter of `main` that has no array (dialects/inputs.py)."""
    found = {}
    for variable in _entry(workload).params:
        name, type = compat.name_of(variable), compat.type_of(variable)
        if name in workload.params:
            continue
        shape = compat.fixed_shape(type)
        if shape is None:
            raise MeasureError(f"the input {name} has type {type}; only tensors of known shape can be filled and timed")
        found[name] = random_values(name, shape, compat.dtype_of(type), seed)
    return found


def _entry(workload: Workload) -> relax.Function:
    names = [variable.name_hint for variable, _ in workload.module.functions_items()]
    if "main" not in names:
        raise MeasureError(f"{workload.name} has no function `main` to run; it has {', '.join(names)}")
    return workload.module["main"]


def _flat(value: Any) -> Iterable[np.ndarray]:
    """The arrays of a result, nested tuples opened."""
    if hasattr(value, "numpy"):
        yield value.numpy()
        return
    for part in value:
        yield from _flat(part)


def _array(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else value.numpy()
