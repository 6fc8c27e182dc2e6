"""`wb.ablate`: the effect of each pass, by leaving it out, or by leaving all others out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import UnknownName, WorkbenchError
from workbench.measurement.machine import conditions
from workbench.measurement.race import Race, race
from workbench.measurement.row import OK, WRONG, status_of
from workbench.measurement.switches import Counting, Switches, effective, switches
from workbench.measurement.verdict import NOISE, NOISE_COLUMNS, VERDICT, judge_row, ratio_of
from workbench.pipeline.config import Config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.worker.parent import Progress, never, silent
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

Rows = list[dict[str, Any]]
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
        `pass`, `direction`, `kernels`, `traffic_bytes`, `status`, `message`; for a raced row `ratio` (its time over that
        of all passes), `low`, `high` (95 % interval), `verdict` ("slower", "not slower", "can't tell"), `rounds`, and `noise`,
        `noise_low`, `noise_high`: the row against itself in the same race. A row with other outputs than the reference is "wrong"
        and has none of these. The first row has direction "control": all passes against all passes, which also shows the noise.
        Where the noise excludes 1, the verdict is "can't tell" and the message gives the figures.

    Raises
    ------
    WorkbenchError
        There is no such pass or direction, or the pipeline cannot be run from its text.
    """
    import pandas as pd

    rows: Rows = []
    with showing_progress(progress, f"Ablating the passes of {workload.name}") as report:
        request = AblationRequest(
            workload=workload,
            target=target_text(target),
            pipeline=pipeline,
            opt_level=opt_level,
            passes=passes,
            directions=directions,
            timed=timed,
            budget=budget,
            progress=report,
            cancelled=cancelled,
        )
        for rows in ablation_rows(request):  # noqa: B007  the last list is complete
            pass
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class AblationRequest:
    """An ablation to do; the fields are parameters of `wb.ablate`."""

    workload: Workload
    target: str
    pipeline: Pipeline | str | Config | None = None
    opt_level: int = 3
    passes: Sequence[str] | None = None
    directions: Sequence[str] = (WITHOUT,)
    timed: bool = True
    budget: float = 2.0
    progress: Progress = silent
    cancelled: Callable[[], bool] = never
    raced: Callable[[int, Config, Config, Race], None] = lambda *_: None
    """Called with each race: the place of its row, the configuration without the pass, the one with all passes, and
    the race."""


def ablation_rows(request: AblationRequest) -> Iterator[Rows]:
    """Yield the rows of an ablation as they fill: first the counts, then the races."""
    workload, target, cancelled = request.workload, request.target, request.cancelled
    for direction in request.directions:
        if direction not in (WITHOUT, ONLY):
            raise UnknownName("direction of an ablation", direction, (WITHOUT, ONLY))
    given = switches(workload, request.pipeline, request.opt_level)
    request.progress("Running the passes", None)
    if request.passes is None:
        places = sorted(effective(workload, given, target, cancelled))
    else:
        places = [given.place(name) for name in request.passes]
    whole = given.with_only(given.all, "all passes")
    cases = [(NOTHING, CONTROL, whole), *_cases(given, places, request.directions)]
    counting = Counting(workload, target)
    rows: Rows = []
    for place, (name, direction, config) in enumerate(cases):
        if cancelled():
            return
        request.progress(f"Counting {direction} {name}", place / len(cases))
        rows.append({"pass": name, "direction": direction, "config": config.label, **counting.row(config)})
        yield list(rows)
    for place, (name, direction, config) in enumerate(cases if request.timed else ()):
        if cancelled():
            return
        request.progress(f"Racing {direction} {name}", place / len(cases))
        found = _raced(request, config, whole)
        rows[place] = {**rows[place], **(_columns(found, config, workload) if isinstance(found, Race) else found)}
        rows[place] |= _verdict(rows[place], rows[0])
        if isinstance(found, Race):
            control = ratio_of(rows[0])
            request.raced(place, config, whole, replace(found, noise=(*found.noise, *([control] if control else []))))
        yield list(rows)


def _cases(given: Switches, places: Sequence[int], directions: Sequence[str]) -> Iterator[tuple[str, str, Config]]:
    for direction in directions:
        for place in places:
            on = tuple(p for p in given.all if p != place) if direction == WITHOUT else (place,)
            name = given.names[place]
            yield name, direction, given.with_only(on, f"{direction} {name}")


def _raced(request: AblationRequest, config: Config, whole: Config) -> Race | dict[str, object]:
    """Return the race, or the status and the message of a row without one."""
    limits = {"budget": request.budget, "cancelled": request.cancelled}
    try:
        return race(request.workload, config, whole, request.target, **limits)
    except WorkbenchError as error:
        return {"status": status_of(error), "message": str(error)}


def _columns(found: Race, config: Config, workload: Workload) -> dict[str, Any]:
    if config.label in found.wrong:
        # the time of wrong outputs does not measure a pass
        return {"status": WRONG, "message": found.note, "target": found.target}
    told = {"ratio": found.ratio, "low": found.low, "high": found.high, "rounds": found.rounds}
    own = [(each.ratio, each.low, each.high) for each in found.noise[:1]]
    noise = dict(zip(NOISE_COLUMNS, own[0], strict=True)) if own else {}
    said = {"status": OK, "message": found.note, "target": found.target}
    return {**told, **noise, **said, **conditions(workload.dialect)}


def _verdict(row: dict[str, object], control: dict[str, object]) -> dict[str, object]:
    """Return the verdict of a raced row, or the reason on a machine that is too noisy."""
    if ratio_of(row) is None:
        return {}
    found = judge_row(row, control, again="run wb.ablate again")
    noisy = {"message": found.sentence} if found.reason == NOISE else {}
    return {"verdict": VERDICT[found.answer], **noisy}
