"""The result of `wb.tune_schedules`: the kernels, the outcome of each, and whether the model is faster. Plain values, no TVM.

The kernels of a build are matched with those of an equivalent build, whose names have other layouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import UnknownName, UnknownNode, WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.race import Race
from workbench.pipeline.build import build_code
from workbench.pipeline.config import Config
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

COST_MODELS = {
    "xgb": "xgboost, trained on the candidates before",
    "random": "none: candidates are drawn at random; with an xgboost that this TVM can use, a model chooses them",
}
"cost model -> its description"
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
        return len(self.calls)


@dataclass(frozen=True)
class ScheduleTrial:
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


@dataclass(frozen=True)
class TunedSchedules:
    """The outcome of one call of `wb.tune_schedules`."""

    workload: Workload
    base: Config
    "the configuration that was tuned, and is raced against"
    target: str
    folder: Path
    "the database, which grows with every run"
    tasks: tuple[Task, ...]
    "the costliest first"
    rows: tuple[Mapping[str, Any], ...] = field(repr=False)
    "the calls of the tuned build, as in `wb.kernels`"
    graph_data: Mapping[str, Any] = field(repr=False)
    cost_model: str = "random"
    race: Race | None = None
    "the race of the whole model without and with the schedules; None if the run was stopped before"
    before: Mapping[str, Any] = field(default_factory=dict, repr=False)
    after: Mapping[str, Any] = field(default_factory=dict, repr=False)
    "rows of `wb.measure` before and after, with `per_kernel`"
    status: str = "ok"
    "`ok` or `cancelled`; schedules found before that are in the database"
    kept: bool = True
    "whether other sessions can use the database"

    @property
    def config(self) -> Config:
        """The configuration with the schedules, for `wb.measure`, `wb.race` and the like."""
        return self.apply(self.base)

    def apply(self, config: object = None) -> Config:
        """Return another configuration with these schedules."""
        return replace(self.base if config is None else Config.of(config), schedules=str(self.folder))

    @property
    def faster(self) -> bool:
        """Return whether the race showed that the model is faster with these schedules."""
        return self.race is not None and self.race.answer == "yes"

    @property
    def best(self) -> Config:
        """The configuration with the schedules if it won the race, otherwise the one without."""
        return self.config if self.faster else self.base

    def code(self) -> str:
        """Return Python code that builds the model with these schedules, with TVM alone: a module with `built(mod, params)`.

        Raises
        ------
        WorkbenchError
            A pass of the configuration's pipeline fails on the workload.
        """
        return build_code(self.workload, self.config, self.target)

    @property
    def graph(self) -> Graph:
        """The graph of the module before code generation; `Task.nodes` are its ids."""
        return Graph.from_data(self.graph_data)

    @property
    def trials(self) -> int:
        """The number of candidates tried in this run, for all kernels."""
        return sum(task.trials for task in self.tasks)

    @property
    def failures(self) -> dict[str, int]:
        """Reason -> number of candidates that failed for it, for all kernels, the most frequent first."""
        found: Counter[str] = Counter()
        for task in self.tasks:
            found.update(task.failures)
        return dict(found.most_common())

    @property
    def table(self) -> pd.DataFrame:
        """One row per task, the costliest first; microseconds are of all its calls in one run."""
        import pandas as pd

        names = (
            *("function", "op", "weight", "share", "before_us", "after_us", "best_us", "trials", "known"),
            *("status", "message", "failures", "calls", "nodes"),
        )
        return pd.DataFrame([{name: getattr(task, name) for name in names} for task in self.tasks], columns=list(names))

    def __str__(self) -> str:
        tuned = sum(task.status in ("tuned", "known") for task in self.tasks)
        lines = [
            f"{tuned} of {len(self.tasks)} kernels have tuned schedules, {counted(self.trials, 'candidate')} tried now"
        ]
        if self.failures:
            lines.append(f"{sum(self.failures.values())} of them failed, most often: {next(iter(self.failures))}")
        lines.append(f"cost model: {COST_MODELS.get(self.cost_model, self.cost_model)}")
        if not self.kept:
            lines.append("measurements are not kept, so the schedules go with this process")
        lines.append(str(self.race) if self.race else "stopped before it was compared; run it again to go on")
        if self.race and not self.faster:
            why = self._why() if self.race.answer == "no" else ""
            lines.append(f"so keep {self.base.label}{why}")
        return visible("; ".join(lines))

    def _why(self) -> str:
        """Return a sentence on kernels that became slower, if one did by a tenth of all."""
        lost = [task for task in self.tasks if task.after_us and task.before_us and task.after_us > task.before_us]
        total = sum(task.before_us or 0 for task in self.tasks)
        worst = max(lost, key=lambda task: (task.after_us or 0) - (task.before_us or 0), default=None)
        if worst is None or (worst.after_us or 0) - (worst.before_us or 0) < total / 10:
            return ""
        untuned = worst.status not in ("tuned", "known")
        relay = self.workload.dialect == "relay"
        reason = (
            ", which is not tuned, and gets none of the schedules written by hand that it has otherwise"
            if untuned and relay
            else ", whose schedule written by hand no candidate reached"
            if relay
            else ""
        )
        return f": {worst.function} takes {worst.after_us:.3g} us for {worst.before_us:.3g} us before{reason}"

    def _repr_html_(self) -> str:
        return html_table(str(self), self.table.drop(columns=["calls", "nodes"]).to_dict("records"))


def tasks_of(answer: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks of the job `tasks`, the costliest first; `before` is `per_kernel` of the build without schedules."""
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
    """Return the functions to tune, of names of functions, indexes of calls or `{"node": id}` of the tuned build's graph; None for all."""
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
