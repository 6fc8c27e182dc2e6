"""The scheduler of one target's candidates, and the runners that carry them out: here one at a time, or on a tracker's devices.

The run's thread takes all decisions; other threads only evaluate candidates. A candidate is in one place at a time: queued, under way,
waiting for another candidate with the same final module, or kept as a trial. None is dropped, and none is tried twice.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workbench.errors import NoServer
from workbench.experiments.engine import Budget
from workbench.experiments.tuning.evaluate import BuildInProgress, Evaluator
from workbench.experiments.tuning.search import Search
from workbench.experiments.tuning.space import Assignment, Space
from workbench.experiments.tuning.trial import Trial, key_of
from workbench.experiments.tuning.trial_log import Trials
from workbench.measurement.remote.devices import MOST_DEVICES
from workbench.measurement.remote.tracker import SERVERS, Tracker
from workbench.measurement.row import FAILED
from workbench.pipeline.config import Config

LOOK_SECONDS = 1.0
"interval of requests for the tracker's servers while candidates are under way, since one may have joined"
Job = Callable[[], Trial]


@dataclass(frozen=True)
class Outcome:
    """The trial or the error of one job."""

    number: int
    "the number with which it was submitted"
    trial: Trial | None
    error: BaseException | None = None

    @staticmethod
    def of(number: int, job: Job) -> Outcome:
        try:
            return Outcome(number, job())
        except Exception as error:  # noqa: BLE001  the thread that takes the outcomes raises it or retries
            return Outcome(number, None, error)


class Runner:
    """One job at a time, in the run's thread: parallel jobs on one machine would disturb each other's times."""

    def __init__(self) -> None:
        self.waited = 0.0
        "seconds that the thread which takes the outcomes only waited"
        self.capacity = 1
        "the latest result of `find_capacity`"
        self._submitted: list[tuple[int, Job]] = []

    def find_capacity(self) -> int:
        """Return the number of jobs that may be under way now; 0 where there is no device."""
        return self.capacity

    def submit(self, number: int, job: Job) -> None:
        self._submitted.append((number, job))

    def next_outcome(self) -> Outcome | None:
        """Return the next outcome; None when it is time to look at `find_capacity` again."""
        # runs in the run's own thread, where Ctrl-C reaches it
        outcome = Outcome.of(*self._submitted.pop(0))
        self.waited += 0.0 if outcome.trial is None else outcome.trial.working
        return outcome

    def count_again(self) -> None:
        """Make `find_capacity` count again, because a device went away."""

    def close(self) -> None:
        """Wait for jobs under way, which are cancelled, and discard their outcomes."""
        self._submitted.clear()


class RPCRunner(Runner):
    """One job at a time on each server of a tracker, including servers that join later."""

    def __init__(self, tracker: Tracker) -> None:
        super().__init__()
        self.capacity = 0
        self._tracker = tracker
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._looked, self._underway = -LOOK_SECONDS, 0

    def find_capacity(self) -> int:
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            try:
                self.capacity = min(MOST_DEVICES, len(self._tracker.servers()))
            except NoServer:
                self.capacity = 0  # a restarted tracker can be used again
        return self.capacity

    def submit(self, number: int, job: Job) -> None:
        self._underway += 1
        run = threading.Thread(target=lambda: self._outcomes.put(Outcome.of(number, job)), name=f"tune {number}")
        run.daemon = True
        run.start()

    def next_outcome(self) -> Outcome | None:
        begun = time.perf_counter()
        try:
            outcome = self._outcomes.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            return None
        finally:
            self.waited += time.perf_counter() - begun
        self._underway -= 1
        return outcome

    def count_again(self) -> None:
        self._looked = -LOOK_SECONDS

    def close(self) -> None:
        while self._underway:
            self.next_outcome()


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
        self._twins: list[tuple[Candidate, Trial, int]] = []
        "a candidate, its counts, and the number of the one under way that has the same final module"
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
        while self._budget.may_begin() and len(self._underway) < self._runner.find_capacity():
            candidate = self._queue.popleft() if self._queue else self._choose()
            if candidate is None:
                return
            self._underway[candidate.number] = candidate
            self._report()
            begun = (candidate.number, self._target, candidate.chosen, candidate.config)
            self._runner.submit(candidate.number, lambda begun=begun: self._evaluator.trial(*begun))

    def _choose(self) -> Candidate | None:
        """Return the next new candidate of the search; None where there is none, or no budget for it."""
        begun = self._known + len(self._underway) + len(self._twins)
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
        key = key_of(self._target, config)
        begun = [*self._underway.values(), *(twin for twin, *_ in self._twins)]
        return next((each for each in begun if key_of(self._target, each.config) == key), None)

    def _finish(self, candidate: Candidate, outcome: Outcome) -> None:
        error = outcome.error
        if outcome.trial is not None:
            self._keep(candidate, outcome.trial)
        elif isinstance(error, BuildInProgress):
            self._twins.append((candidate, error.trial, error.other))
        elif isinstance(error, NoServer):
            self._retry(candidate, error)
        elif error is not None:
            raise error
        # keep candidates whose final module is built by now, and queue those whose builder did not end with a result
        twins, self._twins = self._twins, []
        for twin, counted, other in twins:
            known = self._evaluator.cache.copy_result(counted)
            if known is not None:
                self._keep(twin, known)
            elif other in self._underway:
                self._twins.append((twin, counted, other))
            else:
                self._queue.append(twin)

    def _keep(self, candidate: Candidate, trial: Trial) -> None:
        self._trials.keep(trial)
        self._known = len(self._trials.of(self._target))
        self._report()
        for chosen in (candidate.chosen, *candidate.also):
            self._search.tell(chosen, trial.costs(self._evaluator.objectives))

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

    def _report(self) -> None:
        self._report_to(list(self._underway.values()))
