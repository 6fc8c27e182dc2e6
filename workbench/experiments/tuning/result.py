"""The result of a search: the best trial, all trials as a table, and the winner as workload, code and race.

The smallest of many medians is partly luck, so the candidate that measured best may lose its race against the default. Then the next
one is raced, and if all of them lose, the default stays. Each race has an interval of 95 %; of three, one is wrong about once in ten times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, WorkbenchError
from workbench.experiments.tuning.trial import OBJECTIVES, Trial, front, key_of
from workbench.measurement.count import as_it_stands, final_workload
from workbench.measurement.race import Race, race
from workbench.measurement.row import CANCELLED, status_of
from workbench.pipeline.build import build_code
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd


RACED = 3
"most candidates that are raced against the default; each is raced after the one before it lost"


@dataclass(frozen=True)
class Verdict:
    """The result of the races for one target."""

    races: tuple[tuple[int, Race], ...] = ()
    "(number of the trial that ran against the default, its race); the last race decided"
    winner: int | None = None
    "the number of the best trial; None where time is not the first objective, or no race was run"
    note: str = field(default="")
    "why there was no race, or no further race"

    @property
    def lost(self) -> frozenset[int]:
        return frozenset(number for number, race in self.races if race.answer == "no")


def decide(
    trials: Sequence[Trial], target: str, objectives: Sequence[str], run: Callable[[Trial], Race]
) -> Verdict | None:
    """Race candidates against the default with `run` until one does not lose.

    There is no verdict where there is no race: time is not an objective, no trial may win, or the default is the best.
    """
    default = next((trial for trial in trials if trial.key == key_of(target, Config())), None)
    challengers = _challengers(trials, target, objectives, default)
    if default is None or not challengers:
        return None
    if not default.ok:
        return Verdict(note=f"no race: the default itself may not win ({default.reason})")
    leads = objectives[0] == "time"
    races: list[tuple[int, Race]] = []
    try:
        for trial in challengers if leads else challengers[:1]:
            races.append((trial.number, run(trial)))
            if races[-1][1].answer != "no":
                break
    except MeasureError as error:
        if status_of(error) == CANCELLED:
            raise
        return Verdict(tuple(races), default.number if races else None, f"no {'other ' if races else ''}race: {error}")
    winner = races[-1][0] if races[-1][1].answer != "no" else default.number
    return Verdict(tuple(races), winner if leads else None)


def _challengers(trials: Sequence[Trial], target: str, objectives: Sequence[str], default: Trial | None) -> list[Trial]:
    """Return the best, then trials that measured faster than the default, the fastest first; one of equal programs."""
    mine = [trial for trial in trials if trial.target == target]
    first = next(iter(front(mine, objectives)), None)
    if "time" not in objectives or first is None or default is None or first.number == default.number:
        return []
    usual = default.costs(("time",))
    timed = [(cost, trial) for trial in mine if (cost := trial.costs(("time",))) is not None]
    faster = [trial for cost, trial in sorted(timed, key=lambda each: each[0]) if usual is None or cost < usual]
    programs = {default.fingerprint or default.key: default}
    for trial in (first, *faster):
        programs.setdefault(trial.fingerprint or trial.key, trial)
    return [trial for trial in programs.values() if trial is not default][:RACED]


@dataclass(frozen=True)
class Result:
    """The trials of one workload, for one target or several."""

    workload: Workload
    targets: tuple[str, ...]
    objectives: tuple[str, ...]
    trials: tuple[Trial, ...]
    overhead: float = 0.0
    "the part of the run that was not spent on counting, building or measuring"
    verdicts: dict[str, Verdict] = field(default_factory=dict, repr=False)
    "target -> the result of the races of the best against the default"

    @property
    def races(self) -> dict[str, Race]:
        """Target -> the deciding race: the default (a) against the last candidate that was raced (b)."""
        return {target: verdict.races[-1][1] for target, verdict in self.verdicts.items() if verdict.races}

    @property
    def best(self) -> Trial:
        """The best trial by the first objective, for the first target.

        If that objective is time, races decide: a candidate that lost its race against the default is not the best; if all
        raced candidates lost, the default is. A candidate whose race shows no difference from the default
        stays the best, and `race` and `str()` report this.

        Raises
        ------
        WorkbenchError
            No candidate may win.
        """
        return self.best_for(self.targets[0])

    def best_for(self, target: TargetLike) -> Trial:
        """Return the best trial for a target, as `best`."""
        found = self.pareto_for(target)
        if not found:
            said = next((trial.reason for trial in self.trials if trial.target == target), "nothing was tried")
            raise WorkbenchError(f"no candidate for {target} may win; the first: {said}")
        return found[0]

    @property
    def pareto(self) -> list[Trial]:
        """The trials that no other dominates, for the first target, the best by the first objective first."""
        return self.pareto_for(self.targets[0])

    def pareto_for(self, target: TargetLike) -> list[Trial]:
        """Return the trials that no other dominates for a target; a race winner is first, race losers are left out."""
        target = target_text(target)
        found = front([trial for trial in self.trials if trial.target == target], self.objectives)
        verdict = self.verdicts.get(target)
        if verdict is None or verdict.winner is None:
            return found
        winner = next(trial for trial in self.trials if trial.number == verdict.winner)
        return [winner, *(trial for trial in found if trial is not winner and trial.number not in verdict.lost)]

    @property
    def default(self) -> Trial | None:
        """The trial of the compiler's default, for the first target."""
        key = key_of(self.targets[0], Config())
        return next((trial for trial in self.trials if trial.key == key), None)

    @property
    def race(self) -> Race | None:
        """The deciding race for the first target; None where the default measured best or time is not an objective."""
        return self.races.get(self.targets[0])

    def against_default(self, target: TargetLike | None = None, *, budget: float = 4.0, **how: Any) -> Race:
        """Race the default against the best now; `how` as for `wb.race`."""
        target = target or self.targets[0]
        return race(self.workload, Config(), self.best_for(target).config, target, budget=budget, **how)

    @property
    def table(self) -> pd.DataFrame:
        """One row per trial, in the order of trial; the knobs' choices are the last columns."""
        import pandas as pd

        return pd.DataFrame([_row(trial) for trial in self.trials])

    def apply(self, workload: Workload | None = None, target: TargetLike | None = None) -> Workload:
        """Return a workload (by default the tuned one) with the winner's graph passes applied.

        Compiled with `applied_config`, it is the measured program.

        Raises
        ------
        WorkbenchError
            A pass fails on it.
        """
        target = target or self.targets[0]
        return final_workload(workload or self.workload, self.best_for(target).config, target)

    def applied_config(self, target: TargetLike | None = None) -> Config:
        """Return the configuration for the result of `apply`, without any further optimisation."""
        return as_it_stands(self.workload, self.best_for(target or self.targets[0]).config)

    def code(self, target: TargetLike | None = None) -> str:
        """Return Python code that builds the winner: a module with `built(mod, params)`.

        It needs only TVM, except for CutFusion and ForceFusion, which it imports from this package.
        """
        target = target or self.targets[0]
        return build_code(self.workload, self.best_for(target).config, target)

    def __str__(self) -> str:
        return visible("\n".join(self._target_line(target) for target in self.targets))

    def _repr_html_(self) -> str:
        shown = ("config", "target", "kernels", "median_us", "peak_bytes", "status", "reason", "number")
        first = [trial.number for trial in self.pareto]
        trials = [*self.pareto, *(trial for trial in self.trials if trial.number not in first)]
        return html_table(str(self), ({name: row[name] for name in shown} for row in map(_row, trials)))

    def _target_line(self, target: str) -> str:
        found = self.pareto_for(target)
        tried = [trial for trial in self.trials if trial.target == target]
        out = sum(not trial.ok for trial in tried)
        counts = f"{counted(len(tried), 'candidate')} for {target}{f', {out} of them failed or refused' if out else ''}"
        if not found:
            return f"{counts}; none may win"
        values = ", ".join(f"{name} {found[0].values[OBJECTIVES[name]]:g}" for name in self.objectives)
        return f"{counts}; the best is {found[0].config.label} ({values}){self._raced(target, found[0])}"

    def _raced(self, target: str, best: Trial) -> str:
        """Return the outcome of the races, of all of them where one was lost."""
        verdict = self.verdicts.get(target, Verdict())
        said = [str(race) for _, race in verdict.races]
        if best.number == verdict.winner and best.key == key_of(target, Config()):
            said.append("so the default stays")
        if verdict.note:
            said.append(verdict.note)
        return "".join(f"; {each}" for each in said)


def _row(trial: Trial) -> dict[str, object]:
    told = {
        "number": trial.number,
        "target": trial.target,
        "config": trial.config.label,
        "pipeline": trial.config.pipeline,
        "status": trial.status,
        "reason": trial.reason,
        "like": trial.like,
        "checked": trial.checked,
        "seconds": trial.seconds,
    }
    names = ("kernels", "handover_bytes", "traffic_bytes", "peak_bytes", "median_us", "q1_us", "q3_us", "build_seconds")
    return {**told, **{name: trial.values.get(name) for name in names}, **trial.chosen}
