"""MetaSchedule in the TVM that has Relax: the location of its parts."""

from __future__ import annotations

import importlib
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.support.popen_pool import MapResult, PopenPoolExecutor, StatusKind
from tvm.support.tar import tar

__all__ = ["MapResult", "PopenPoolExecutor", "StatusKind", "derived_object", "ms", "tar"]

INTRINSICS: str = "tvm.s_tir.tensor_intrin"
"the module that registers the tensor intrinsics that schedules may name"


def key_of(module: Any) -> str:
    """Return a hash of a module that is the same in every process."""
    return f"{tvm_ffi.structural_hash(module) & (2**64 - 1):016x}"


def unscheduled(module: Any) -> Any:
    """Return the module with a schedule of one step that changes nothing; a database finds none without steps."""
    schedule = Schedule(module)
    schedule.get_sblock("root")
    return schedule


def library(module: Any, target: Any) -> Any:
    """Compile a candidate; TVM's own function for it would import every machine's tensor intrinsics first."""
    module = tvm.s_tir.transform.RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module)
    return tvm.driver.build(module, target=target)


def pipeline(target: Any) -> Any:
    """Return TVM's own pipeline, with the schedules of the database in scope applied as soon as there are kernels.

    A kernel without a schedule is compiled as usual.
    """
    # tvm.relax.pipeline selects these four lists by target, but two of a CPU's are only in the CPU's own module
    cpu = target.kind.name in ("llvm", "c")
    parts = importlib.import_module("tvm.relax.backend.cpu_generic.pipeline" if cpu else "tvm.relax.pipeline")
    legalize = list(parts.legalize_passes(target))
    place = next(i for i, step in enumerate(legalize) if step.info.name == "FuseTIR") + 1
    with target:
        legalize.insert(place, relax.transform.MetaScheduleApplyDatabase())
    rest = [*parts.dataflow_lower_passes(target), *parts.finalize_passes(target)]

    @tvm.transform.module_pass(opt_level=0, name="tuned_pipeline")
    def tuned(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        with target:
            return tvm.transform.Sequential([*parts.library_dispatch_passes(target), *legalize, *rest])(module)

    return tuned
