"""The scheduler of one target's candidates, several at once: none is dropped, and none is tried twice.

The run's thread takes all decisions; other threads only evaluate candidates. A candidate is in one place
at a time: queued, under way, waiting for another candidate with the same final module, or kept as a trial.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workbench.errors import NoServer
from workbench.experiments.engine import Budget
from workbench.experiments.tuning.evaluate import BuildInProgress, Evaluator
from workbench.experiments.tuning.runners import Outcome, Runner
from workbench.experiments.tuning.search import Search
from workbench.experiments.tuning.space import Assignment, Space
from workbench.experiments.tuning.trial import Trial, key_of
from workbench.experiments.tuning.trial_log import Trials
from workbench.measurement.remote.tracker import SERVERS
from workbench.measurement.row import FAILED
from workbench.pipeline.config import Config


@dataclass(frozen=True)
class SearchContext:
    """The parts of a run that the searches of all its targets share."""

    evaluator: Evaluator
    runner: Runner
    trials: Trials
    budget: Budget


@dataclass
class Candidate:
    """A configuration with a number but without a trial yet."""

    number: int
    chosen: Assignment
    config: Config
    lost: int = 0
    "number of devices that went away while they ran this candidate"
    also: list[Assignment] = field(default_factory=list)
    "other choices with the same configuration"


class Scheduler:
    """The scheduler that submits the candidates of one target to a runner.

    Parameters
    ----------
    report
        Called with the candidates under way before another one begins, and after each kept one.
    """

    def __init__(
        self,
        target: str,
        space: Space,
        search: Search,
        context: SearchContext,
        report: Callable[[Sequence[Candidate]], None],
    ) -> None:
        self._target, self._space, self._search, self._report_to = target, space, search, report
        self._evaluator, self._runner = context.evaluator, context.runner
        self._trials, self._budget = context.trials, context.budget
        self._queue: deque[Candidate] = deque()
        "candidates to begin before any new one"
        self._underway: dict[int, Candidate] = {}
        self._twins: dict[int, list[tuple[Candidate, Trial]]] = {}
        "number of a candidate under way -> candidates with the same final module, and the counts of each"
        self._exhausted = False
        self._known = len(self._trials.of(target))
        "number of trials of the target"

    def run(self) -> None:
        """Try candidates until the space is exhausted, the budget is spent, or the user stops the run.

        Raises
        ------
        WorkerLost
            The run was stopped while candidates were under way; they are not kept.
        NoDevice
            Nothing can be timed for the target.
        """
        if not self._trials.find(self._target, Config()):
            # the compiler's default is tried in any space, because the best is compared with it
            self._queue.append(Candidate(self._trials.next_number(), {}, Config()))
        while True:
            self._submit()
            if self._underway:
                outcome = self._runner.next_outcome()
                if outcome is not None:
                    self._finish(self._underway.pop(outcome.number), outcome)
            elif self._is_over():
                return
            else:
                self._report()
                if not self._budget.rest():
                    return

    def _is_over(self) -> bool:
        if self._queue:
            return not self._budget.has_time(self._target)
        return self._exhausted or not self._budget.has_room(self._target, self._known)

    def _submit(self) -> None:
        """Begin candidates until the runner is full."""
        while self._budget.may_begin() and len(self._underway) < self._runner.find_capacity():
            candidate = self._queue.popleft() if self._queue else self._choose()
            if candidate is None:
                return
            self._underway[candidate.number] = candidate
            self._report()
            self._runner.submit(candidate.number, self._job(candidate))

    def _job(self, candidate: Candidate) -> Callable[[], Trial]:
        def job() -> Trial:
            return self._evaluator.trial(candidate.number, self._target, candidate.chosen, candidate.config)

        return job

    def _choose(self) -> Candidate | None:
        """Return the next new candidate of the search; None where there is none, or no budget for it."""
        begun = self._known + len(self._underway) + sum(map(len, self._twins.values()))
        while self._budget.has_room(self._target, begun):
            chosen = self._search.ask()
            if chosen is None:
                self._exhausted = True
                return None
            config = self._space.config_for(chosen)
            known, same = self._trials.find(self._target, config), self._find_begun(config)
            if known is not None:
                self._search.tell(chosen, known.costs(self._evaluator.objectives))
            elif same is not None:
                same.also.append(chosen)
            else:
                return Candidate(self._trials.next_number(), chosen, config)
        return None

    def _find_begun(self, config: Config) -> Candidate | None:
        """Return the candidate under way that has the same configuration, if any."""
        key = key_of(self._target, config)
        begun = [*self._underway.values(), *(twin for twins in self._twins.values() for twin, _ in twins)]
        return next((each for each in begun if key_of(self._target, each.config) == key), None)

    def _finish(self, candidate: Candidate, outcome: Outcome) -> None:
        if outcome.trial is not None:
            self._keep(candidate, outcome.trial)
        elif isinstance(outcome.error, BuildInProgress):
            self._wait_for_twin(candidate, outcome.error)
        elif isinstance(outcome.error, NoServer):
            self._retry(candidate, outcome.error)
        elif outcome.error is not None:
            raise outcome.error

    def _keep(self, candidate: Candidate, trial: Trial) -> None:
        self._trials.keep(trial)
        self._known = len(self._trials.of(self._target))
        self._report()
        for chosen in (candidate.chosen, *candidate.also):
            self._search.tell(chosen, trial.costs(self._evaluator.objectives))
        for twin, counted in self._twins.pop(candidate.number, []):
            self._settle(twin, counted)

    def _settle(self, twin: Candidate, counted: Trial) -> None:
        """Keep a candidate that waited for another with the same final module, or queue it again."""
        known = self._evaluator.cache.copy_result(counted)
        if known is None:
            self._queue.append(twin)
        else:
            self._keep(twin, known)

    def _wait_for_twin(self, candidate: Candidate, found: BuildInProgress) -> None:
        if found.other in self._underway:
            self._twins.setdefault(found.other, []).append((candidate, found.trial))
        else:
            self._settle(candidate, found.trial)

    def _retry(self, candidate: Candidate, error: NoServer) -> None:
        """Queue a candidate again after its device went away; it fails after SERVERS devices."""
        self._evaluator.cache.release(candidate.number)
        self._runner.count_again()
        candidate.lost += 1
        if candidate.lost < SERVERS:
            self._queue.appendleft(candidate)
        else:
            reason = f"devices went away {candidate.lost} times: {error}"
            begun = Trial(candidate.number, self._target, candidate.config, dict(candidate.chosen))
            self._keep(candidate, replace(begun, status=FAILED, reason=reason))
        for twin, counted in self._twins.pop(candidate.number, []):
            self._settle(twin, counted)

    def _report(self) -> None:
        self._report_to(list(self._underway.values()))
