"""`wb.ablate`: what each pass is worth, by leaving it out, or by leaving all others out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
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
from workbench.targets import TargetLike, target_text
from workbench.worker.parent import Progress, never
from workbench.worker.reporting import reported

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
    """Kernels, bytes and time without each pass, against all of them, run in turn (`wb.race`).

    Parameters
    ----------
    pipeline
        Whose passes; None for those of the compiler's own pipeline that a PassContext can switch. A Config for either, and
        what else holds meanwhile.
    passes
        Some of them; by default each that changes something when all run.
    directions
        "without": all but the pass. "only": the pass and no other.
    timed
        Whether to race; otherwise counted alone.
    budget
        Seconds of each race.

    Returns
    -------
    pandas.DataFrame
        `pass`, `direction`, `kernels`, `traffic_bytes`, `status`, `message`, and where it was raced `ratio` (its time over that
        of all passes), `low`, `high` (95 % interval), `verdict` ("slower", "not slower", "can't tell"), `rounds`, and `noise`,
        `noise_low`, `noise_high`: the row against itself in the same race. A row with other outputs than the reference is "wrong"
        and has none of these. The first row has direction "control": all passes against all passes, which is the noise too.
        Where the noise excludes 1, the verdict is "can't tell" and the message gives the figures.

    Raises
    ------
    WorkbenchError
        There is no such pass or direction, or the pipeline cannot be run from its text.
    """
    import pandas as pd

    rows: Rows = []
    how = {"pipeline": pipeline, "opt_level": opt_level, "passes": passes, "directions": directions, "timed": timed}
    with reported(progress, f"Ablating the passes of {workload.name}") as say:
        for found in left_out(workload, target_text(target), **how, budget=budget, progress=say, cancelled=cancelled):
            rows = found
    return pd.DataFrame(rows)


def left_out(
    workload: Workload,
    target: str,
    *,
    pipeline: Pipeline | str | Config | None,
    opt_level: int,
    passes: Sequence[str] | None,
    directions: Sequence[str],
    timed: bool,
    budget: float,
    progress: Progress,
    cancelled: Callable[[], bool],
    raced: Callable[[int, Config, Config, Race], None] = lambda *_: None,
) -> Iterator[Rows]:
    """The rows of an ablation as they fill: first the counts, then the races.

    Parameters
    ----------
    raced
        Given each race: the place of its row, the configuration without the pass, that with all, and the race.
    """
    for direction in directions:
        if direction not in (WITHOUT, ONLY):
            raise UnknownName("direction of an ablation", direction, (WITHOUT, ONLY))
    given = switches(workload, pipeline, opt_level)
    progress("Running the passes", None)
    places = (
        sorted(effective(workload, given, target, cancelled)) if passes is None else [given.place(n) for n in passes]
    )
    whole = given.with_only(given.all, "all passes")
    cases = [(NOTHING, CONTROL, whole), *_cases(given, places, directions)]
    counting = Counting(workload, target)
    rows: Rows = []
    for place, (name, direction, config) in enumerate(cases):
        if cancelled():
            return
        progress(f"Counting {direction} {name}", place / len(cases))
        rows.append({"pass": name, "direction": direction, "config": config.label, **counting.row(config)})
        yield list(rows)
    for place, (name, direction, config) in enumerate(cases if timed else ()):
        if cancelled():
            return
        progress(f"Racing {direction} {name}", place / len(cases))
        found = _raced(workload, config, whole, target, budget, cancelled)
        rows[place] = {**rows[place], **(_columns(found, config, workload) if isinstance(found, Race) else found)}
        rows[place] |= _verdict(rows[place], rows[0])
        if isinstance(found, Race):
            control = ratio_of(rows[0])
            raced(place, config, whole, replace(found, noise=(*found.noise, *([control] if control else []))))
        yield list(rows)


def _cases(given: Switches, places: Sequence[int], directions: Sequence[str]) -> Iterator[tuple[str, str, Config]]:
    for direction in directions:
        for place in places:
            on = tuple(p for p in given.all if p != place) if direction == WITHOUT else (place,)
            name = given.names[place]
            yield name, direction, given.with_only(on, f"{direction} {name}")


def _raced(
    workload: Workload, config: Config, whole: Config, target: str, budget: float, cancelled: Callable[[], bool]
) -> Race | dict[str, Any]:
    """The race; or the status and the sentence of a row that has none."""
    try:
        return race(workload, config, whole, target, budget=budget, cancelled=cancelled)
    except WorkbenchError as error:
        return {"status": status_of(error), "message": str(error)}


def _columns(found: Race, config: Config, workload: Workload) -> dict[str, Any]:
    if config.label in found.wrong:
        # the time of a wrong answer says nothing about a pass
        return {"status": WRONG, "message": found.note, "target": found.target}
    told = {"ratio": found.ratio, "low": found.low, "high": found.high, "rounds": found.rounds}
    own = [(each.ratio, each.low, each.high) for each in found.noise[:1]]
    noise = dict(zip(NOISE_COLUMNS, own[0], strict=True)) if own else {}
    said = {"status": OK, "message": found.note, "target": found.target}
    return {**told, **noise, **said, **conditions(workload.dialect)}


def _verdict(row: dict[str, Any], control: dict[str, Any]) -> dict[str, Any]:
    """The verdict of a row that was raced; on a machine that is too noisy, why there is none."""
    if ratio_of(row) is None:
        return {}
    found = judge_row(row, control, again="run wb.ablate again")
    noisy = {"message": found.sentence} if found.reason == NOISE else {}
    return {"verdict": VERDICT[found.answer], **noisy}
