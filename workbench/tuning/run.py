"""`wb.tune`: search a space of configurations for the best one, in a Run that other threads watch, pause and stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError, WorkerLost
from workbench.measurement.remote.tracker import Tracker
from workbench.target_text import TargetLike, target_texts
from workbench.tuning.background_run import BackgroundRun
from workbench.tuning.budget import RECENT, Budget, SearchLimit
from workbench.tuning.evaluate import Effort, Evaluator
from workbench.tuning.final_race import FinalRace
from workbench.tuning.result import Result
from workbench.tuning.runners import LocalRunner, RPCRunner
from workbench.tuning.scheduler import Candidate, Scheduler, SearchContext
from workbench.tuning.search import search
from workbench.tuning.space import Space
from workbench.tuning.trial import Best, Trial, best_of, failures, objectives_of
from workbench.tuning.trial_log import Log, Trials, default_log_path
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, silent
from workbench.worker.progress import showing_progress


@dataclass(frozen=True)
class TuneRequest:
    """The search of one run."""

    workload: Workload
    space: Space
    targets: tuple[str, ...]
    objectives: tuple[str, ...]
    limit: SearchLimit
    effort: Effort
    method: str = "auto"
    "as search.search takes it"
    race: float = 4.0
    "seconds of the final race of the best against the default; 0 for none"


class Run(BackgroundRun[Result]):
    """One search, in this thread (`run`) or in its own (`start`); any thread may call the other methods.

    Parameters
    ----------
    log
        An open log and its trials; None for no log.
    """

    def __init__(self, request: TuneRequest, log: tuple[Log, list[Trial]] | None = None) -> None:
        super().__init__()
        self.workload, self.space = request.workload, request.space
        self.targets, self.objectives = request.targets, request.objectives
        self._method, effort = request.method, request.effort
        evaluator = Evaluator(request.workload, request.objectives, effort, self._control.stopped)
        self._context = SearchContext(
            evaluator,
            LocalRunner() if effort.remote is None else RPCRunner(effort.remote),
            Trials(*((None, []) if log is None else log), evaluator),
            Budget(request.limit, request.targets, self._control),
        )
        self.resumed = len(self.trials)
        "number of trials from the log"
        self._final = FinalRace(self._context, request.race, self._at)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far, those of the log first."""
        return self._context.trials.all

    @property
    def best_so_far(self) -> tuple[Best, ...]:
        """The improvements of the first objective, for the first target."""
        return self.best_of(self.targets[0])

    def best_of(self, target: str) -> tuple[Best, ...]:
        """Return the improvements of the first objective for a target."""
        return best_of(self.trials, target, self.objectives)

    @property
    def failures(self) -> dict[str, int]:
        """The number of trials that may not win, by status and reason, the most frequent first."""
        return failures(self.trials)

    @property
    def left(self) -> float | None:
        """The estimated seconds left; None before the first trial of this run, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        trials, budget = self.trials, self._context.budget
        own = trials[self.resumed :][-RECENT:]
        if not own or not budget.begun:
            return None
        mean = sum(trial.seconds for trial in own) / len(own) / max(1, self._context.runner.capacity)
        limit = budget.limit
        most = self.space.size + 1 if limit.trials is None else min(limit.trials, self.space.size + 1)
        waiting = max(0, most * len(self.targets) - len(trials))
        return min(waiting * mean, max(0.0, limit.seconds - budget.elapsed))

    @property
    def spent(self) -> float:
        """The part of the budget that is spent, from 0 to 1."""
        budget = self._context.budget
        return min(1.0, budget.elapsed / budget.limit.seconds)

    @property
    def overhead(self) -> float:
        """The part of the run so far spent on choosing and keeping trials; the rest was spent in child processes."""
        elapsed = self._context.budget.elapsed
        return max(0.0, elapsed - self._context.runner.waited - self._final.seconds) / elapsed if elapsed else 0.0

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
        return Result(
            self.workload, self.targets, self.objectives, self.trials, self.overhead, dict(self._final.verdicts)
        )

    def _work(self) -> bool:
        self._context.budget.begin()
        try:
            remote = self._context.evaluator.effort.remote
            if remote is not None:
                remote.check()
            return all(self._tune(target) for target in self.targets)
        finally:
            self._context.budget.end()

    def _tune(self, target: str) -> bool:
        """Search and race for a target; return whether that finished and was not stopped."""
        try:
            self._search(target)
            self._final.run(target)
        except WorkerLost as lost:
            if not self._control.stopped():
                raise
            self._doing = str(lost)
        return not self._control.stopped()

    def _search(self, target: str) -> None:
        evaluator, trials = self._context.evaluator, self._context.trials
        chooser = search(self.space, len(self.objectives), evaluator.effort.seed, self._method)
        for trial in trials.of(target):
            if evaluator.is_enough(trial):
                chooser.tell(trial.chosen, trial.costs(self.objectives))
        try:
            Scheduler(target, self.space, chooser, self._context, self._show).run()
        except BaseException:
            # other candidates under way also end, and none of them is kept
            self._control.stop()
            raise
        finally:
            self._context.runner.close()

    def _show(self, underway: Sequence[Candidate]) -> None:
        if underway:
            numbers = ", ".join(str(candidate.number) for candidate in underway)
            labels = "; ".join(candidate.config.label for candidate in underway)
            self._at(f"Trial{'s' if len(underway) > 1 else ''} {numbers}: {labels}")
        elif self._context.runner.capacity == 0:
            self._at("Waiting for a device")
        else:
            self._notify()


def tune(
    workload: Workload, space: Space | None = None, targets: TargetLike | Iterable[TargetLike] = ("llvm",), **how: Any
) -> Result:
    """Search a space of configurations for the best one.

    Each candidate's passes run first, which counts its kernels and hashes its final module. A candidate is not built if it is
    refused, fails, has the final module of an earlier one, or is far behind in kernels and bytes.

    Parameters
    ----------
    space, targets, how
        As `prepared` takes them.

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
    >>> found = wb.tune(w, objective="kernels", budget=30)  # doctest: +SKIP
    >>> print(found.best.config.label, found.table["kernels"].min())  # doctest: +SKIP
    """
    with showing_progress(how.pop("progress", None), f"Tuning {workload.name}") as report:
        return prepared(workload, space, targets, **how, progress=report).run()


def prepared(
    workload: Workload,
    space: Space | None = None,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    *,
    budget: float = 60.0,
    trials: int | None = None,
    objective: str | Sequence[str] = "time",
    method: str = "auto",
    seed: int = 0,
    log: str | Path | bool | None = None,
    each: float = 0.5,
    prune: float | None = 1.5,
    check: bool = True,
    race: float = 4.0,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    store: bool = True,
    remote: Tracker | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> Run:
    """Return the run of `wb.tune` before it starts: `start()` runs it in a thread, where it can be paused and stopped.

    Parameters
    ----------
    space
        The search space; by default `Space.of(workload)`: all passes that a PassContext can switch, and FuseOps' depth.
    targets
        As TVM writes them; each gets an equal part of the budget.
    budget
        Seconds for the search; a candidate under way is finished, and the checks and races of the best are additional.
    trials
        Most candidates for each target, including those of the log.
    objective
        The value to minimise: `time` (median of a run), `kernels`, `bytes` (that kernels pass to each other), `build` (seconds); or
        several, for a Pareto front.
    method
        `auto`, `exhaustive` or `guided` (workbench/tuning/search.py).
    seed
        Seed of the search and of the inputs. The order of candidates is reproducible where the objective is counted.
    log
        A file to which each candidate is written as it ends, and from which a later run continues; True for one in the folder of
        the measurements; None for none.
    each
        Seconds of timing per candidate.
    prune
        A candidate with this multiple of the kernels and traffic of the best is not built; None to build all. It is a
        heuristic: many small kernels can be faster than few.
    check
        Whether a candidate's outputs must equal the reference's. Where the objective is counted, candidates that would win are
        built and checked at the end.
    race
        Seconds of the final race of the best against the default, where time is an objective; 0 for none. If the best loses,
        up to two others are raced; if all lose, the default is the best.
    remote
        A tracker: candidates run on all its servers at once, including servers that join later. A candidate whose server goes
        away is tried again. Requests to the tracker have the Tracker's priority.
    timeout, memory, store, executor
        As for `wb.measure`.
    progress
        Called for each candidate, with a text and the part of the budget that is spent.

    Raises
    ------
    WorkbenchError
        An argument is wrong, or the log is of something else.
    """
    wanted = target_texts(targets)
    if not wanted:
        raise WorkbenchError("targets is empty; give some, such as ['llvm', 'cuda']")
    if budget <= 0 or (trials is not None and trials < 1):
        raise WorkbenchError("a search needs a budget of some seconds and at least one trial")
    if prune is not None and prune < 1:
        raise WorkbenchError(f"prune={prune:g} would leave out what is better than the best; give 1 or more, or None")
    names = objectives_of(objective)
    path = default_log_path(workload) if log is True else log or None
    opened = None if path is None else Log.opened(path, workload)
    request = TuneRequest(
        workload,
        Space.of(workload) if space is None else space,
        tuple(wanted),
        names,
        SearchLimit(budget, trials),
        Effort(each, prune, check, timeout, memory, seed, store, remote, executor),
        method,
        race,
    )
    run = Run(request, opened)
    run.listen(lambda run: progress(run.doing, run.spent))
    return run
