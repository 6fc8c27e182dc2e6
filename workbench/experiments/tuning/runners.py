"""Runners of candidates: one at a time in the run's thread, or on the devices of a tracker, one thread each."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from workbench.errors import NoServer
from workbench.experiments.tuning.trial import Trial
from workbench.measurement.remote.devices import MOST_DEVICES
from workbench.measurement.remote.tracker import Tracker

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


class Runner(Protocol):
    """A runner of jobs. One thread submits them and takes the outcomes."""

    waited: float
    "seconds that the thread which takes the outcomes only waited"
    capacity: int
    "the latest result of `find_capacity`"

    def find_capacity(self) -> int:
        """Return the number of jobs that may be under way now; 0 where there is no device."""
        ...

    def submit(self, number: int, job: Job) -> None:
        """Submit a job."""
        ...

    def next_outcome(self) -> Outcome | None:
        """Return the next outcome; None when it is time to look at `find_capacity` again."""
        ...

    def count_again(self) -> None:
        """Make `find_capacity` count again, because a device went away."""
        ...

    def close(self) -> None:
        """Wait for jobs under way, which are cancelled, and discard their outcomes."""
        ...


class LocalRunner:
    """One job at a time, in the run's thread: parallel jobs on one machine would disturb each other's times."""

    def __init__(self) -> None:
        self.waited, self.capacity = 0.0, 1
        self._submitted: list[tuple[int, Job]] = []

    def find_capacity(self) -> int:
        return self.capacity

    def submit(self, number: int, job: Job) -> None:
        self._submitted.append((number, job))

    def next_outcome(self) -> Outcome | None:
        # runs in the run's own thread, where Ctrl-C reaches it
        number, job = self._submitted.pop(0)
        outcome = attempt(number, job)
        self.waited += 0.0 if outcome.trial is None else outcome.trial.working
        return outcome

    def count_again(self) -> None:
        """Do nothing, because this process cannot go away."""

    def close(self) -> None:
        self._submitted.clear()


class RPCRunner:
    """One job at a time on each server of a tracker, including servers that join later."""

    def __init__(self, tracker: Tracker) -> None:
        self.waited, self.capacity = 0.0, 0
        self._tracker = tracker
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._looked, self._underway = -LOOK_SECONDS, 0

    def find_capacity(self) -> int:
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self.capacity, self._looked = self._count_servers(), now
        return self.capacity

    def _count_servers(self) -> int:
        try:
            return min(MOST_DEVICES, len(self._tracker.servers()))
        except NoServer:
            return 0  # a restarted tracker can be used again

    def submit(self, number: int, job: Job) -> None:
        def run() -> None:
            self._outcomes.put(attempt(number, job))

        self._underway += 1
        threading.Thread(target=run, name=f"tune {number}", daemon=True).start()

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


def attempt(number: int, job: Job) -> Outcome:
    """Run a job and return its trial or its error."""
    try:
        return Outcome(number, job())
    except Exception as error:  # noqa: BLE001  the thread that takes the outcomes raises it or retries
        return Outcome(number, None, error)
