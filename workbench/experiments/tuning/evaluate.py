"""Evaluation of a candidate to a Trial: refuse, count, recognise or prune it, or build, check and time it.

Candidates often share a final module; the cache builds each module once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

from workbench.dialects.base import Workload
from workbench.errors import NoDevice, NoServer, Untrusted, WorkbenchError, WorkerLost
from workbench.experiments.tuning.space import Assignment
from workbench.experiments.tuning.trial import COUNTED, ILLEGAL, PRUNED, Trial
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.count import look
from workbench.measurement.measure import measured_rows
from workbench.measurement.remote.tracker import Tracker
from workbench.measurement.row import CANCELLED, FAILED, NO_SERVER, NOT_MEASURED, OK, UNTRUSTED, WRONG, status_of
from workbench.pipeline.config import Config
from workbench.pipeline.config import check_config as legal
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, silent

MEASURED = ("median_us", "q1_us", "q3_us", "build_seconds")
"values that trials with equal final modules share"


class BuildInProgress(Exception):
    """Another trial under way has the same final module."""

    def __init__(self, trial: Trial, other: int) -> None:
        super().__init__(f"trial {other} builds the same")
        self.trial, self.other = trial, other


@dataclass
class BuildCache:
    """The final modules that are built or being built, and the best trial so far; safe in any thread.

    A trial claims its final module before it builds, so two threads never build the same.
    """

    best: dict[str, tuple[tuple[float, ...], Trial]] = field(default_factory=dict)
    "target -> the best built trial, by its costs: the objectives in their order"
    _built: dict[tuple[str, str], Trial] = field(default_factory=dict)
    "(target, fingerprint) -> the trial that was built for them"
    _claims: dict[tuple[str, str], int] = field(default_factory=dict)
    "(target, fingerprint) -> the number of the trial that builds it now"
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, trial: Trial, costs: tuple[float, ...] | None) -> None:
        """Remember a finished trial; one that may not win has no costs."""
        with self._lock:
            self._release(trial.number)
            if trial.like is not None or trial.status == PRUNED or not trial.fingerprint:
                return
            self._built[trial.target, trial.fingerprint] = trial
            if costs is not None and (trial.target not in self.best or costs < self.best[trial.target][0]):
                self.best[trial.target] = costs, trial

    def copy_result(self, trial: Trial) -> Trial | None:
        """Return the trial with the result of a built trial that has the same final module; None without one."""
        twin = self._built.get((trial.target, trial.fingerprint))
        if twin is None:
            return None
        known = {name: twin.values.get(name) for name in MEASURED}
        values = {**trial.values, **known}
        return replace(
            trial, status=twin.status, reason=twin.reason, values=values, like=twin.number, checked=twin.checked
        )

    def claim(self, trial: Trial) -> Trial | int | None:
        """Claim a final module to build it: None if that succeeds, else the result of `copy_result`, or the trial that builds it now."""
        place = (trial.target, trial.fingerprint)
        with self._lock:
            if place in self._built:
                return self.copy_result(trial)
            other = self._claims.setdefault(place, trial.number)
            return None if other == trial.number else other

    def release(self, number: int) -> None:
        with self._lock:
            self._release(number)

    def _release(self, number: int) -> None:
        self._claims = {place: taker for place, taker in self._claims.items() if taker != number}


WEIGHED = ("kernels", "traffic_bytes")
"counts that pruning compares"


@dataclass(frozen=True)
class TuneOptions:
    """The options of `wb.tune`; `timeout`, `memory`, `store` and `executor` are those of `wb.measure`."""

    budget: float = 60.0
    "seconds for the search; a candidate under way is finished, and the checks and races of the best are additional"
    trials: int | None = None
    "most candidates for each target, including those of the log"
    objective: str | Sequence[str] = "time"
    """The value to minimise: `time` (median of a run), `kernels`, `bytes` (that kernels pass to each other), `build`
    (seconds); or several, for a Pareto front."""
    method: str = "auto"
    "`auto`, `exhaustive` or `guided` (workbench/experiments/tuning/search.py)"
    log: str | Path | bool | None = None
    """A file to which each candidate is written as it ends, and from which a later run continues; True for one in the
    folder of the measurements; None for none."""
    race: float = 4.0
    """Seconds of the final race of the best against the default, where time is an objective; 0 for none. If the best loses,
    up to two others are raced; if all lose, the default is the best."""
    progress: Progress = silent
    "called for each candidate, with a text and the part of the budget that is spent"
    each: float = 0.5
    "seconds of timing"
    prune: float | None = 1.5
    """A candidate is not built if its kernels and traffic are both at least this multiple of those of the best timed one.
    None to build all. It is a heuristic: many small kernels can be faster than few."""
    check: bool = True
    """Whether a candidate's outputs must equal the reference's. Where the objective is counted, candidates that would win
    are built and checked at the end."""
    timeout: float = TIMEOUT
    memory: int | None = None
    seed: int = 0
    "of the search and of the inputs; the order of candidates is reproducible where the objective is counted"
    store: bool = True
    "whether the measured rows are also stored in wb.history"
    remote: Tracker | None = None
    """A tracker: candidates run on all its servers at once, including servers that join later. A candidate whose server goes
    away is tried again. Requests to the tracker have the Tracker's priority."""
    executor: Executor | None = None
    "executor that compiles them"


@dataclass(frozen=True)
class Evaluator:
    """An evaluator of candidates, several at once if several threads call it."""

    workload: Workload
    objectives: tuple[str, ...]
    effort: TuneOptions = field(default_factory=TuneOptions)
    cancelled: Callable[[], bool] = never
    cache: BuildCache = field(default_factory=BuildCache)

    @property
    def needs_build(self) -> bool:
        return any(name not in COUNTED for name in self.objectives)

    def learn(self, trial: Trial) -> None:
        self.cache.learn(trial, trial.costs(self.objectives))

    def is_enough(self, trial: Trial) -> bool:
        """Return whether a trial of a log has values for these objectives; if not, it is tried again."""
        if trial.ok:
            return trial.costs(self.objectives) is not None and (
                trial.checked or not (self.needs_build and self.effort.check)
            )
        # a trial that was pruned for another objective may be good for this one
        return trial.status != PRUNED or (self.needs_build and self.effort.prune is not None)

    def trial(self, number: int, target: str, chosen: Assignment, config: Config) -> Trial:
        """Try a candidate.

        Without a trial it raises WorkerLost (it was cancelled), NoDevice, NoServer or Untrusted (nothing can be timed for
        the target here, now, or at all), or BuildInProgress (another candidate under way has the same final module).
        """
        clock = Clock()
        begun = Trial(number, target, config, dict(chosen))
        try:
            legal(self.workload, config)
        except WorkbenchError as error:
            return clock.stamp(replace(begun, status=ILLEGAL, reason=str(error)))
        limits = {"timeout": self.effort.timeout, "memory": self.effort.memory, "cancelled": self.cancelled}
        try:
            with clock:
                found = look(self.workload, config, target, final=self.needs_build, **limits)
        except WorkbenchError as error:
            if self.cancelled() or status_of(error) == CANCELLED:
                raise WorkerLost(str(error), CANCELLED) from error
            return clock.stamp(replace(begun, status=status_of(error), reason=str(error)))
        counts = {
            "kernels": found.counts.calls,
            "handover_bytes": sum(found.counts.handover_bytes.values()),
            "traffic_bytes": found.counts.traffic_bytes,
            "peak_bytes": found.counts.peak_bytes,
        }
        trial = replace(begun, fingerprint=found.fingerprint, values=counts)
        if not self.needs_build:
            return clock.stamp(trial)
        known = self.cache.copy_result(trial) or self._prune(trial)
        if known is None:
            known = self.cache.claim(trial)
            if isinstance(known, int):
                raise BuildInProgress(clock.stamp(trial), known)
        return clock.stamp(known or self.build(trial, clock))

    def _prune(self, trial: Trial) -> Trial | None:
        _, best = self.cache.best.get(trial.target, (None, None))
        factor = self.effort.prune
        # the number of kernels does not predict the build time
        if best is None or factor is None or "build" in self.objectives:
            return None
        pairs = [(trial.values[name] or 0, best.values[name] or 0) for name in WEIGHED]
        if not all(here > there and here >= factor * there for here, there in pairs):
            return None
        (kernels, fewer), (traffic, less) = pairs
        reason = f"not built: {kernels} kernels and {traffic} bytes of traffic, where trial {best.number} has {fewer} and {less}"
        return replace(trial, status=PRUNED, reason=reason)

    def build(self, trial: Trial, clock: Clock) -> Trial:
        effort = self.effort
        limits: JobOptions = {"timeout": effort.timeout, "memory": effort.memory, "cancelled": self.cancelled}
        places = {"tracker": effort.remote, "executor": effort.executor}
        how = MeasureOptions(budget=effort.each, seed=effort.seed, check=effort.check, **places, **limits)
        with clock:
            ((_, row),) = measured_rows(self.workload, [(trial.config, None, trial.target)], how, store=effort.store)
        if row.status == CANCELLED:
            raise WorkerLost(row.message, CANCELLED)
        if row.status == NOT_MEASURED:
            raise NoDevice(
                f"{row.message}; tune for 'kernels' or 'bytes', or give remote= a tracker with such a device"
            )
        if row.status == UNTRUSTED:
            raise Untrusted(row.message)
        if row.status == NO_SERVER:
            raise NoServer(row.message)
        known = {name: getattr(row, name) for name in MEASURED}
        trial = replace(trial, values={**trial.values, **{name: us for name, us in known.items() if us is not None}})
        checked = row.check in (OK, WRONG)
        if row.status == OK and effort.check and not checked:
            return replace(trial, status=FAILED, reason=f"its outputs could not be checked: {row.check}")
        return replace(trial, status=row.status or FAILED, reason=row.message, checked=checked)


class Clock:
    """A clock of a trial's seconds, and of the seconds within `with clock`, which the child process takes."""

    def __init__(self) -> None:
        self.working = 0.0
        self._begun = self._entered = time.perf_counter()

    def __enter__(self) -> None:
        self._entered = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.working += time.perf_counter() - self._entered

    def stamp(self, trial: Trial) -> Trial:
        return replace(trial, seconds=time.perf_counter() - self._begun, working=self.working)
