"""Jobs of `wb.ScheduleStepper`: the steps of one kernel's schedule, its code, and a run of it on this CPU."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.compiler.tvm_target import code_forms
from workbench.dialects.relax.compiler.code_origins import code_origins
from workbench.dialects.relax.compiler.replay import Replay
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel, sent_kernels
from workbench.errors import MeasureError
from workbench.jobs.build import resolved_target
from workbench.pipeline.outputs import difference
from workbench.worker.child import Progress

_replays: weakref.WeakKeyDictionary[Workload, tuple[object, Replay]] = weakref.WeakKeyDictionary()
"the last request of a workload"


def scheduled_kernels(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, Any],
    rules: Sequence[str],
    names: Sequence[str] | None,
    progress: Progress,
) -> dict[str, object]:
    """Return kernels of a build with their schedules, as `scheduled.sent_kernels` does."""
    progress("Scheduling kernels")
    return sent_kernels(workload, resolved_target(target), config, rules, names)


def schedule_steps(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Return the steps of a kernel's schedule, and the states that they lead to.

    A kernel is the `target`, the `kernel` as `ScheduledKernel.to_data` returns it, and the places of steps with what they decide
    instead, `changed`.
    """
    progress("Replaying the schedule")
    replay = _replayed(workload, **asked)
    try:
        printed, unprinted = replay.python(), ""
    except MeasureError as error:
        printed, unprinted = "", str(error)
    return {
        "kernel": replay.kernel.name,
        "origin": replay.kernel.origin,
        "steps": [asdict(each) for each in replay.steps],
        "states": [asdict(each) for each in replay.states],
        "forms": list(code_forms(replay.target)),
        "printed": printed,
        "unprinted": unprinted,
    }


def _replayed(
    workload: Workload, target: str, kernel: Mapping[str, Any], changed: Sequence[tuple[int, Sequence[int | None]]]
) -> Replay:
    asked = target, kernel, changed
    if workload not in _replays or _replays[workload][0] != asked:
        _replays[workload] = asked, Replay(ScheduledKernel.of_data(kernel), resolved_target(target), dict(changed))
    return _replays[workload][1]


def schedule_code(
    workload: Workload, *, form: str, linked: bool, progress: Progress, **asked: Any
) -> dict[str, object]:
    """Return the generated code of a kernel with its schedule, a KernelCode; `linked`: with the origins of its lines."""
    replay = _replayed(workload, **asked)
    progress("Compiling the kernel")
    text = replay.code(form)
    try:
        return {"text": text, "rows": code_origins(replay, form, text) if linked else [], "unlinked": ""}
    except MeasureError as error:
        return {"text": text, "rows": [], "unlinked": str(error)}


def run_schedule(
    workload: Workload, *, sizes: Mapping[str, int], budget: float, progress: Progress, **asked: Any
) -> dict[str, object]:
    """Run a kernel with its schedule and without on this CPU; compare and time both."""
    replay = _replayed(workload, **asked)
    progress("Running the kernel with its schedule and without")
    (plain, before), (values, seconds) = replay.runs(sizes, budget)
    found = difference(values, plain)
    return {"different": "" if found.same else str(found), "plain": before, "scheduled": seconds}
