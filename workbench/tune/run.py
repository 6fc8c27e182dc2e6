"""A Run: a search at work, which another thread may look at, pause, resume and stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError, WorkerLost
from workbench.measure.remote.tracker import Tracker
from workbench.targets import TargetLike, target_texts
from workbench.tune.background_run import Beside
from workbench.tune.budget import RECENT, Limit, Pace
from workbench.tune.evaluate import Effort, Evaluator
from workbench.tune.final_race import Finish
from workbench.tune.result import Result
from workbench.tune.runners import Devices, Here, Lanes
from workbench.tune.scheduler import Candidate, Flight
from workbench.tune.search import search
from workbench.tune.space import Space
from workbench.tune.trial import Best, Trial, best_of, failures, objectives_of
from workbench.tune.trial_log import Book, Log, default_path
from workbench.worker.parent import Progress, silent
from workbench.worker.reporting import reported


class Run(Beside[Result]):
    """One search, in this thread (`run`) or beside it (`start`). Everything else may be asked from any thread.

    Parameters
    ----------
    log
        What was opened, with its trials; None to keep none.
    race
        Seconds of the final race of the best against the default; 0 for none.
    """

    def __init__(
        self,
        workload: Workload,
        space: Space,
        targets: Sequence[str],
        objectives: tuple[str, ...],
        limit: Limit,
        effort: Effort,
        *,
        method: str = "auto",
        log: tuple[Log, list[Trial]] | None = None,
        race: float = 4.0,
    ) -> None:
        super().__init__()
        self.workload, self.space, self.targets, self.objectives = workload, space, tuple(targets), objectives
        self._effort, self._method = effort, method
        self._pace = Pace(limit, self.targets, self._control)
        self._evaluator = Evaluator(workload, objectives, effort, self._control.stopped)
        self._book = Book(*((None, []) if log is None else log), self._evaluator)
        self.resumed = len(self.trials)
        "trials that came from the log"
        self._lanes: Lanes = Here() if effort.remote is None else Devices(effort.remote)
        self._finish = Finish(self._evaluator, self._book, self._pace, race, self._at)

    # -- what may be asked

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All so far, those of the log first."""
        return self._book.trials

    @property
    def best_so_far(self) -> tuple[Best, ...]:
        """Each time that the first objective became better, for the first target."""
        return self.best_of(self.targets[0])

    def best_of(self, target: str) -> tuple[Best, ...]:
        """The same for any target."""
        return best_of(self.trials, target, self.objectives)

    @property
    def failures(self) -> dict[str, int]:
        """How many trials may not win, by status and reason, the most frequent first."""
        return failures(self.trials)

    @property
    def left(self) -> float | None:
        """Seconds that are probably left; None before the first trial of this run, 0 when it is over."""
        if self._status not in ("ready", "running"):
            return 0.0
        trials, limit = self.trials, self._pace.limit
        own = trials[self.resumed :][-RECENT:]
        if not own or not self._pace.begun:
            return None
        mean = sum(trial.seconds for trial in own) / len(own) / max(1, self._lanes.wide)
        most = self.space.size + 1 if limit.trials is None else min(limit.trials, self.space.size + 1)
        waiting = max(0, most * len(self.targets) - len(trials))
        return min(waiting * mean, max(0.0, limit.seconds - self._pace.elapsed))

    @property
    def spent(self) -> float:
        """The part of the budget that is spent, from 0 to 1."""
        return min(1.0, self._pace.elapsed / self._pace.limit.seconds)

    @property
    def overhead(self) -> float:
        """The part of the run so far in which the search chose and kept trials; the rest went into child processes."""
        elapsed = self._pace.elapsed
        return max(0.0, elapsed - self._lanes.waited - self._finish.seconds) / elapsed if elapsed else 0.0

    def result(self) -> Result:
        """What is known now; of a run that goes on too.

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
        """The same, of a run that failed too."""
        return Result(
            self.workload, self.targets, self.objectives, self.trials, self.overhead, dict(self._finish.verdicts)
        )

    # -- how it goes

    def _work(self) -> bool:
        self._pace.begin()
        try:
            if self._effort.remote is not None:
                self._effort.remote.check()
            return all(self._searched(target) for target in self.targets)
        finally:
            self._pace.end()

    def _searched(self, target: str) -> bool:
        """Whether the search for a target came to its end, and was not stopped."""
        try:
            self._search(target)
            self._finish.of(target)
        except WorkerLost as lost:
            if not self._control.stopped():
                raise
            self._doing = str(lost)
        return not self._control.stopped()

    def _search(self, target: str) -> None:
        chooser = search(self.space, len(self.objectives), self._effort.seed, self._method)
        for trial in self._book.of(target):
            if self._evaluator.enough(trial):
                chooser.tell(trial.chosen, trial.costs(self.objectives))
        flight = Flight(target, self.space, chooser, self._evaluator, self._lanes, self._book, self._pace, self._says)
        try:
            flight.fly()
        except BaseException:
            # what else is under way ends too, and nothing of it is kept
            self._control.stop()
            raise
        finally:
            self._lanes.close()

    def _says(self, underway: Sequence[Candidate]) -> None:
        if underway:
            numbers = ", ".join(str(candidate.number) for candidate in underway)
            labels = "; ".join(candidate.config.label for candidate in underway)
            self._at(f"Trial{'s' if len(underway) > 1 else ''} {numbers}: {labels}")
        elif self._lanes.wide == 0:
            self._at("Waiting for a device")
        else:
            self._tell()


def tune(
    workload: Workload, space: Space | None = None, targets: TargetLike | Iterable[TargetLike] = ("llvm",), **how: Any
) -> Result:
    """Search a space of configurations for the best one.

    Every candidate's passes are run first, which counts its kernels and hashes its final module: what is refused, what fails,
    what is like a candidate before it, and what is far behind in kernels and bytes is not built.

    Parameters
    ----------
    space, targets, how
        As `prepared` takes them.

    Returns
    -------
    Result
        `best`, `pareto`, `table`, `race`, `apply()`, `code()`. Ctrl-C ends the search and gives what was found.

    Raises
    ------
    WorkbenchError
        An argument is wrong, the log is of something else, or nothing can be measured for a target here.

    Examples
    --------
    >>> found = wb.tune(w, objective="kernels", budget=30)  # doctest: +SKIP
    >>> print(found.best.config.label, found.table["kernels"].min())  # doctest: +SKIP
    """
    with reported(how.pop("progress", None), f"Tuning {workload.name}") as report:
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
    timeout: float = 600.0,
    memory: int | None = None,
    store: bool = True,
    remote: Tracker | None = None,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> Run:
    """The run that `wb.tune` makes, not begun: `start()` runs it beside the notebook, where it can be paused and stopped.

    Parameters
    ----------
    space
        What may be chosen; by default `Space.of(workload)`: all passes that a PassContext can switch, and FuseOps' depth.
    targets
        As TVM writes them; each gets an equal part of the budget.
    budget
        Seconds for the search; a candidate that is begun is finished, and the checks and races of the best come on top.
    trials
        Candidates for each target, at most, those of the log counted.
    objective
        What is to be small: `time` (median of a run), `kernels`, `bytes` (that kernels hand to kernels), `build` (seconds); or
        several, for a front of candidates that none beats in all.
    method
        `auto`, `exhaustive` or `guided` (workbench/tune/search.py).
    seed
        Of the search and of the inputs. One seed gives one order of candidates where the objective is counted.
    log
        A file to which each candidate is written as it ends, and from which a later run goes on; True for one beside the file
        of measurements; None for none.
    each
        Seconds of timing a candidate.
    prune
        What has so many times the kernels and the traffic of the best is not built; None to build all. It is a guess: many
        small kernels can be faster than few.
    check
        Whether a candidate's outputs must be those of the reference. Where the objective is counted, those that would win are
        built and checked at the end.
    race
        Seconds of the final race of the best against the default, where time is an objective; 0 for none. If the best loses,
        up to two others are raced; if all lose, the default is the best.
    remote
        A tracker: as many candidates are tried at once as it has servers, those too that join meanwhile. A server that goes
        away costs no candidate. What the tracker asks for has the Tracker's priority.
    timeout, memory, store, executor
        As `wb.measure` takes them.
    progress
        Told of each candidate, in words and with the part of the budget that is spent.

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
    path = default_path(workload) if log is True else log or None
    opened = None if path is None else Log.opened(path, workload)
    run = Run(
        workload,
        Space.of(workload) if space is None else space,
        wanted,
        names,
        Limit(budget, trials),
        Effort(each, prune, check, timeout, memory, seed, store, remote, executor),
        method=method,
        log=opened,
        race=race,
    )
    run.listen(lambda run: progress(run.doing, run.spent))
    return run
