"""A dialect's compiler and its builds, and the facts about this machine that they need, for Relay and Relax alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import tvm

from workbench.dialects.base import Workload
from workbench.dialects.compiler.results import (
    Fallbacks,
    KernelSchedule,
    Planned,
    Program,
)
from workbench.dialects.compiler.running import Running
from workbench.dialects.compiler.tvm_target import code_forms, make_target
from workbench.errors import MeasureError, NoDevice
from workbench.graph.model import Graph

SOURCES = {"llvm": "ll", "asm": "s"}
"form of code -> TVM's name of it, where it is not the form's own"


class Compiler(ABC):
    """Builds and runs, in the child process only: a build can end the process it runs in. A Config is given as its data."""

    @abstractmethod
    def optimized(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> tvm.IRModule:
        """Return the module after the compiler has decided on its kernels."""

    @abstractmethod
    def unoptimized(self, workload: Workload, target: str) -> tuple[Workload, str]:
        """Return a workload and a target that opt level 0 can compile, for the expected values of the outputs."""

    @abstractmethod
    def compiled(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> Built:
        """Build a workload."""

    @staticmethod
    @abstractmethod
    def plan(workload: Workload, target: str, config: Mapping[str, Any]) -> Planned:
        """Return the memory plan of a build, from the graph-level passes alone."""

    @staticmethod
    @abstractmethod
    def fallbacks(workload: Workload, target: str, config: Mapping[str, Any], log: Sequence[str] = ()) -> Fallbacks:
        """Return the kernels that TVM builds with a fallback, and why records of a log are not used.

        `log`: AutoTVM's records, one JSON text each; Relay's builds look them up.
        """

    @staticmethod
    def schedules(
        workload: Workload,  # noqa: ARG004
        target: str,  # noqa: ARG004
        config: Mapping[str, Any],  # noqa: ARG004
        rules: Sequence[Any] = (),  # noqa: ARG004
    ) -> tuple[Graph, tuple[KernelSchedule, ...]]:
        """Return the kernels of a build with the rules that were tried for their schedules, and their graph.

        `rules`: those to try instead of the pipeline's own. Raises MeasureError: this dialect's schedules are not on TIR.
        """
        raise MeasureError(
            "Relay makes its schedules of TE, without dlight's rules; wb.to_relax makes a Relax program of it, and wb.lint lists "
            "the operators that Relay compiles with a fallback"
        )

    @abstractmethod
    def fingerprint(self, workload: Workload, target: str, config: Mapping[str, Any]) -> str:
        """Return TVM's structural hash of the module that code is generated for, values of constants included.

        Returns
        -------
        str
            16 hexadecimal digits, the same in every process.
        """

    @staticmethod
    @abstractmethod
    def probed(workload: Workload) -> tuple[Workload, list[int]]:
        """Return the workload with a module whose outputs are the values of its nodes, and the id of the node of each output.

        Raises MeasureError: the module has no such nodes, or they cannot be matched.
        """

    @staticmethod
    @abstractmethod
    def running(workload: Workload, library: Any, device: Any, seed: int) -> Running:
        """Return a library, built or loaded, on a device of this machine or of an RPC session, with random inputs."""


class Built(ABC):
    """A compiled workload, for the device of its target. `Compiler.compiled` makes it."""

    def __init__(self, compiler: Compiler, workload: Workload, target: str, library: Any, watch: Any) -> None:
        self.compiler = compiler
        self.workload = workload
        self.target = target
        self.library = library
        self.watch = watch
        "the instrument that kept modules between the passes; `split` has those with host parts and device kernels apart"
        self.tvm = tvm.__version__
        self.threads = int(tvm.runtime.num_threads())
        "threads that its runtime uses"
        self.rules: Mapping[str, str] = {}
        "name of a compiled function -> the rule of dlight that scheduled it"

    @abstractmethod
    def program(self) -> Program:
        """Return the calls of one run, in execution order."""

    @abstractmethod
    def peak_bytes(self) -> int | None:
        """Return the most bytes that the executor holds at once, parameters and constants apart; None if unknown."""

    @abstractmethod
    def plan(self) -> Planned:
        """Return its memory plan."""

    @abstractmethod
    def module(self) -> tvm.IRModule:
        """Return the module whose kernels were compiled, each still a function of its operators."""

    @abstractmethod
    def code(self, form: str) -> str:
        """Return the generated code of the whole library in a form; for `llvm` and `asm` the host's part."""

    def calls(self) -> list[dict[str, Any]]:
        """Return one row per call, in execution order, with its launches: Program.rows."""
        has_device = make_target(self.target).kind.name not in ("llvm", "c")
        return self.program().rows(launches_of(self.watch.split) if has_device else None)

    def forms(self) -> tuple[str, ...]:
        """Return the available forms of code, the target's own first."""
        return code_forms(self.target)

    def source(self) -> str:
        """Return the generated code in the target's own form."""
        return self.code(self.forms()[0])

    def export(self, path: Path) -> None:
        """Write the library, for another process or another machine; as `.tar` it is linked where it is loaded."""
        self.library.export_library(str(path))

    def load(self, seed: int) -> Running:
        """Load it on the device of its target, with random inputs."""
        return self.compiler.running(self.workload, self.library, device_of(self.target), seed)


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
    """Return the device of this machine that runs code for a target. Raises NoDevice: there is none."""
    kind = make_target(target).kind.name
    device = tvm.device("cpu" if kind in ("llvm", "c") else kind, 0)
    if not device.exist:
        raise NoDevice(f"there is no {kind} device here, so nothing was run")
    return device


Launches = tuple[int, bool]
"the number, and whether it is exact; otherwise it is a lower bound"


def launches_of(modules: Iterable[tvm.IRModule]) -> dict[str, Launches]:
    """Return host function -> its launches.

    `modules`: as the pass that splits host and device parts returned them: a host part calls its kernels by name.
    """
    found: dict[str, Launches] = {}
    for module in modules:
        functions = {variable.name_hint: function for variable, function in module.functions.items()}
        for name, function in functions.items():
            if type(function).__name__ == "PrimFunc":
                found[name] = _launches(function.body, functions)
    return found


def _launches(stmt: Any, functions: dict[str, Any]) -> Launches:
    kind = type(stmt).__name__
    if kind == "SeqStmt":
        parts = [_launches(part, functions) for part in stmt]
        return sum(count for count, _ in parts), all(exact for _, exact in parts)
    if kind == "IfThenElse":
        least, exact = _launches(stmt.then_case, functions)
        other, also = (0, True) if stmt.else_case is None else _launches(stmt.else_case, functions)
        return min(least, other), exact and also and least == other
    if kind in ("For", "While"):
        count, exact = _launches(stmt.body, functions)
        if count == 0:
            return 0, exact
        # the extent is a number where the shapes are known
        known = kind == "For" and type(stmt.extent).__name__ == "IntImm"
        return (count * int(stmt.extent), exact) if known else (count, False)
    count, exact = _call(getattr(stmt, "value", None), functions)
    inner = getattr(stmt, "body", None)
    if inner is None:
        return count, exact
    below, also = _launches(inner, functions)
    return count + below, exact and also


def _call(value: Any, functions: dict[str, Any]) -> Launches:
    op = getattr(value, "op", None)
    if op is None:
        return 0, True
    if isinstance(op, tvm.ir.GlobalVar):
        return int(op.name_hint in functions), True
    if not getattr(op, "name", "").endswith(_BY_NAME):
        return 0, True
    # a kernel of the module; otherwise a library's function (cuBLAS, Thrust), whose launches are unknown
    named = getattr(value.args[0], "value", "") in functions
    return 1, named


_BY_NAME = ("call_ffi_kernel", "tvm_call_packed", "tvm_call_cpacked", "call_extern")
"operators that call the function named by their first argument"
