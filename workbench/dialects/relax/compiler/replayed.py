"""The schedules of kernels with their traces: made by rules or by the user, sent to another process, and replayed up to a step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import s_tir

from workbench.dialects.base import Workload
from workbench.dialects.compiler.tuning import load_intrinsics
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.rules import run_rules
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError

DESCRIBED = ("Tensorize",)
"the primitive that replaces a block by an intrinsic; without it the block is the intrinsic's own description"
SERIAL = (*DESCRIBED, "Bind", "SetScope")
"without these too a schedule is one for a single thread"


@dataclass(frozen=True)
class ScheduledKernel:
    """A kernel before and after its schedule."""

    name: str
    before: Any
    "the function without a schedule; None if it is not known"
    after: Any
    trace: Any = None
    "None if it is not known which primitives made the schedule"

    @property
    def steps(self) -> tuple[Any, ...]:
        return () if self.trace is None else tuple(self.trace.insts)

    def step(self, place: int) -> str:
        """A primitive as Python."""
        lines = [str(each) for each in self.trace.as_python()]
        return lines[place] if len(lines) == len(self.steps) else str(self.steps[place].kind.name)

    def upto(self, count: int, without: Sequence[str] = DESCRIBED) -> Any:
        """Return the function after the first steps, without some kinds of them."""
        kept = [each for each in self.steps[:count] if each.kind.name not in without]
        decisions = {each: self.trace.decisions[each] for each in kept if each in self.trace.decisions}
        schedule = s_tir.Schedule(tvm.IRModule({"main": self.before}))
        load_intrinsics()
        s_tir.schedule.Trace(kept, decisions).apply_to_schedule(schedule, remove_postproc=False)
        return schedule.mod["main"]

    def to_data(self) -> dict[str, Any]:
        trace = None if self.trace is None else json.dumps(self.trace.as_json(), default=lambda each: each.value)
        before = None if self.before is None else _saved(self.before)
        return {"name": self.name, "before": before, "after": _saved(self.after), "trace": trace}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> ScheduledKernel:
        before = None if data["before"] is None else tvm.ir.load_json(data["before"])["main"]
        trace = None
        if data["trace"] is not None:
            schedule = s_tir.Schedule(tvm.IRModule({"main": before}))
            load_intrinsics()
            s_tir.schedule.Trace.apply_json_to_schedule(json.loads(data["trace"]), schedule)
            trace = schedule.trace
        return cls(data["name"], before, tvm.ir.load_json(data["after"])["main"], trace)


def scheduled_kernels(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> tuple[ScheduledKernel, ...]:
    """Return the kernels of a build, each with the schedule that a rule made for it. `rules`: as `schedules` takes them."""
    _, functions, watched, _ = run_rules(workload, make_target(target), config, rules)
    found = []
    for name, function in functions.items():
        before, schedule = watched.functions.get(name), watched.taken.get(name)
        after, trace = (function, None) if schedule is None else (schedule.mod["main"], schedule.trace)
        # rules that are given do not change the module
        found.append(ScheduledKernel(name, function if before is None and trace is not None else before, after, trace))
    return tuple(found)


def scheduled_by_hand(given: Any, schedule: Any) -> ScheduledKernel:
    """Return a kernel of the user's with a Schedule, a function of one, or the function after it.

    Raises MeasureError: there is not one kernel.
    """
    functions = [given] if isinstance(given, tvm.tirx.PrimFunc) else list(prim_funcs(given).values())
    if len(functions) != 1:
        raise MeasureError(f"give a module of one kernel; this has {len(functions)}")
    name = str((functions[0].attrs or {}).get("global_symbol", "main"))
    if isinstance(schedule, s_tir.Schedule):
        made = schedule
    elif isinstance(schedule, (tvm.tirx.PrimFunc, tvm.IRModule)):
        after = schedule if isinstance(schedule, tvm.tirx.PrimFunc) else next(iter(prim_funcs(schedule).values()))
        return ScheduledKernel(name, functions[0], after)
    else:
        made = s_tir.Schedule(tvm.IRModule({"main": functions[0]}))
        returned = schedule(made)
        made = returned if isinstance(returned, s_tir.Schedule) else made
    (after,) = prim_funcs(made.mod).values()
    return ScheduledKernel(name, functions[0], after, made.trace)


def _saved(function: Any) -> str:
    return str(tvm.ir.save_json(tvm.IRModule({"main": function.with_attr("global_symbol", "main")})))
