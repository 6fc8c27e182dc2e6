"""Kernels with the traces of their schedules: made by rules, records or the user, and sent to another process."""

from __future__ import annotations

import json
import re
import traceback
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm
from tvm import tirx
from tvm.s_tir.schedule import Schedule, Trace

from workbench.dialects.base import Workload
from workbench.dialects.compiler.tuning import load_intrinsics, opened
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.rules import Rules, rules_of, run_rules
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError, UnknownName, reason_of, sentence

DESCRIBED = ("Tensorize",)
"the primitive that replaces a block by an intrinsic; without it the block is the intrinsic's own description"


@dataclass(frozen=True)
class ScheduledKernel:
    """A kernel without its schedule, and the trace of that."""

    name: str
    before: Any
    trace: Any
    origin: str
    "where the trace comes from, in words"
    after: Any = None
    "the function after the schedule, where its trace is not known"
    failed: tuple[str, str] = ("", "")
    "the text of a step after the trace that failed, and its error"

    @property
    def steps(self) -> tuple[Any, ...]:
        return tuple(self.trace.insts)

    def step(self, place: int) -> str:
        """A primitive as Python."""
        lines = [str(each) for each in self.trace.as_python()]
        return lines[place] if len(lines) == len(self.steps) else str(self.steps[place].kind.name)

    def upto(self, count: int | None = None, without: Sequence[str] = ()) -> Any:
        """Return the function after the first steps, without some kinds of them."""
        if self.after is not None:
            return self.after
        kept = [each for each in self.steps[:count] if each.kind.name not in without]
        decisions = {each: self.trace.decisions[each] for each in kept if each in self.trace.decisions}
        schedule = new_schedule(self.before)
        load_intrinsics()
        Trace(kept, decisions).apply_to_schedule(schedule, remove_postproc=False)
        return schedule.mod["main"]

    def by(self, schedule: Any) -> ScheduledKernel:
        """Return the kernel with a schedule of the user's: a Schedule, a function of one, or the function after it.

        An error of the function is a step that failed.
        """
        if isinstance(schedule, (tirx.PrimFunc, tvm.IRModule)):
            after = schedule if isinstance(schedule, tirx.PrimFunc) else next(iter(prim_funcs(schedule).values()))
            return replace(self, trace=Trace([], {}), after=after, origin=YOURS)
        made, failed = schedule, ("", "")
        if not isinstance(schedule, Schedule):
            if not callable(schedule):
                raise MeasureError(f"schedule is a function of a TVM Schedule, or a Schedule, not {schedule!r:.80}")
            made = new_schedule(self.before)
            try:
                returned = schedule(made)
                made = returned if isinstance(returned, (Schedule, Trace)) else made
            except Exception as error:  # noqa: BLE001  a step that fails is shown
                frames = traceback.extract_tb(error.__traceback__)
                code = getattr(schedule, "__code__", None)
                own = [each for each in frames if code and each.filename == code.co_filename]
                call = f"{getattr(schedule, '__name__', 'schedule')}(sch)"
                lines = [each.line for each in own or frames[1:]]
                failed = ((lines and lines[-1]) or call, said(error))
        return replace(self, trace=made if isinstance(made, Trace) else made.trace, origin=YOURS, failed=failed)

    def to_data(self) -> dict[str, Any]:
        """Return the kernel as JSON's types."""
        made = {"before": self.before, "after": self.after}
        functions = {name: each and str(tvm.ir.save_json(tvm.IRModule({"main": each}))) for name, each in made.items()}
        # TVM leaves its own numbers in it
        trace = json.loads(json.dumps(self.trace.as_json(), default=lambda each: each.value))
        return {"name": self.name, **functions, "trace": trace, "origin": self.origin, "failed": list(self.failed)}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> ScheduledKernel:
        """Return the kernel that `to_data` wrote."""
        before, after = (data[name] and tvm.ir.load_json(data[name])["main"] for name in ("before", "after"))
        schedule = new_schedule(before)
        if "Tensorize" in str(data["trace"]):
            load_intrinsics()
        Trace.apply_json_to_schedule(data["trace"], schedule)
        return cls(data["name"], before, schedule.trace, data["origin"], after, tuple(data["failed"]))


YOURS = "a function of yours"
_kernels: weakref.WeakKeyDictionary[Workload, dict[object, dict[str, ScheduledKernel]]] = weakref.WeakKeyDictionary()


def new_schedule(function: Any) -> Any:
    """Return a Schedule of a kernel without steps."""
    return Schedule(tvm.IRModule({"main": function}))


def scheduled_kernels(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any] = ()
) -> Mapping[str, ScheduledKernel]:
    """Return the kernels of a build with the schedules that TVM's pipeline gives them, or the given rules; kept by workload.

    A workload whose module has kernels alone has these; only rules that are given schedule them.
    """
    key = (target, repr(sorted(config.items())), repr(rules))
    known = _kernels.setdefault(workload, {})
    if key not in known:
        known[key] = _made(workload, target, config, rules)
    return known[key]


def _made(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any]
) -> dict[str, ScheduledKernel]:
    made, watched = make_target(target), Rules(on=True)
    functions = prim_funcs(workload.module)
    if len(functions) == len(workload.module.functions):
        watched.apply_given(functions, made, rules_of(rules, made))
    else:
        watched = run_rules(workload, made, config, rules)[1]
    looked = watched.looked
    database = opened(config["schedules"]) if looked else None
    found = {}
    for name, before in watched.functions.items():
        trace, origin = Trace([], {}), "no schedule"
        outcomes = {each.outcome: each.rule for each in watched.attempts.get(name, ())}
        record = database and name in looked and database.query_tuning_record(looked[name], made, name)
        if record:
            (before,), trace = prim_funcs(looked[name]).values(), record.trace
            origin = "a record of MetaSchedule"
        elif name in watched.taken:
            trace, origin = watched.taken[name].trace, f"the rule {outcomes['took']}"
            if "raised" in outcomes:
                origin += f", if {outcomes['raised']} did not raise before it and end the build"
        found[name] = ScheduledKernel(name, before, trace, origin)
    return found


def chosen(kernels: Mapping[str, ScheduledKernel], name: str) -> ScheduledKernel:
    """Return the kernel of a name, the first one if it is empty; raises UnknownName."""
    name = name or next(iter(kernels), "")
    if name not in kernels:
        raise UnknownName("kernel", name, list(kernels))
    return kernels[name]


def sent_kernels(
    workload: Workload, target: str, config: Mapping[str, Any], rules: Sequence[Any], names: Sequence[str] | None
) -> dict[str, Any]:
    """Return the names of the kernels of a build, and those that are wanted as `to_data` returns them; all of them if it is None."""
    kernels = scheduled_kernels(workload, target, config, rules)
    wanted = list(kernels) if names is None else names
    return {"names": list(kernels), "kernels": [chosen(kernels, name).to_data() for name in wanted]}


def scheduled_by_hand(given: Any, schedule: Any) -> ScheduledKernel:
    """Return a kernel of the user's with a schedule, as `ScheduledKernel.by` takes it.

    Raises MeasureError: there is not one kernel, or the function failed.
    """
    functions = [given] if isinstance(given, tirx.PrimFunc) else list(prim_funcs(given).values())
    if len(functions) != 1:
        raise MeasureError(f"give a module of one kernel; this has {len(functions)}")
    name = str((functions[0].attrs or {}).get("global_symbol", "main"))
    kernel = ScheduledKernel(name, functions[0], Trace([], {}), "no schedule").by(schedule)
    if kernel.failed[0]:
        raise MeasureError(f"the schedule failed at `{kernel.failed[0]}`: {kernel.failed[1]}")
    return kernel


def said(error: Exception) -> str:
    """Return TVM's error: that of a schedule with its message alone, and not the program that it prints again."""
    text = str(error).strip()
    message = re.search(r"Error message: (.*)", text, re.DOTALL)
    return message[1].strip() if message else reason_of(error) or sentence(error)
