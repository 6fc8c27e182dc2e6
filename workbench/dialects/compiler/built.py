"""A compiled workload, and the facts about this machine that its build needs, for Relay and Relax alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import itemgetter
from pathlib import Path
from typing import Any

import tvm

from workbench.dialects.base import Workload
from workbench.dialects.compiler.launches import launches_of
from workbench.dialects.compiler.planned import Program
from workbench.dialects.compiler.tvm_target import code_forms, make_target
from workbench.errors import NoDevice

SOURCES = {"llvm": "ll", "asm": "s"}
"form of code -> TVM's name of it, where it is not the form's own"


class Compiled(ABC):
    """A library that a build made, for the device of its target. `facets.Built` documents the methods."""

    split: list[tvm.IRModule]
    "the modules with host parts and device kernels split, which the build left"

    def __init__(self, workload: Workload, target: str, library: Any) -> None:
        self.workload = workload
        self.target = target
        self.library = library
        self.tvm = tvm.__version__
        self.threads = int(tvm.runtime.num_threads())

    @abstractmethod
    def program(self) -> Program: ...

    @abstractmethod
    def peak_bytes(self) -> int | None: ...

    @abstractmethod
    def code(self, form: str) -> str: ...

    def calls(self) -> list[dict[str, Any]]:
        has_device = make_target(self.target).kind.name not in ("llvm", "c")
        return self.program().rows(launches_of(self.split) if has_device else None)

    def forms(self) -> tuple[str, ...]:
        return code_forms(self.target)

    def source(self) -> str:
        return self.code(self.forms()[0])

    def export(self, path: Path) -> None:
        self.library.export_library(str(path))


def tir_text(module: tvm.IRModule) -> str:
    """Return the TVMScript of a module's kernels, each under the name of its calls."""
    named = [(variable.name_hint, function) for variable, function in module.functions.items()]
    kernels = [(name, function) for name, function in named if type(function).__name__ == "PrimFunc"]
    return "\n\n".join(
        function.with_attr("global_symbol", name).script() for name, function in sorted(kernels, key=itemgetter(0))
    )


def llvm_host_cpu() -> str:
    """Return the name of the host's CPU that this TVM's LLVM finds."""
    return str(tvm.get_global_func("target.llvm_get_system_cpu")())


def cuda_compute() -> str:
    """Return the compute capability of the first GPU, `9.0`; empty if TVM finds none."""
    device = tvm.cuda(0)
    return str(device.compute_version) if device.exist else ""


def device_of(target: str) -> Any:
    """Return the device of this machine that runs code for a target.

    Raises
    ------
    NoDevice
        There is none.
    """
    kind = make_target(target).kind.name
    device = tvm.device("cpu" if kind in ("llvm", "c") else kind, 0)
    if not device.exist:
        raise NoDevice(f"there is no {kind} device here, so nothing was run")
    return device
