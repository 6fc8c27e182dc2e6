"""`wb.tune`: search a space of configurations for the best one, in a Run that other threads watch, pause and stop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload, workload_of
from workbench.errors import NoDevice, NoServer, WorkbenchError, WorkerLost, check_seconds
from workbench.experiments.engine import RECENT, BackgroundRun, Best, Budget, improvements
from workbench.experiments.tuning.evaluate import Clock, Evaluator, TuneOptions
from workbench.experiments.tuning.result import Result, Verdict, decide
from workbench.experiments.tuning.scheduler import Candidate, Lanes, Scheduler
from workbench.experiments.tuning.search import search
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import PRUNED, Trial, front, objectives_of
from workbench.experiments.tuning.trial_log import Trials, default_log_path
from workbench.measurement.race import Race, race
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike, target_texts
from workbench.worker.progress import showing_progress


class Run(BackgroundRun[Result]):
    """One search, in this thread (`run`) or in its own (`start`); any thread may call the other methods."""

    def __init__(
        self,
        workload: Workload,
        space: Space,
        targets: Sequence[str],
        options: TuneOptions,
        log: str | Path | None = None,
    ) -> None:
        super().__init__()
        self.workload, self.space, self.targets = workload, space, tuple(targets)
        self.objectives = objectives_of(options.objective)
        self._options = options
        self._evaluator = evaluator = Evaluator(workload, self.objectives, options, self._control.stopped)
        self._lanes = Lanes(options.remote)
        self._trials = Trials(evaluator, log)
        self._budget = Budget(options.budget, options.trials, self.targets, self._control)
        self.resumed = len(self.trials)
        "number of trials from the log"
        self._final_seconds = 0.0
        "seconds of checks and races at the end"
        self._verdicts: dict[str, Verdict] = {}

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far, those of the log first."""
        return self._trials.all

    @property
    def best_so_far(self) -> tuple[Best, ...]:
        """The improvements of the first objective, for the first target."""
        return self.best_of(self.targets[0])

    def best_of(self, target: str) -> tuple[Best, ...]:
        costs = ((each, each.costs(self.objectives[:1]) if each.target == target else None) for each in self.trials)
        return improvements((trial.seconds, trial.number, cost[0] if cost else None) for trial, cost in costs)

    @property
    def failures(self) -> dict[str, int]:
        """The number of trials that may not win, by status and reason, the most frequent first."""
        out = (trial for trial in self.trials if not trial.ok)
        return dict(Counter(t.status if t.status == PRUNED else f"{t.status}: {t.reason}" for t in out).most_common())

    @property
    def left(self) -> float | None:
        """The estimated seconds left; None before the first trial of this run, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        trials, budget = self.trials, self._budget
        own = trials[self.resumed :][-RECENT:]
        if not own or not budget.elapsed:
            return None
        mean = sum(trial.seconds for trial in own) / len(own) / max(1, self._lanes.capacity)
        most = self.space.size + 1 if budget.trials is None else min(budget.trials, self.space.size + 1)
        waiting = max(0, most * len(self.targets) - len(trials))
        return min(waiting * mean, max(0.0, budget.seconds - budget.elapsed))

    @property
    def spent(self) -> float:
        """The part of the budget that is spent, from 0 to 1."""
        return min(1.0, self._budget.elapsed / self._budget.seconds)

    @property
    def overhead(self) -> float:
        """The part of the run so far spent on choosing and keeping trials; the rest was spent in child processes."""
        elapsed = self._budget.elapsed
        return max(0.0, elapsed - self._lanes.waited - self._final_seconds) / elapsed if elapsed else 0.0

    def result(self) -> Result:
        """Return the result so far, also during the run.

        Raises
        ------
        WorkbenchError
            The run failed.
        """
        if self._failure is not None:
            raise self._failure
        return self.known

    @property
    def known(self) -> Result:
        """Return the result so far, even of a run that failed."""
        verdicts = dict(self._verdicts)
        return Result(self.workload, self.targets, self.objectives, self.trials, self.overhead, verdicts)

    def _work(self) -> bool:
        self._budget.begin()
        try:
            if self._options.remote is not None:
                self._options.remote.check()
            return all(self._tune(target) for target in self.targets)
        finally:
            self._budget.end()

    def _tune(self, target: str) -> bool:
        try:
            self._search(target)
            self._check_winners(target)
            self._race(target)
        except WorkerLost as lost:
            if not self._control.stopped():
                raise
            self._doing = str(lost)
        return not self._control.stopped()

    def _search(self, target: str) -> None:
        chooser = search(self.space, len(self.objectives), self._options.seed, self._options.method)
        for trial in self._trials.of(target):
            if self._evaluator.is_enough(trial):
                chooser.tell(trial.chosen, trial.costs(self.objectives))
        parts = self._evaluator, self._lanes, self._trials, self._budget
        scheduler = Scheduler(target, self.space, chooser, *parts, self._show)
        try:
            scheduler.run()
        except BaseException:
            # other candidates under way also end, and none of them is kept
            self._control.stop()
            raise
        finally:
            scheduler.close()

    def _show(self, underway: Sequence[Candidate]) -> None:
        if underway:
            numbers = ", ".join(str(candidate.number) for candidate in underway)
            labels = "; ".join(candidate.config.label for candidate in underway)
            self._at(f"Trial{'s' if len(underway) > 1 else ''} {numbers}: {labels}")
        elif self._lanes.capacity == 0:
            self._at("Waiting for a device")
        else:
            self._notify()

    def _check_winners(self, target: str) -> None:
        """Build and check trials that win by their counts alone, until the winner is correct."""
        while self._options.check and self._budget.wait():
            winners = front(self._trials.of(target), self.objectives)
            doubtful = next((trial for trial in winners if not trial.checked), None)
            if doubtful is None:
                return
            self._at(f"Checking trial {doubtful.number}: {doubtful.config.label}")
            clock, could = Clock(), True
            try:
                found = self._evaluator.build(doubtful, clock)
            except (NoDevice, NoServer) as missing:
                # the counts are right; the outputs cannot be checked here
                found, could = replace(doubtful, reason=f"not checked: {missing}"), False
            self._final_seconds += clock.working
            self._trials.keep(replace(found, seconds=doubtful.seconds + clock.working, working=clock.working))
            if not could:
                return

    def _race(self, target: str) -> None:
        if not self._options.race or not self._budget.wait():
            return
        options, begun = self._options, time.perf_counter()

        def run(trial: Trial) -> Race:
            self._at(f"Racing trial {trial.number} against the default")
            names = ("timeout", "memory", "seed", "check", "remote")
            how = {"cancelled": self._control.stopped, **{name: getattr(options, name) for name in names}}
            return race(self.workload, Config(), trial.config, trial.target, budget=options.race, **how)

        found = decide(self._trials.of(target), target, self.objectives, run)
        self._final_seconds += time.perf_counter() - begun
        if found is not None:
            self._verdicts[target] = found


def tune(
    workload: Workload, space: Space | None = None, targets: TargetLike | Iterable[TargetLike] = ("llvm",), **how: Any
) -> Result:
    """Search a space of configurations for the best one.

    Each candidate's passes run first, which counts its kernels and hashes its final module. A candidate is not built if it is
    refused, fails, has the final module of an earlier one, or is far behind in kernels and bytes.

    Parameters
    ----------
    space
        The search space; by default `Space.of(workload)`: all passes that a PassContext can switch, and FuseOps' depth.
    targets
        As TVM writes them; each gets an equal part of the budget.
    budget, trials
        Seconds for the search, 60 by default; most candidates for each target.
    objective
        The value to minimise: `time` (the default), `kernels`, `bytes`, `peak_bytes`, `build`; or several, for a Pareto front.
    how
        The other options: fields of `TuneOptions` (workbench/experiments/tuning/evaluate.py).

    Returns
    -------
    Result
        `best`, `pareto`, `table`, `race`, `apply()`, `code()`. Ctrl-C ends the search and returns the result so far.

    Raises
    ------
    WorkbenchError
        An argument is wrong, the log is of something else, or nothing can be measured for a target here.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> found = wb.tune(w, objective="kernels", trials=3)
    >>> found.best.values["kernels"]
    5
    """
    workload = workload_of(workload, "tune")
    with showing_progress(how.pop("progress", None), f"Tuning {workload.name}") as report:
        return prepared(workload, space, targets, TuneOptions(**how, progress=report)).run()


def prepared(
    workload: Workload,
    space: Space | None = None,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    options: TuneOptions | None = None,
) -> Run:
    """Return the run of `wb.tune` before it starts: `start()` runs it in a thread, where it can be paused and stopped.

    Raises WorkbenchError: an argument is wrong, or the log is of something else.
    """
    options = options or TuneOptions()
    wanted = target_texts(targets)
    if not wanted:
        raise WorkbenchError("targets is empty; give some, such as ['llvm', 'cuda']")
    check_seconds(budget=options.budget, each=options.each, timeout=options.timeout)
    if options.trials is not None and options.trials < 1:
        raise WorkbenchError("a search needs at least one trial")
    if options.prune is not None and options.prune < 1:
        raise WorkbenchError(
            f"prune={options.prune:g} would leave out what is better than the best; give 1 or more, or None"
        )
    objectives_of(options.objective)
    log = default_log_path(workload) if options.log is True else options.log or None
    run = Run(workload, Space.of(workload) if space is None else space, wanted, options, log)
    run.listen(lambda run: options.progress(run.doing, run.spent))
    return run
