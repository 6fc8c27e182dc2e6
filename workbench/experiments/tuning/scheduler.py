"""The scheduler of one target's candidates, and the lanes in which they run: here one at a time, or on a tracker's devices.

The run's thread takes all decisions; other threads only evaluate candidates. A candidate is in one place at a time: queued, under way,
waiting for another candidate with the same final module, or kept as a trial. None is dropped, and none is tried twice.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial

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


class Lanes:
    """The lanes of jobs: one without a tracker, since parallel jobs on one machine would disturb each other's times.

    With a tracker there is one for each of its servers, including servers that join later.
    """

    def __init__(self, tracker: Tracker | None = None) -> None:
        self.waited = 0.0
        "seconds that the thread which takes the results only waited"
        self.capacity = 1 if tracker is None else 0
        "the latest result of `find_capacity`"
        self._tracker, self._looked = tracker, -LOOK_SECONDS

    def find_capacity(self) -> int:
        """Return the number of jobs that may be under way now; 0 where there is no device."""
        now = time.monotonic()
        if self._tracker is not None and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            try:
                self.capacity = min(MOST_DEVICES, len(self._tracker.servers()))
            except NoServer:
                self.capacity = 0  # a restarted tracker can be used again
        return self.capacity

    def count_again(self) -> None:
        """Make `find_capacity` count again, because a device went away."""
        self._looked = -LOOK_SECONDS

    def submit(self, job: Job) -> Future[Trial]:
        result: Future[Trial] = Future()
        if self._tracker is None:
            # in the run's own thread, where Ctrl-C reaches it
            _settle(result, job)
            self.waited += 0.0 if result.exception() else result.result().working
        else:
            # not a ThreadPoolExecutor: the end of the notebook would wait for its threads
            threading.Thread(target=_settle, args=(result, job), name="tune", daemon=True).start()
        return result

    def next_result(self, underway: Collection[Future[Trial]]) -> Future[Trial] | None:
        """Return a job that has ended; None when it is time to look at `find_capacity` again."""
        begun = time.perf_counter()
        ended, _ = wait(underway, LOOK_SECONDS, FIRST_COMPLETED)
        self.waited += time.perf_counter() - begun
        return next(iter(ended), None)


def _settle(result: Future[Trial], job: Job) -> None:
    try:
        result.set_result(job())
    except Exception as error:  # noqa: BLE001  the thread that takes the results raises it or retries
        result.set_exception(error)


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


@dataclass
class Scheduler:
    """The scheduler that submits the candidates of one target to lanes."""

    target: str
    space: Space
    search: Search
    evaluator: Evaluator
    lanes: Lanes
    trials: Trials
    budget: Budget
    report: Callable[[Sequence[Candidate]], None]
    "called with the candidates under way before another one begins, and after each kept one"
    _queue: deque[Candidate] = field(default_factory=deque)
    "candidates to begin before any new one"
    _underway: dict[Future[Trial], Candidate] = field(default_factory=dict)
    _twins: list[tuple[Candidate, Trial, int]] = field(default_factory=list)
    "a candidate, its counts, and the number of the one under way that has the same final module"
    _exhausted: bool = False

    def run(self) -> None:
        """Try candidates until the space is exhausted, the budget is spent, or the user stops the run.

        Raises WorkerLost: the run was stopped while candidates were under way, which are not kept. Raises NoDevice: nothing can
        be timed for the target.
        """
        if not self.trials.find(self.target, Config()):
            # the compiler's default is tried in any space, because the best is compared with it
            self._queue.append(Candidate(self.trials.next_number(), {}, Config()))
        while True:
            self._submit()
            if self._underway:
                ended = self.lanes.next_result(self._underway)
                if ended is not None:
                    self._finish(self._underway.pop(ended), ended)
            elif self._is_over():
                return
            else:
                self._report()
                if not self.budget.rest():
                    return

    def close(self) -> None:
        """Wait for candidates under way, which are cancelled."""
        wait(self._underway)

    @property
    def _known(self) -> int:
        return len(self.trials.of(self.target))

    def _is_over(self) -> bool:
        if self._queue:
            return not self.budget.has_time(self.target)
        return self._exhausted or not self.budget.has_room(self.target, self._known)

    def _submit(self) -> None:
        while self.budget.may_begin() and len(self._underway) < self.lanes.find_capacity():
            candidate = self._queue.popleft() if self._queue else self._choose()
            if candidate is None:
                return
            self._report(candidate)
            begun = candidate.number, self.target, candidate.chosen, candidate.config
            self._underway[self.lanes.submit(partial(self.evaluator.trial, *begun))] = candidate

    def _choose(self) -> Candidate | None:
        """Return the next new candidate of the search; None where there is none, or no budget for it."""
        begun = self._known + len(self._underway) + len(self._twins)
        while self.budget.has_room(self.target, begun):
            chosen = self.search.ask()
            if chosen is None:
                self._exhausted = True
                return None
            config = self.space.config_for(chosen)
            key = key_of(self.target, config)
            others = (*self._underway.values(), *(twin for twin, *_ in self._twins))
            same = next((each for each in others if key_of(self.target, each.config) == key), None)
            known = self.trials.find(self.target, config)
            if known is not None:
                self.search.tell(chosen, known.costs(self.evaluator.objectives))
            elif same is not None:
                same.also.append(chosen)
            else:
                return Candidate(self.trials.next_number(), chosen, config)
        return None

    def _finish(self, candidate: Candidate, ended: Future[Trial]) -> None:
        error = ended.exception()
        if error is None:
            self._keep(candidate, ended.result())
        elif isinstance(error, BuildInProgress):
            self._twins.append((candidate, error.trial, error.other))
        elif isinstance(error, NoServer):
            self._retry(candidate, error)
        else:
            raise error
        # keep candidates whose final module is built by now, and queue those whose builder did not end with a result
        numbers = {each.number for each in self._underway.values()}
        twins, self._twins = self._twins, []
        for twin, counted, other in twins:
            known = self.evaluator.cache.copy_result(counted)
            if known is not None:
                self._keep(twin, known)
            elif other in numbers:
                self._twins.append((twin, counted, other))
            else:
                self._queue.append(twin)

    def _keep(self, candidate: Candidate, trial: Trial) -> None:
        self.trials.keep(trial)
        self._report()
        for chosen in (candidate.chosen, *candidate.also):
            self.search.tell(chosen, trial.costs(self.evaluator.objectives))

    def _retry(self, candidate: Candidate, error: NoServer) -> None:
        """Queue a candidate again after its device went away; it fails after SERVERS devices."""
        self.evaluator.cache.release(candidate.number)
        self.lanes.count_again()
        candidate.lost += 1
        if candidate.lost < SERVERS:
            self._queue.appendleft(candidate)
        else:
            reason = f"devices went away {candidate.lost} times: {error}"
            begun = Trial(candidate.number, self.target, candidate.config, dict(candidate.chosen))
            self._keep(candidate, replace(begun, status=FAILED, reason=reason))

    def _report(self, *begins: Candidate) -> None:
        self.report([*self._underway.values(), *begins])
