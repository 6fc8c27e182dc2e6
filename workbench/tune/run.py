"""A Run: a search at work, which another thread may look at, pause, resume and stop."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.dialects.base import Workload
from workbench.errors import WorkerLost
from workbench.tune.beside import Beside
from workbench.tune.book import Book
from workbench.tune.evaluate import Effort, Evaluator
from workbench.tune.finish import Finish
from workbench.tune.flight import Candidate, Flight
from workbench.tune.lanes import Devices, Here, Lanes
from workbench.tune.log import Log
from workbench.tune.pace import RECENT, Limit, Pace
from workbench.tune.result import Result
from workbench.tune.search import search
from workbench.tune.space import Space
from workbench.tune.standing import Best, best_of, failures
from workbench.tune.trial import Trial


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
