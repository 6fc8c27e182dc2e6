"""In the child: the dialect's compiler, and the target that a text means on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.facets import Built, Compiler
from workbench.dialects.registry import dialect
from workbench.process.host import mcpu
from workbench.targets import target_fields, with_option


def compiler_of(workload: Workload) -> Compiler:
    """Return the compiler of a workload's dialect."""
    return dialect(workload.dialect).compiler


def built_here(workload: Workload, config: Mapping[str, Any]) -> Built:
    """The workload compiled for this CPU as it stands, to have the values that it should give."""
    compiler = compiler_of(workload)
    program, target = compiler.unoptimized(workload, resolved_target(workload, "llvm"))
    return compiler.compiled(program, target, config)


def resolved_target(workload: Workload, text: str) -> str:
    """The target that is really used: for plain `llvm` with this host's `-mcpu`, for plain `cuda` with this GPU's `-arch`."""
    fields = target_fields(text)
    if fields["kind"] == "llvm" and not {"mcpu", "mtriple"} & set(fields):
        cpu = mcpu(compiler_of(workload).llvm_host_cpu())
        return with_option(text, "mcpu", cpu) if cpu else text
    if fields["kind"] == "cuda" and "arch" not in fields:
        compute = compiler_of(workload).cuda_compute().replace(".", "")
        return with_option(text, "arch", f"sm_{compute}") if compute else text
    return text
