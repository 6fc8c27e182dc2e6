"""`wb.ablate`: the effect of each pass, by leaving it out, or by leaving all others out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload, workload_of
from workbench.errors import UnknownName, WorkbenchError
from workbench.experiments.switches import CountedRow, PassesRequest, count_rows, effective, finished, switches
from workbench.measurement.machine import conditions
from workbench.measurement.race import Race, race
from workbench.measurement.row import OK, WRONG, status_of
from workbench.measurement.verdict import NOISE, NOISE_COLUMNS, VERDICT, Ratio, judge_row
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

CONTROL, WITHOUT, ONLY = "control", "without", "only"
NOTHING = "nothing"
"the pass that the control leaves out"


def ablate(
    workload: Workload,
    target: TargetLike = "llvm",
    *,
    pipeline: Pipeline | str | Config | None = None,
    opt_level: int = 3,
    passes: Sequence[str] | None = None,
    directions: Sequence[str] = (WITHOUT,),
    timed: bool = True,
    budget: float = 2.0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> pd.DataFrame:
    """Compare kernels, bytes and time without each pass with those of all passes, in a race (`wb.race`).

    Parameters
    ----------
    pipeline
        The passes; None for those of the compiler's own pipeline that a PassContext can switch. A Config gives either, with
        the other settings.
    passes
        The passes to leave out; by default each that changes something when all run.
    directions
        "without": all but the pass. "only": the pass and no other.
    timed
        Whether to race; otherwise only count.
    budget
        Seconds of each race.

    Returns
    -------
    pandas.DataFrame
        `pass`, `direction`, `kernels`, `traffic_bytes`, `peak_bytes`, `status`, `message`; for a raced row `ratio` (its time over that
        of all passes), `low`, `high` (95 % interval), `verdict` ("slower", "not slower", "can't tell"), `rounds`, and `noise`,
        `noise_low`, `noise_high`: the row against itself in the same race. A row with other outputs than the reference is "wrong"
        and has none of these. The first row has direction "control": all passes against all passes, which also shows the noise.
        Where the noise excludes 1, the verdict is "can't tell" and the message gives the figures.

    Raises
    ------
    WorkbenchError
        There is no such pass or direction, or the pipeline cannot be run from its text.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> rows = wb.ablate(w, timed=False)
    >>> rows[["pass", "direction", "kernels"]]
                        pass direction  kernels
    0                nothing   control        5
    1   AnnotateTIROpPattern   without        8
    2                FuseOps   without        8
    3  StaticPlanBlockMemory   without        5
    4       KillAfterLastUse   without        5
    """
    workload = workload_of(workload, "ablate")
    with showing_progress(progress, f"Ablating the passes of {workload.name}") as report:
        request = AblationRequest(
            workload=workload,
            target=target_text(target),
            pipeline=pipeline,
            opt_level=opt_level,
            timed=timed,
            budget=budget,
            progress=report,
            cancelled=cancelled,
            passes=passes,
            directions=directions,
        )
        return finished(ablation_rows(request))


@dataclass(frozen=True, kw_only=True)
class AblationRequest(PassesRequest):
    """An ablation to do; the fields are parameters of `wb.ablate`."""

    passes: Sequence[str] | None = None
    directions: Sequence[str] = (WITHOUT,)
    raced: Callable[[int, Config, Config, Race], None] = lambda *_: None
    """Called with each race: the place of its row, the configuration without the pass, the one with all passes, and
    the race."""


@dataclass(frozen=True)
class AblationRow(CountedRow):
    """The counts without a pass, and the race against all passes once it was run."""

    direction: str = WITHOUT
    race: Race | None = None
    conditions: Mapping[str, object] = field(default_factory=dict)
    "the machine of the race"
    verdict: str = ""

    @property
    def ratio(self) -> Ratio | None:
        """Return the ratio of the race; None without a race, or if the outputs are wrong: their time measures no pass."""
        return None if self.race is None or self.status == WRONG else self.race.times

    def to_data(self) -> dict[str, object]:
        row = {"pass": self.name, "direction": self.direction, **super().to_data()}
        if self.race is None:
            return row
        if self.ratio is None:
            return {**row, "target": self.race.target}
        noise = [dict(zip(NOISE_COLUMNS, vars(each).values(), strict=True)) for each in self.race.noise[:1]]
        verdict = {"verdict": self.verdict} if self.verdict else {}
        ratio = {**vars(self.ratio), "rounds": self.race.rounds, **(noise[0] if noise else {})}
        return {**row, **ratio, "target": self.race.target, **self.conditions, **verdict}


def ablation_rows(request: AblationRequest) -> Iterator[Sequence[AblationRow]]:
    """Yield the rows of an ablation as they fill: first the counts, then the races."""
    for direction in request.directions:
        if direction not in (WITHOUT, ONLY):
            raise UnknownName("direction of an ablation", direction, (WITHOUT, ONLY))
    given = switches(request.workload, request.pipeline, request.opt_level)
    request.progress("Running the passes", None)
    if request.passes is None:
        places = sorted(effective(request, given))
    else:
        places = [given.place(name) for name in request.passes]
    whole = given.with_only(given.all, "all passes")
    cases = [AblationRow(NOTHING, whole, direction=CONTROL)]
    for direction in request.directions:
        for place in places:
            on = tuple(p for p in given.all if p != place) if direction == WITHOUT else (place,)
            name = given.names[place]
            cases.append(AblationRow(name, given.with_only(on, f"{direction} {name}"), direction=direction))
    rows: list[AblationRow] = []
    for counted in count_rows(request, cases):
        rows = list(counted)
        yield counted
    for place, row in enumerate(rows if request.timed else ()):
        if request.cancelled():
            return
        request.progress(f"Racing {row.direction} {row.name}", place / len(cases))
        rows[place] = _raced(request, row, whole, rows[0] if place else None)
        found, control = rows[place].race, rows[0].ratio
        if found is not None:
            noise = (*found.noise, *([control] if control else []))
            request.raced(place, row.config, whole, replace(found, noise=noise))
        yield tuple(rows)


def _raced(request: AblationRequest, row: AblationRow, whole: Config, control: AblationRow | None) -> AblationRow:
    """Return a row with its race against all passes, or with the reason for none; `control` races all passes against themselves."""
    limits = {"budget": request.budget, "cancelled": request.cancelled}
    try:
        found = race(request.workload, row.config, whole, request.target, **limits)
    except WorkbenchError as error:
        return replace(row, status=status_of(error), message=str(error))
    status = WRONG if row.config.label in found.wrong else OK
    machine = conditions(request.workload.dialect)
    row = replace(row, race=found, status=status, message=found.note, conditions=machine)
    if row.ratio is None:
        return row
    outcome = judge_row(row.to_data(), (control or row).to_data(), again="run wb.ablate again")
    message = outcome.sentence if outcome.reason == NOISE else row.message
    return replace(row, verdict=VERDICT[outcome.answer], message=message)
