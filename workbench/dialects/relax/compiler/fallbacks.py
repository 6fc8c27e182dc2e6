"""Kernels of a Relax build without a schedule for them: TVM schedules none for a CPU, and some with dlight's fallback rule for a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

import tvm

from workbench.analysis.units import linked
from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.planned import Cause, FallbackKernel, Fallbacks
from workbench.dialects.compiler.tuning import scheduled
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.kernels import CALLS, FUSED, SCHEDULED, Watch, pipeline, program_of_module
from workbench.dialects.relax.entries import run_alone
from workbench.dialects.relax.graph import build_graph
from workbench.dialects.relax.kinds import prim_funcs, reduces
from workbench.errors import MeasureError


def fallbacks(workload: Workload, target: str, config: Mapping[str, Any], log: Sequence[str] = ()) -> Fallbacks:  # noqa: ARG001  Relax has no AutoTVM
    """Return the kernels with a reduction that no pass scheduled, or that dlight's fallback rule did.

    For other kernels TVM has nothing better: the fallback rule is made for them, and a CPU's code generator vectorizes their loops.
    """
    refuse_without_main(workload, MeasureError)
    made = make_target(target)
    watch, before = Watch(stop=CALLS), _Unscheduled()
    with scheduled(config), made, pass_context(config, [watch, before]), _fallback_rule(made) as taken:
        pipeline(made, config)(workload.module)
    causes: dict[str, Cause] = {}
    for name, function in prim_funcs(watch.first(CALLS)).items():
        given = before.functions.get(name, function)
        if not reduces(given):
            continue
        # `tir.is_scheduled` before TVM 0.27
        if not any(str(key).endswith(".is_scheduled") and bool(value) for key, value in (function.attrs or {}).items()):
            causes[name] = "unscheduled"
        elif any(given.same_as(each) for each in taken):
            causes[name] = "rule"
    graph = build_graph(run_alone(watch.first(FUSED, CALLS), workload), workload.name)
    rows = program_of_module(run_alone(watch.first(CALLS), workload), workload.name).rows(None)
    nodes: dict[str, list[int]] = {}
    for row, unit in zip(rows, linked(graph, rows), strict=True):
        if row["function"] in causes:
            nodes.setdefault(row["function"], []).extend(unit.nodes if unit else ())
    kernels = (FallbackKernel(causes[name], name, tuple(sorted(each))) for name, each in nodes.items())
    return Fallbacks(graph, tuple(kernels))


@tvm.ir.instrument.pass_instrument
class _Unscheduled:
    """Keeps the functions that dlight schedules, as they were before; it changes its module in place."""

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:
        if str(info.name) == SCHEDULED:
            self.functions = prim_funcs(module)


@contextmanager
def _fallback_rule(target: tvm.target.Target) -> Iterator[list[Any]]:
    """Yield a list to which each function is added that dlight's fallback rule schedules."""
    taken: list[Any] = []
    if target.kind.name in ("llvm", "c"):
        yield taken
        return
    # it was tvm.dlight before TVM had s_tir
    name = "tvm.s_tir.dlight" if find_spec("tvm.s_tir") else "tvm.dlight"
    rules = [importlib.import_module(f"{name}.{kind}").Fallback for kind in ("gpu", "adreno")]
    with ExitStack() as stack:
        for rule in rules:
            stack.enter_context(_noting(rule, taken))
        yield taken


@contextmanager
def _noting(rule: Any, taken: list[Any]) -> Iterator[None]:
    own = rule.apply

    def apply(self: Any, function: Any, target: Any, tunable: bool) -> Any:
        schedule = own(self, function, target, tunable)
        if schedule is not None:
            taken.append(function)
        return schedule

    rule.apply = apply
    try:
        yield
    finally:
        rule.apply = own
