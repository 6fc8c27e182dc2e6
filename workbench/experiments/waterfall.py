"""`wb.waterfall`: a pipeline pass by pass, with the build of each of its prefixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload, workload_of
from workbench.experiments.switches import CountedRow, PassesRequest, count_rows, finished, switches
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.measure import measured_rows
from workbench.measurement.row import WHOLE, Row
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

COUNTED_COLUMNS = ("kernels", "functions", "traffic_bytes", "peak_bytes")
"columns of `wb.measure` that the row has by its passes alone"
START = "input"
"the pass of the first row"


def waterfall(
    workload: Workload,
    pipeline: Pipeline | str | Config | None = None,
    target: TargetLike = "llvm",
    *,
    opt_level: int = 3,
    timed: bool = True,
    budget: float = 0.5,
    check: bool = True,
    store: bool = True,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> pd.DataFrame:
    """Return kernels, bytes and time after each pass.

    Parameters
    ----------
    pipeline
        Its first passes are run, then the result is built as it is. None for the compiler's own pipeline: its passes that can
        be switched are switched on one after the other, in the order in which they run. A Config gives either, with the other
        settings.
    timed
        Whether to build and time; otherwise only count, without code generation. A pass that changes no count is not timed.
    budget, check, store
        As `wb.measure` takes them, for each row.

    Returns
    -------
    pandas.DataFrame
        A row for each pass, the first one for the `input`: `pass`, `config`, `kernels`, `functions`, `traffic_bytes`,
        `handover_bytes`, `peak_bytes`, `status`, `message`; for a timed row `median_us`, `q1_us`, `q3_us` and the conditions of `wb.measure`.

    Raises
    ------
    WorkbenchError
        The pipeline cannot be run from its text.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> rows = wb.waterfall(w, timed=False)
    >>> rows[["pass", "kernels"]]
                         pass  kernels
    0                   input        8
    1    AnnotateTIROpPattern        8
    2            FoldConstant        8
    3                 FuseOps        5
    4  RewriteDataflowReshape        5
    5   StaticPlanBlockMemory        5
    6        KillAfterLastUse        5
    7        ComputePrimValue        5
    """
    workload = workload_of(workload, "waterfall")
    with showing_progress(progress, f"Running the passes of {workload.name}") as report:
        request = WaterfallRequest(
            workload=workload,
            target=target_text(target),
            pipeline=pipeline,
            opt_level=opt_level,
            timed=timed,
            budget=budget,
            progress=report,
            cancelled=cancelled,
            check=check,
            store=store,
        )
        return finished(waterfall_rows(request))


@dataclass(frozen=True, kw_only=True)
class WaterfallRequest(PassesRequest):
    """A waterfall to make; the fields are parameters of `wb.waterfall`."""

    check: bool = True
    store: bool = True


@dataclass(frozen=True)
class WaterfallRow(CountedRow):
    """The counts after a pass, and its measurement once it was timed."""

    measured: Row | None = None

    def to_data(self) -> dict[str, object]:
        """Return the columns of both; the counts are those of the passes."""
        counted = super().to_data()
        if self.measured is None:
            return counted
        import pandas as pd

        measured = {
            name: pd.NA if value is None and name in WHOLE else value for name, value in vars(self.measured).items()
        }
        return {**counted, **{name: measured[name] for name in measured if name not in ("config", *COUNTED_COLUMNS)}}


def waterfall_rows(request: WaterfallRequest) -> Iterator[Sequence[WaterfallRow]]:
    """Yield the rows of a waterfall as they fill: first the counts, then the times."""
    given = switches(request.workload, request.pipeline, request.opt_level)
    cases = [WaterfallRow(START, given.with_only((), START))]
    for place, name in enumerate(given.names):
        cases.append(WaterfallRow(name, given.with_only(given.all[: place + 1], f"... {name}")))
    rows: list[WaterfallRow] = []
    for counted in count_rows(request, cases):
        rows = list(counted)
        yield counted
    for place in to_time(rows) if request.timed else ():
        if request.cancelled():
            return
        row = rows[place]
        request.progress(f"Timing after {row.name}", place / len(cases))
        how = MeasureOptions(budget=request.budget, check=request.check, cancelled=request.cancelled)
        ((_, found),) = measured_rows(request.workload, [(row.config, None, request.target)], how, store=request.store)
        rows[place] = replace(row, measured=found)
        yield tuple(rows)


def to_time(rows: Sequence[CountedRow]) -> list[int]:
    """Return the places of the rows whose counts differ from the row before, and of those whose count failed."""
    counts = [row.figures for row in rows]
    return [place for place, now in enumerate(counts) if place == 0 or not now or now != counts[place - 1]]
