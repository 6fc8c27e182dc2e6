"""MetaSchedule in the TVM that has Relay: the location of its parts."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import meta_schedule as ms  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM
from tvm.contrib.popen_pool import MapResult, PopenPoolExecutor, StatusKind
from tvm.contrib.tar import tar
from tvm.meta_schedule.utils import derived_object
from tvm.tir import Schedule

__all__ = ["MapResult", "PopenPoolExecutor", "StatusKind", "derived_object", "ms", "tar"]

INTRINSICS: str = "tvm.tir.tensor_intrin"
"the module that registers the tensor intrinsics that schedules may name"


def key_of(module: Any) -> str:
    """Return a hash of a module that is the same in every process."""
    return f"{tvm.ir.structural_hash(module) & (2**64 - 1):016x}"


def unscheduled(module: Any) -> Any:
    """Return the module with a schedule of one step that changes nothing; a database finds none without steps."""
    schedule = Schedule(module)
    schedule.get_block("root")
    return schedule


def library(module: Any, target: Any) -> Any:
    """Compile a candidate."""
    module = tvm.tir.transform.RemoveWeightLayoutRewriteBlock(skip_ndarray_rewrite=True)(module)
    return tvm.build(module, target=target)
