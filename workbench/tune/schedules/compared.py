"""A model with and without its schedules: measured by kernel, and raced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, WorkerLost
from workbench.measure.local import measure_one
from workbench.measure.status import CANCELLED, OK, OUT_OF_MEMORY
from workbench.measure.timing.race import race
from workbench.pipeline.config import Config
from workbench.tune.schedules.link import with_times
from workbench.tune.schedules.result import TunedSchedules


def with_and_without(found: TunedSchedules, *, budget: float, seed: int, **limits: Any) -> TunedSchedules:
    """The result with its times after, and its race; as it is where somebody stopped.

    Parameters
    ----------
    budget
        Seconds of the race.
    """
    if any(task.status == CANCELLED for task in found.tasks):
        return replace(found, status=CANCELLED)
    try:
        after = measured(found.workload, found.config, found.target, budget=budget, seed=seed, **limits)
        raced = race(found.workload, found.base, found.config, found.target, budget=budget, seed=seed, **limits)
    except WorkerLost as lost:
        if lost.status != CANCELLED:
            raise
        return replace(found, status=CANCELLED)
    return replace(found, tasks=with_times(found.tasks, after["per_kernel"]), after=after, race=raced)


def measured(
    workload: Workload, config: Config, target: str, *, budget: float, seed: int, **limits: Any
) -> dict[str, Any]:
    """A row of wb.measure with its kernels' times.

    Raises
    ------
    MeasureError, WorkerLost
        It did not build or run.
    """
    row = measure_one(workload, config, target, budget=budget / 4, seed=seed, per_kernel=True, **limits)
    if row["status"] in (CANCELLED, "crashed", "timeout", OUT_OF_MEMORY):
        raise WorkerLost(row["message"], row["status"])
    if row["status"] != OK:
        raise MeasureError(f"with {config.label}: {row['message']}")
    return row
