"""Operators for which Relay's build has no tuned or optimized implementation, and AutoTVM's records that it does not use.

TVM chooses an implementation for each operator of a fused function when it lowers it; the same function of TVM is asked here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import tvm
from tvm import autotvm, relay, te  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM
from tvm.relay.backend import te_compiler  # pyright: ignore[reportAttributeAccessIssue]  the same

from workbench.analysis.fusion.forward import OUT_ELEMWISE
from workbench.dialects.base import Workload
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.fallbacks import Cause, FallbackKernel, Fallbacks
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.entries import refuse_without_main
from workbench.dialects.relay.compiler.autotvm_records import Records
from workbench.dialects.relay.compiler.optimization import quickly_optimized
from workbench.dialects.relay.passes.editing import located
from workbench.errors import MeasureError


def fallbacks(workload: Workload, target: str, config: Mapping[str, Any], log: Sequence[str] = ()) -> Fallbacks:
    """Return the operators that TVM compiles with AutoTVM's default configuration, or of which it logs that they are not optimized.

    A build with MetaSchedule's database does not ask AutoTVM.
    """
    refuse_without_main(workload, MeasureError)
    made, records = make_target(target), Records(log)
    found: dict[tuple[Cause, str, str], list[int]] = {}
    with records.applied if log else nullcontext():
        at = located(relay.transform.InferType()(quickly_optimized(workload, target, config)), workload.name)
        with made, pass_context(config, []), silent_autotvm():
            for node in at.graph.ops:
                if node.pattern is not None and node.pattern >= OUT_ELEMWISE and _has_strategy(at.expressions[node.id]):
                    for fallback in _fallback(at.expressions[node.id], made):
                        found.setdefault(fallback, []).append(node.id)
    kernels = (
        FallbackKernel(cause, name, tuple(nodes), said)
        for (cause, name, said), nodes in found.items()
        if cause != "untuned" or not config.get("schedules")
    )
    return Fallbacks(at.graph, tuple(kernels), tuple(records.unused(made)))


def _has_strategy(expr: Any) -> bool:
    return isinstance(expr.op, tvm.ir.Op) and expr.op.get_attr("FTVMStrategy") is not None


def _fallback(call: relay.Call, target: tvm.target.Target) -> Iterator[tuple[Cause, str, str]]:
    """Yield the cause, the name of the implementation and TVM's words, if the operator has a fallback."""
    with _warnings() as heard:
        lowered = te_compiler.lower_call(call, [te.placeholder(*each) for each in _inputs(call)], target)
    name = str(lowered.implementation.name)
    if heard:
        yield "warned", name, heard[0]
        return
    workload = autotvm.task.get_workload(lowered.outputs)
    if workload is not None and autotvm.task.DispatchContext.current.query(target, workload).is_fallback:
        yield "untuned", name, ""


def _inputs(call: relay.Call) -> Iterator[tuple[Any, str]]:
    """Yield the shape and the data type of each tensor that a call reads, tuples flattened."""
    for argument in call.args:
        type = argument.checked_type
        for each in type.fields if isinstance(type, relay.TupleType) else [type]:
            yield te_compiler.get_shape(each.shape), each.dtype


@contextmanager
def silent_autotvm() -> Iterator[None]:
    """Keep AutoTVM from logging each operator that was not tuned."""
    before, autotvm.GLOBAL_SCOPE.silent = autotvm.GLOBAL_SCOPE.silent, True
    try:
        yield
    finally:
        autotvm.GLOBAL_SCOPE.silent = before


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        # the others are about libraries that the target names
        if "not optimized" in said:
            self.said.append(said.strip().rstrip("."))


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Yield a list to which TVM's warnings about implementations are added."""
    logger, heard = logging.getLogger("strategy"), _Heard()
    before, logger.propagate = logger.propagate, False
    logger.addHandler(heard)
    try:
        yield heard.said
    finally:
        logger.removeHandler(heard)
        logger.propagate = before
