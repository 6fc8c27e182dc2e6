"""Operators for which Relay's build has no tuned or optimized implementation, and AutoTVM's records that it does not use.

TVM chooses an implementation for each operator of a fused function when it lowers it; the same function of TVM is asked here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tvm
from tvm import autotvm, relay, te  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM
from tvm.relay.backend import te_compiler  # pyright: ignore[reportAttributeAccessIssue]  the same

from workbench.analysis.fusion.forward import OUT_ELEMWISE
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.results import Cause, FallbackKernel, Fallbacks, Mismatch, UnusedRecords
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relay.compiler.optimization import quickly_optimized, silent_autotvm
from workbench.dialects.relay.passes.editing import Located
from workbench.errors import MeasureError, reason_of


def fallbacks(workload: Workload, target: str, config: Mapping[str, Any], log: Sequence[str] = ()) -> Fallbacks:
    """Return the operators that TVM compiles with AutoTVM's default configuration, or of which it logs that they are not optimized.

    A build with MetaSchedule's database does not ask AutoTVM.
    """
    refuse_without_main(workload, MeasureError)
    made, records = make_target(target), Records(log)
    found: dict[tuple[Cause, str, str], list[int]] = {}
    with records.applied if log else nullcontext():
        at = Located(relay.transform.InferType()(quickly_optimized(workload, target, config)), workload.name)
        with made, pass_context(config, []), silent_autotvm():
            for node in at.graph.ops:
                if node.pattern is None or node.pattern < OUT_ELEMWISE:
                    continue
                call = at.expressions[node.id]
                if isinstance(call.op, tvm.ir.Op) and call.op.get_attr("FTVMStrategy") is not None:
                    for fallback in _fallback(call, made):
                        found.setdefault(fallback, []).append(node.id)
    kernels = (
        FallbackKernel(cause, name, tuple(nodes), said)
        for (cause, name, said), nodes in found.items()
        if cause != "untuned" or not config.get("schedules")
    )
    return Fallbacks(at.graph, tuple(kernels), tuple(records.unused(made)))


def _fallback(call: relay.Call, target: tvm.target.Target) -> Iterator[tuple[Cause, str, str]]:
    """Yield the cause, the name of the implementation and TVM's words, if the operator has a fallback."""
    types = [argument.checked_type for argument in call.args]
    fields = [each for type in types for each in (type.fields if isinstance(type, relay.TupleType) else [type])]
    inputs = [te.placeholder(te_compiler.get_shape(each.shape), each.dtype) for each in fields]
    with _warnings() as heard:
        lowered = te_compiler.lower_call(call, inputs, target)
    name = str(lowered.implementation.name)
    if heard:
        yield "warned", name, heard[0]
        return
    workload = autotvm.task.get_workload(lowered.outputs)
    if workload is not None and autotvm.task.DispatchContext.current.query(target, workload).is_fallback:
        yield "untuned", name, ""


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Yield a list to which TVM's warnings about implementations are added; the others are about libraries that the target names."""
    heard: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        said = record.getMessage()
        heard.extend([said.strip().rstrip(".")] if "not optimized" in said else [])
        return False

    logger = logging.getLogger("strategy")
    logger.addFilter(keep)
    try:
        yield heard
    finally:
        logger.removeFilter(keep)


_INVALID = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError)
"errors of TVM's reader"


class _Asked(autotvm.task.ApplyHistoryBest):
    """TVM's own choice of a record for an operator, which records each lookup."""

    def __init__(self, records: Sequence[Any]) -> None:
        self.workloads: dict[tuple[Any, ...], None] = {}
        super().__init__(records)

    def _query_inside(self, target: Any, workload: Any) -> Any:
        self.workloads[workload] = None
        return super()._query_inside(target, workload)


@dataclass(frozen=True)
class _Record:
    place: int
    "in the log"
    input: Any
    result: Any

    @property
    def workload(self) -> tuple[Any, ...]:
        return self.input.task.workload


class Records:
    """The records of a log, each a JSON text that its reader has checked; TVM makes objects of them here, in the child process."""

    def __init__(self, log: Sequence[str]) -> None:
        self._records: list[_Record] = []
        self._invalid: list[UnusedRecords] = []
        for place, text in enumerate(log):
            try:
                found = _Record(place, *autotvm.record.decode(text))
                hash(found.workload)
            except _INVALID as error:
                self._invalid.append(UnusedRecords("invalid", "", (place,), theirs=reason_of(error)))
            else:
                self._records.append(found)

    @cached_property
    def applied(self) -> _Asked:
        """The context in which a build uses the records."""
        return _Asked([(each.input, each.result) for each in self._records])

    def unused(self, target: tvm.target.Target) -> Iterator[UnusedRecords]:
        """Yield the records of each task of which a build in `applied` used none."""
        yield from self._invalid
        tasks: dict[tuple[Any, ...], list[_Record]] = {}
        for each in self._records:
            tasks.setdefault((each.workload, str(each.input.target)), []).append(each)
        for (workload, theirs), records in tasks.items():
            first, places = records[0], tuple(each.place for each in records)
            if workload not in self.applied.workloads:
                cause, own, ours = self._nearest(workload)
                yield UnusedRecords(cause, workload[0], places, theirs, own, ours)
            elif not _fits(first.input.target, target):
                keys = _keys(first.input.target), _keys(target)
                yield UnusedRecords("target", workload[0], places, theirs, *keys)
            elif all(each.result.error_no != 0 for each in records):
                yield UnusedRecords("failed", workload[0], places, theirs)

    def _nearest(self, workload: tuple[Any, ...]) -> tuple[Mismatch, str, str]:
        """Return why a build does not look up a workload, and the values that differ from what it looks up."""
        alike = [each for each in self.applied.workloads if each[0] == workload[0]]
        if not alike:
            return "operator", "", ", ".join(dict.fromkeys(str(each[0]) for each in self.applied.workloads))
        nearest = min(alike, key=lambda each: len(_differing(workload, each)))
        place = _differing(workload, nearest)[0]
        return "arguments", _argument(workload, place), _argument(nearest, place)


def _differing(one: Sequence[Any], other: Sequence[Any]) -> list[int]:
    """Return the places at which two workloads differ; 0 is the task."""
    longest = max(len(one), len(other))
    return [place for place in range(longest) if one[place : place + 1] != other[place : place + 1]]


def _argument(workload: Sequence[Any], place: int) -> str:
    """Return an argument of a task in words.

    >>> _argument(("dense", ("TENSOR", (1, 8), "float32"), None), 1)
    '(1, 8) float32'
    """
    if place >= len(workload):
        return "no argument"
    value = workload[place]
    if isinstance(value, tuple) and value[:1] == ("TENSOR",):
        return " ".join(map(str, value[1:]))
    return repr(value)


def _fits(theirs: Any, ours: Any) -> bool:
    """Return whether ApplyHistoryBest uses a record of one target for another."""
    same_model = theirs.model != "unknown" and theirs.model == ours.model
    return same_model or bool({*map(str, theirs.keys)} & {*map(str, ours.keys)})


def _keys(target: Any) -> str:
    model = "" if target.model == "unknown" else f", model {target.model}"
    return f"{' and '.join(map(str, target.keys))}{model}"
