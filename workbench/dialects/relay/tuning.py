"""MetaSchedule in the TVM that has Relay: where its parts are."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import meta_schedule as ms  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM
from tvm.contrib.popen_pool import MapResult, PopenPoolExecutor, StatusKind
from tvm.contrib.tar import tar
from tvm.meta_schedule.utils import derived_object
from tvm.tir import Schedule

from workbench.dialects.target import make_target
from workbench.targets import target_fields, with_option

__all__ = ["MapResult", "PopenPoolExecutor", "StatusKind", "derived_object", "ms", "tar"]

INTRINSICS: str = "tvm.tir.tensor_intrin"
"registers the tensor intrinsics that schedules may name"


def key_of(module: Any) -> str:
    """The same for the same module in every process."""
    return f"{tvm.ir.structural_hash(module) & (2**64 - 1):016x}"


def target_of(text: str, cores: int) -> Any:
    """The target to tune for: MetaSchedule wants to know how many cores there are."""
    fields = target_fields(text)
    wanted = fields["kind"] == "llvm" and "num-cores" not in fields
    return make_target(with_option(text, "num-cores", cores) if wanted else text)


def unscheduled(module: Any) -> Any:
    """The module with a schedule that changes nothing. It has one step, since a database finds none that has no step."""
    schedule = Schedule(module)
    schedule.get_block("root")
    return schedule


def library(module: Any, target: Any) -> Any:
    """A candidate, compiled."""
    module = tvm.tir.transform.RemoveWeightLayoutRewriteBlock(skip_ndarray_rewrite=True)(module)
    return tvm.build(module, target=target)
