"""The kernels of a build whose schedules can be tuned, matched with those of an equivalent build. Plain values, no TVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import UnknownName, UnknownNode, WorkbenchError

_LAYOUTS = {"contrib_dense_pack": "dense", "contrib_conv2d_NCHWc": "conv2d"}


@dataclass(frozen=True)
class Task:
    """One compiled function whose schedule can be tuned; equal kernels are one task."""

    function: str
    "its name in the tuned build"
    key: str
    "a hash of its computation, equal for the same kernel in other models"
    calls: tuple[int, ...]
    "indexes in `rows` of its calls"
    nodes: tuple[int, ...]
    "ids in `graph`"
    op: str
    "its dominant operator"
    share: float | None
    "part of the kernels' time before; None where the build before has no such kernel"
    before_us: float | None
    "time of all its calls, before and after"
    after_us: float | None = None
    trials: int = 0
    "candidates tried in this run"
    known: int = 0
    "candidates tried in earlier runs"
    best_us: float | None = None
    "time of one call of the best candidate of all runs, measured alone"
    plain_us: float | None = None
    "time of the kernel without a schedule, tried like a candidate; None if an earlier run tried it, or on a GPU"
    status: str = "not selected"
    "`tuned`, `known` (enough trials in earlier runs), `not selected`, or the failure"
    message: str = ""
    failures: Mapping[str, int] = field(default_factory=dict, hash=False)
    "reason -> number of candidates that failed for it"

    @property
    def weight(self) -> int:
        """The number of calls in one run."""
        return len(self.calls)


@dataclass(frozen=True)
class Trial:
    """One candidate that this run tried."""

    number: int
    "number among its kernel's candidates, including earlier runs"
    function: str
    us: float | None
    "microseconds of one call; None if it failed"
    reason: str
    "why it failed"
    plain: bool
    "whether it is the kernel without a schedule"
    seconds: float
    "its duration, including compilation before it"


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
    times = _times_of(before)
    found = []
    for entry in answer["tasks"]:
        rows = [row for row in answer["calls"] if row["function"] == entry["function"]]
        spent = times.get(plain(entry["function"]))
        found.append(
            Task(
                function=entry["function"],
                key=entry["key"],
                calls=tuple(row["index"] for row in rows),
                nodes=tuple(sorted({node for row in rows for node in row["nodes"]})),
                op=next((str(row["op"]) for row in rows), ""),
                share=spent / total if spent is not None and total else None,
                before_us=spent,
                known=entry["trials"],
                best_us=entry["best_us"],
            )
        )
    return tuple(sorted(found, key=lambda task: -(task.share or 0)))


def with_times(tasks: Iterable[Task], after: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks with their times in the build with schedules."""
    times = _times_of(after)
    return tuple(replace(task, after_us=times.get(plain(task.function))) for task in tasks)


def _times_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
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
    for packed, name in _LAYOUTS.items():
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
