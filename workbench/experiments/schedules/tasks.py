"""The kernels of a build matched with those of an equivalent build, and their times. Plain values, no TVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, UnknownName, UnknownNode, WorkbenchError, WorkerLost
from workbench.experiments.schedules.result import Task, TunedSchedules
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.measure import measure_one
from workbench.measurement.race import race
from workbench.measurement.row import CANCELLED, OK, OUT_OF_MEMORY
from workbench.pipeline.config import Config

_PREFIXES = ("contrib_dense_pack", "contrib_conv2d_NCHWc")
_PLAIN = ("dense", "conv2d")


def tasks_of(answer: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks that the child process reported, the costliest first.

    Parameters
    ----------
    answer
        The result of schedule_jobs.tasks.
    before
        `per_kernel` of the build without schedules.
    """
    total = sum(row["median_us"] for row in before)
    times = times_of(before)
    found = []
    for entry in answer["tasks"]:
        rows = [row for row in answer["calls"] if row["function"] == entry["function"]]
        spent = times.get(plain(entry["function"]))
        found.append(
            Task(
                entry["function"],
                entry["key"],
                tuple(row["index"] for row in rows),
                tuple(sorted({node for row in rows for node in row["nodes"]})),
                next((str(row["op"]) for row in rows), ""),
                spent / total if spent is not None and total else None,
                spent,
                known=entry["trials"],
                best_us=entry["best_us"],
            )
        )
    return tuple(sorted(found, key=lambda task: -(task.share or 0)))


def with_times(tasks: Iterable[Task], after: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks with their times in the build with schedules."""
    times = times_of(after)
    return tuple(replace(task, after_us=times.get(plain(task.function))) for task in tasks)


def times_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return plain function name -> microseconds of all its calls in one run."""
    found: dict[str, float] = {}
    for row in rows:
        name = plain(row["function"])
        found[name] = found.get(name, 0.0) + row["median_us"]
    return found


def plain(function: str) -> str:
    """Return a function's name without the parts that come from the compiler's choice of a layout.

    >>> plain("tvmgen_default_fused_nn_contrib_dense_pack_nn_relu")
    'tvmgen_default_fused_nn_dense_nn_relu'
    """
    for packed, name in zip(_PREFIXES, _PLAIN, strict=True):
        function = function.replace(packed, name)
    return function


def selected(tasks: Sequence[Task], kernels: Iterable[Any] | None, workload: Workload, graph_size: int) -> set[str]:
    """Return the functions to tune.

    Parameters
    ----------
    kernels
        Names of functions, indexes of calls, or `{"node": id}` of a node of the tuned build's graph; None for all.

    Raises
    ------
    UnknownName, UnknownNode, WorkbenchError
        One of them is not any of these.
    """
    if kernels is None:
        return {task.function for task in tasks}
    given = [kernels] if isinstance(kernels, (str, int, Mapping)) else list(kernels)
    return {_one(tasks, each, workload, graph_size).function for each in given}


def _one(tasks: Sequence[Task], given: object, workload: Workload, graph_size: int) -> Task:
    if isinstance(given, str):
        if given not in {task.function for task in tasks}:
            raise UnknownName(f"kernel of {workload.name} that can be tuned", given, [task.function for task in tasks])
        return next(task for task in tasks if task.function == given)
    if isinstance(given, Mapping) and isinstance(given.get("node"), int):
        if not 0 <= given["node"] < graph_size:
            raise UnknownNode(given["node"], graph_size)
        found = next((task for task in tasks if given["node"] in task.nodes), None)
    elif isinstance(given, int) and not isinstance(given, bool):
        found = next((task for task in tasks if given in task.calls), None)
    else:
        raise WorkbenchError(f"{given!r} is not a kernel; give a function's name, a call's index, or {{'node': id}}")
    if found is None:
        raise WorkbenchError(
            f"{given!r} is not a kernel whose schedule can be tuned; see the column `calls` of the table"
        )
    return found


def with_and_without(found: TunedSchedules, *, budget: float, seed: int, **limits: Any) -> TunedSchedules:
    """Return the result with its times after and its race; unchanged if the run was stopped.

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
    """Return a row of wb.measure with its kernels' times.

    Raises
    ------
    MeasureError, WorkerLost
        It did not build or run.
    """
    limit = MeasureOptions(budget=budget / 4, seed=seed, per_kernel=True, **limits)
    row = measure_one(workload, config, target, limit).to_data()
    if row["status"] in (CANCELLED, "crashed", "timeout", OUT_OF_MEMORY):
        raise WorkerLost(row["message"], row["status"])
    if row["status"] != OK:
        raise MeasureError(f"with {config.label}: {row['message']}")
    return row
