"""`wb.boundary_costs`: one row for each boundary between two kernels, with the cost of the boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf
from typing import TYPE_CHECKING, Any

from workbench.analysis.fusion import explain_fusion
from workbench.analysis.fusion.boundaries import Boundary, between, inside
from workbench.dialects.base import Workload
from workbench.dialects.registry import installed
from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph, HasGraph, graph_of
from workbench.measurement.boundaries import trial
from workbench.measurement.boundaries.calibration import Calibration, Key, MachineCosts, calibration, machine_costs
from workbench.measurement.boundaries.trial import BoundaryTrial, Limits, peak_changes
from workbench.measurement.machine import Spread
from workbench.measurement.row import column, device_of
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted, duration, size
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.fusion.report import FusionReport


@dataclass(frozen=True)
class BoundaryCost:
    """The cost of one boundary."""

    boundary: Boundary
    predicted: tuple[float, float] | None = None
    "seconds that one kernel saves, as an interval; None where the calibration does not support a prediction"
    note: str = ""
    "the reason for no prediction, or its condition"
    trial: BoundaryTrial | None = None
    peak_bytes: int | None = None
    "bytes that one kernel adds to the peak of the memory plan; None where it was not asked for"

    @property
    def dearness(self) -> tuple[bool, float, int]:
        """Return the order of the list: by predicted seconds, then those without a prediction by bytes."""
        moved = (self.boundary.read or 0) + (self.boundary.written or 0)
        return self.predicted is not None, sum(self.predicted or ()) / 2, moved

    @property
    def measured(self) -> BoundaryTrial | None:
        """Return the trial, if its seconds count."""
        return None if self.trial is None or self.trial.objection else self.trial

    def to_data(self) -> dict[str, Any]:
        found, low_high = self.boundary, self.predicted or (None, None)
        tried = self.measured
        return {
            "source": found.source,
            "targets": found.targets,
            "producer": found.operators[0],
            "consumer": found.operators[1],
            "type": found.type,
            "joined": found.joined,
            "bytes_written": found.written,
            "bytes_read": found.read,
            "launches": found.launches,
            "legal": not found.refusal,
            "reason": found.refusal,
            "predicted_low": low_high[0],
            "predicted_high": low_high[1],
            "note": "; ".join(part for part in (self.note, self.trial and self.trial.objection) if part),
            "peak_bytes": self.peak_bytes,
            "measured": None if tried is None else tried.saved,
            "measured_low": None if tried is None else tried.low,
            "measured_high": None if tried is None else tried.high,
            "answer": "" if self.trial is None else self.trial.answer,
        }


CELLS = ("bytes", "launches", "one kernel saves", "measured")


def cells(row: BoundaryCost) -> tuple[str, ...]:
    """Return the bytes, the launches, the predicted and the measured saving of a boundary in words."""
    found = row.boundary
    moved = "unknown" if found.read is None or found.written is None else size(found.read + found.written)
    predicted = "" if row.predicted is None else f"{saving(row.predicted[0])} to {saving(row.predicted[1])}"
    tried = row.measured
    measured = "" if tried is None else f"{saving(tried.low)} to {saving(tried.high)}"
    return moved, str(found.launches), predicted, measured


def saving(seconds: float) -> str:
    """Return a difference of times in words: `1.2 µs`, `-300 ns`."""
    if isinf(seconds):
        return "unknown"
    return f"{'-' if seconds < 0 else ''}{duration(abs(seconds) * 1e6)}"


SHOWN = 10
"boundaries in the notebook's table"


_WHOLE = ("bytes_written", "bytes_read", "peak_bytes")
_SECONDS = ("predicted_low", "predicted_high", "measured", "measured_low", "measured_high")


@dataclass(frozen=True)
class BoundaryCosts:
    """The costs of all boundaries of a program."""

    rows: tuple[BoundaryCost, ...]
    "in order of the values"
    target: str
    workload: Workload | None = field(default=None, repr=False)
    "None for a graph alone, of which nothing can be measured"
    machine: MachineCosts | None = field(default=None, repr=False)
    "the measured costs behind the predictions; None where nothing is predicted"
    calibration: Calibration = field(default_factory=calibration, repr=False)
    "the trials behind the predictions: `.table` by group, `.records`"

    def __iter__(self) -> Iterator[BoundaryCost]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each boundary; seconds that one kernel saves, NA where they are not known."""
        import pandas as pd

        rows = [row.to_data() for row in self.rows]
        frame = pd.DataFrame(rows, columns=list(BoundaryCost(self.rows[0].boundary).to_data()) if rows else None)
        seconds = {name: pd.array([row[name] for row in rows], dtype="Float64") for name in _SECONDS}
        return frame.assign(**{name: column(row[name] for row in rows) for name in _WHOLE}, **seconds)

    def dearest(self, count: int = SHOWN) -> tuple[BoundaryCost, ...]:
        """Return the boundaries between kernels that cost most: by the predicted seconds, and without these by the bytes."""
        apart = (row for row in self.rows if not row.boundary.joined)
        return tuple(sorted(apart, key=lambda row: row.dearness, reverse=True)[:count])

    def at(self, source: int, target: int) -> BoundaryCost | None:
        """Return the cost of the boundary between two nodes; None if they have none."""
        rows = (row for row in self.rows if row.boundary.source == source and target in row.boundary.consumer)
        return next(rows, None)

    def find(self, source: int, target: int) -> BoundaryCost:
        """Return the cost of the boundary between two nodes.

        Raises
        ------
        UnknownName
            The program has no such boundary.
        """
        found = self.at(source, target)
        if found is not None:
            return found
        known = [f"{row.boundary.source} -> {row.boundary.targets[0]}" for row in self.rows]
        raise UnknownName("boundary", f"{source} -> {target}", known)

    def measure(
        self,
        rows: Iterable[BoundaryCost],
        *,
        budget: float = trial.BUDGET,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> BoundaryCosts:
        """Return the costs with the measured difference of these rows.

        The two parts are raced alone, outside of the program: as two kernels, and as one.

        Parameters
        ----------
        rows
            Rows of these costs.
        budget
            Seconds of runs for each row.

        Raises
        ------
        MeasureError, WorkerLost
            A boundary cannot be moved, a build or a run fails, or there is only a graph.
        """
        workload = self._program()
        with showing_progress(progress, f"Racing boundaries of {workload.name}") as report:
            limits = Limits(self.target, budget, report, cancelled)
            tried = {row.boundary: trial.measure(workload, row.boundary, limits) for row in rows}
        changed = (replace(row, trial=tried.get(row.boundary, row.trial)) for row in self.rows)
        return replace(self, rows=tuple(changed))

    def peaks(
        self,
        rows: Iterable[BoundaryCost],
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> BoundaryCosts:
        """Return the costs with the effect of these rows on the peak of the program's memory plan; nothing is built.

        Raises MeasureError or WorkerLost: a boundary cannot be moved, the passes fail, or there is only a graph.
        """
        workload = self._program()
        with showing_progress(progress, f"Planning the memory of {workload.name}") as report:
            limits = Limits(self.target, progress=report, cancelled=cancelled)
            found = dict(peak_changes(workload, [row.boundary for row in rows], limits))
        changed = (replace(row, peak_bytes=found.get(row.boundary, row.peak_bytes)) for row in self.rows)
        return replace(self, rows=tuple(changed))

    def _program(self) -> Workload:
        if self.workload is None:
            raise MeasureError("a graph alone cannot be run; give boundary_costs the workload")
        return self.workload

    def __repr__(self) -> str:
        return f"BoundaryCosts({counted(len(self.rows), 'boundary')} for {self.target!r})"

    def __str__(self) -> str:
        lines = (f"  {' -> '.join(map(' + '.join, row.boundary.operators))}: {cells(row)[0]}" for row in self.dearest())
        return visible("\n".join((self._title, *lines)))

    @property
    def _title(self) -> str:
        return f"{counted(len(self.rows), 'boundary')}, the most costly first"

    def _repr_html_(self) -> str:
        rows = ([*map(" + ".join, row.boundary.operators), *cells(row)] for row in self.dearest())
        names = ("producer", "consumer", *CELLS)
        return html_table(self._title, [dict(zip(names, row, strict=True)) for row in rows])


def boundary_costs(
    source: Graph | HasGraph,
    target: TargetLike = "llvm",
    *,
    opt_level: int = 2,
    cuts: bool = False,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> BoundaryCosts:
    """Return the cost of each boundary between the kernels that FuseOps makes; nothing of the program is built.

    Bytes, launches and legality come from the graph. Seconds are predicted only for boundaries whose kind the bundled
    calibration supports; other rows have a `note` with the reason.

    Parameters
    ----------
    source
        A Workload or a Graph before FuseOps; in Relax after `LegalizeOps,AnnotateTIROpPattern`.
    target
        Seconds are predicted for targets of this CPU.
    opt_level
        As `wb.explain_fusion` takes it.
    cuts
        Add a row for each value within a kernel at which one cut makes two kernels; `joined` is True there.

    Returns
    -------
    BoundaryCosts
        `.table` has a row for each boundary: its nodes and operators, `bytes_written`, `bytes_read` and `launches` that one
        kernel would save, `legal` and `reason`, and in seconds `predicted_low`, `predicted_high`, `measured`. Methods measure rows,
        and compare memory plans.

    Raises
    ------
    WorkbenchError
        The source is not a graph of a known dialect, or FuseOps fails on it.

    Examples
    --------
    >>> passes = "LegalizeOps,AnnotateTIROpPattern"
    >>> w = wb.load(wb.trace(wb.samples.load("mlp", layers=1), passes).result)
    >>> costs = wb.boundary_costs(w)
    >>> costs.table[["producer", "consumer", "bytes_read", "legal"]]
           producer             consumer  bytes_read  legal
    0  (transpose,)  (matmul, add, relu)        4096   True
    """
    graph = graph_of(source, "boundary_costs")
    report = explain_fusion(graph, opt_level, target=target)
    if report.failure:
        raise MeasureError(report.failure)
    workload = source if isinstance(source, Workload) else None
    with showing_progress(progress, f"Finding the costs of the boundaries of {graph.name}") as told:
        return costs_of(report, workload, Limits(target, progress=told, cancelled=cancelled), cuts=cuts)


def costs_of(
    report: FusionReport,
    workload: Workload | None,
    limits: Limits,
    *,
    cuts: bool = False,
    known: Calibration | None = None,
) -> BoundaryCosts:
    """Return the costs of the boundaries of a report; `known` is the bundled calibration by default."""
    target = target_text(limits.target)
    known = calibration() if known is None else known
    found = (*between(report), *(inside(report) if cuts else ()))
    notes = [_objection(each, known, target) for each in found]
    # the machine is measured only for rows that show it
    machine = None
    if not all(notes):
        machine = machine_costs(report.graph.dialect, target, progress=limits.progress, cancelled=limits.cancelled)
    rows = tuple(_row(each, note, known, machine) for each, note in zip(found, notes, strict=True))
    return BoundaryCosts(rows, target, workload, machine, known)


def raw_seconds(boundary: Boundary, machine: MachineCosts) -> Spread:
    """Return the seconds that the bytes and the launches of a boundary cost, without the factors of a calibration."""
    moved = (boundary.read or 0) + (boundary.written or 0)
    call = machine.call_of_rows if boundary.has_rows else machine.call
    return machine.seconds(moved, boundary.working_set, call if boundary.launches else Spread(0.0, 0.0, 0.0))


def key_of(boundary: Boundary) -> Key:
    """Return the group of a boundary in a calibration."""
    return boundary.graph.dialect, *boundary.kinds, boundary.has_rows


def _objection(boundary: Boundary, known: Calibration, target: str) -> str:
    """Return the reason why a boundary is not predicted; empty if it is."""
    if device_of(target) != "cpu":
        return "not predicted: the calibration is of CPUs"
    if boundary.bytes is None:
        return "not predicted: the shape of the value is not known"
    if boundary.is_alias:
        return "nothing to save: one of the two only gives its memory another shape"
    if boundary.refusal:
        return "not predicted: the two cannot be one kernel"
    objection = known.objection(key_of(boundary), boundary.working_set)
    if not objection and installed() != boundary.graph.dialect:
        return f"not predicted: the time of a call is measured with the TVM of {boundary.graph.dialect}, which is not installed here"
    return objection


def _row(boundary: Boundary, note: str, known: Calibration, machine: MachineCosts | None) -> BoundaryCost:
    if note or machine is None:
        return BoundaryCost(boundary, None, note)
    group = known.groups[key_of(boundary)]
    share = f"{group.inside} of {counted(len(group.records), 'trial')} of such boundaries were inside their interval"
    low, high = group.interval(raw_seconds(boundary, machine))
    return BoundaryCost(boundary, (low, high), f"{share}, measured on {' and '.join(group.cpus)}")
