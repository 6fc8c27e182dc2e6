"""Building and running Relay workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.base import Workload
from workbench.dialects.compiler.built import SOURCES, Compiled, tir_text
from workbench.dialects.compiler.built import cuda_compute as cuda_compute
from workbench.dialects.compiler.built import device_of as device_of
from workbench.dialects.compiler.built import llvm_host_cpu as llvm_host_cpu
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.counted import Program
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.entries import refuse_without_main
from workbench.dialects.facets import Built
from workbench.dialects.relay.compiler.fallbacks import fallbacks as fallbacks
from workbench.dialects.relay.compiler.fields import read_by_hash
from workbench.dialects.relay.compiler.kernels import Watch, bytes_of_json, external_functions, program_of_json
from workbench.dialects.relay.compiler.optimization import devices_in_words, optimize
from workbench.dialects.relay.compiler.planned import plan as plan
from workbench.dialects.relay.compiler.probes import probed as probed
from workbench.dialects.relay.compiler.running import Running
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.entries import open_dimensions, unshared
from workbench.dialects.scheduling import scheduled
from workbench.dialects.trust import ask
from workbench.errors import MeasureError, TVMFailed
from workbench.quoting import shell

_SMALL_INTEGERS = {"int8", "uint8"}


def optimized(
    workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
) -> tvm.IRModule:
    """Return the module after the graph-level part of relay.build."""
    with scheduled(config, "relay", empty=True), pass_context(config, instruments):
        module = optimize(workload, make_target(target))
    return relay.transform.InferType()(module)


def unoptimized(workload: Workload, target: str) -> tuple[Workload, str]:
    """Return a workload and a target that opt level 0 can compile, for the expected values of the outputs.

    Opt level 0 has no kernels for `qnn` operators, so they are replaced by others, as TVM defines them. The kernels for
    a CPU with int8 instructions rely on Legalize for their shapes, so the target is a CPU without.
    """
    refuse_without_main(workload, MeasureError)
    if not _SMALL_INTEGERS & {str(dtype) for dtype in relay.analysis.all_dtypes(workload.module["main"])}:
        return workload, target
    plain = "llvm"
    with make_target(plain), tvm.transform.PassContext():
        lower = tvm.transform.Sequential([relay.qnn.transform.Legalize(), relay.qnn.transform.CanonicalizeOps()])
        module = lower(unshared(workload.module))
    return workload.of(module), plain


def compiled(workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()) -> Built:
    """Build for the graph executor.

    Raises
    ------
    MeasureError
        An input has an open dimension; the graph executor plans its memory before it runs.
    """
    ask()
    refuse_without_main(workload, MeasureError)
    _refuse_open(workload)
    made = make_target(target)
    watch = Watch()
    context = pass_context(config, [watch, *instruments])
    where, schedules = compiled_where_it_runs(target), scheduled(config, "relay")
    with where, schedules, context, devices_in_words(), as_error(TVMFailed):
        library = relay.build(unshared(workload.module), target=made, params=workload.params)
    return RelayBuilt(workload, target, library, watch)


def _refuse_open(workload: Workload) -> None:
    for parameter in workload.module["main"].params:
        if parameter.name_hint not in workload.params and open_dimensions(parameter.checked_type):
            name = parameter.name_hint
            raise MeasureError(
                f"the input {name} leaves a dimension open, and relay.build takes none; give its shape, shapes={{{name!r}: (1, ...)}}, or `--input {shell(f'{name}=1,...')}` in a shell"
            )


running = Running


class RelayBuilt(Compiled):
    """A library for the graph executor."""

    def __init__(self, workload: Workload, target: str, library: Any, watch: Watch) -> None:
        super().__init__(workload, target, library)
        self.watch = watch
        self.split = watch.split

    def program(self) -> Program:
        module = self.module()
        return program_of_json(self.graph(), external_functions(module), read_by_hash(module))

    def graph(self) -> dict[str, Any]:
        """Return the graph of the executor."""
        # TVM does not escape control characters in names
        return json.loads(self.library.get_graph_json(), strict=False)

    def module(self) -> tvm.IRModule:
        if self.watch.fused is None:
            raise MeasureError("the build did not lower any module, so nothing of it can be counted")
        return self.watch.fused

    def peak_bytes(self) -> int:
        apart = {*self.library.get_params(), *self.workload.params}
        return bytes_of_json(self.graph(), apart)

    def code(self, form: str) -> str:
        return code(self.library.get_lib(), self.watch.lowered or tvm.IRModule(), form)

    def load(self, seed: int) -> Running:
        return Running(self.workload, self.library, device_of(self.target), seed)


def code(library: Any, lowered: tvm.IRModule, form: str) -> str:
    """Return the generated code of the whole library in that form; for `llvm` and `asm` the host's part."""
    if form == "tir":
        return tir_text(lowered)
    if form in SOURCES:
        return str(library.get_source(SOURCES[form]))
    return "\n".join(str(part.get_source()) for part in _parts(library) if part.type_key in (form, "c"))


def _parts(module: Any) -> list[Any]:
    return [module, *(part for imported in module.imported_modules for part in _parts(imported))]


def fingerprint(workload: Workload, target: str, config: Mapping[str, Any]) -> str:
    """Return TVM's structural hash of the module after all graph-level passes, values of constants included.

    Returns
    -------
    str
        16 hexadecimal digits, the same in every process.
    """
    module = optimized(workload, target, config)
    return f"{tvm.ir.structural_hash(module, map_free_vars=True) & (1 << 64) - 1:016x}"
