"""Jobs of `wb.ScheduleStepper`: the steps of one kernel's schedule, its code, and a run of it on this CPU."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.compiler.tvm_target import code_forms
from workbench.dialects.relax.compiler.code_origins import code_origins
from workbench.dialects.relax.compiler.replay import Replay
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel, chosen, scheduled_kernels
from workbench.errors import MeasureError
from workbench.jobs.build import program_of, resolved_target
from workbench.pipeline.config import Config
from workbench.pipeline.outputs import difference
from workbench.worker.child import Progress


@dataclass(frozen=True)
class KernelRequest:
    """A kernel of a build, and its schedule."""

    target: str
    config: Mapping[str, object]
    kernel: str
    "the first one if it is empty"
    rules: Sequence[str]
    given: Mapping[str, Any] | None
    "the kernel with a schedule of the caller's own"
    changed: Sequence[tuple[int, Sequence[int | None]]]
    "places of primitives, and what they decide instead"


_replays: weakref.WeakKeyDictionary[Workload, tuple[KernelRequest, Replay, tuple[str, ...]]] = (
    weakref.WeakKeyDictionary()
)
"the last request of a workload, and the names of its kernels"


def _replayed(workload: Workload, asked: Mapping[str, Any], progress: Progress) -> tuple[Replay, tuple[str, ...]]:
    request = KernelRequest(**asked)
    if workload not in _replays or _replays[workload][0] != request:
        config = Config.of(request.config)
        program = program_of(workload, config, progress)
        target = resolved_target(request.target)
        kernels = scheduled_kernels(program, target, config.context().to_data(), request.rules)
        kernel = ScheduledKernel.of_data(request.given) if request.given else chosen(kernels, request.kernel)
        _replays[workload] = request, Replay(kernel, target, dict(request.changed)), tuple(kernels)
    return _replays[workload][1:]


def schedule_steps(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Return the steps of a kernel's schedule, a KernelRequest, and the states that they lead to."""
    progress("Replaying the schedule")
    replay, kernels = _replayed(workload, asked, progress)
    try:
        python, unprinted = replay.python(), ""
    except MeasureError as error:
        python, unprinted = "", str(error)
    return {
        "kernel": replay.kernel.name,
        "origin": replay.kernel.origin,
        "steps": [asdict(each) for each in replay.steps],
        "states": [asdict(each) for each in replay.states],
        "kernels": list(kernels),
        "python": [python, unprinted],
        "forms": list(code_forms(replay.target)),
    }


def schedule_code(
    workload: Workload, *, form: str, linked: bool, progress: Progress, **asked: Any
) -> dict[str, object]:
    """Return the generated code of a kernel with its schedule, a KernelCode; `linked`: with the origins of its lines."""
    replay, _ = _replayed(workload, asked, progress)
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
    replay, _ = _replayed(workload, asked, progress)
    progress("Running the kernel with its schedule and without")
    (plain, before), (values, seconds) = replay.runs(sizes, budget)
    found = difference(values, plain)
    return {"different": "" if found.same else str(found), "plain": before, "scheduled": seconds}
