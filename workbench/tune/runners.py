"""Where candidates are tried: here, one at a time, or on the devices of a tracker, each in a thread of its own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from workbench.errors import NoServer
from workbench.measure.remote.devices import MOST
from workbench.measure.remote.tracker import Tracker
from workbench.tune.trial import Trial

LOOK_SECONDS = 1.0
"how often the tracker is asked how many servers it has, while something is under way: one may have come, or come back"
Task = Callable[[], Trial]


@dataclass(frozen=True)
class Answer:
    """How one task ended."""

    number: int
    "that it was begun with"
    trial: Trial | None
    error: BaseException | None = None


class Lanes(Protocol):
    """What takes candidates. One thread begins them and takes the answers."""

    waited: float
    "seconds in which the thread that takes the answers had nothing to do but wait"
    wide: int
    "what `width` said last"

    def width(self) -> int:
        """How many may be under way at once, now; 0 where there is no device."""
        ...

    def begin(self, number: int, task: Task) -> None:
        """Have it done."""
        ...

    def answer(self) -> Answer | None:
        """The next one that is over; None when it is time to look at `width` again."""
        ...

    def lost(self) -> None:
        """A device went away: `width` is to be found out anew."""
        ...

    def close(self) -> None:
        """Wait for what is under way, which was told to end, and forget it."""
        ...


class Here:
    """One candidate at a time, in the run's thread: a time that is taken while another one runs is the other's too."""

    def __init__(self) -> None:
        self.waited, self.wide = 0.0, 1
        self._begun: list[tuple[int, Task]] = []

    def width(self) -> int:
        return self.wide

    def begin(self, number: int, task: Task) -> None:
        self._begun.append((number, task))

    def answer(self) -> Answer | None:
        # in the run's own thread, where Ctrl-C reaches it
        number, task = self._begun.pop(0)
        answer = done(number, task)
        self.waited += 0.0 if answer.trial is None else answer.trial.working
        return answer

    def lost(self) -> None:
        """It is still here."""

    def close(self) -> None:
        self._begun.clear()


class Devices:
    """A tracker's: as many at once as it has servers, those that join later too."""

    def __init__(self, tracker: Tracker) -> None:
        self.waited, self.wide = 0.0, 0
        self._tracker = tracker
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._looked, self._underway = -LOOK_SECONDS, 0

    def width(self) -> int:
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self.wide, self._looked = self._servers(), now
        return self.wide

    def _servers(self) -> int:
        try:
            return min(MOST, len(self._tracker.servers()))
        except NoServer:
            return 0  # a tracker that is started again is as good as before

    def begin(self, number: int, task: Task) -> None:
        def do() -> None:
            self._answers.put(done(number, task))

        self._underway += 1
        threading.Thread(target=do, name=f"tune {number}", daemon=True).start()

    def answer(self) -> Answer | None:
        begun = time.perf_counter()
        try:
            answer = self._answers.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            return None
        finally:
            self.waited += time.perf_counter() - begun
        self._underway -= 1
        return answer

    def lost(self) -> None:
        self._looked = -LOOK_SECONDS

    def close(self) -> None:
        while self._underway:
            self.answer()


def done(number: int, task: Task) -> Answer:
    """Do it, well or not."""
    try:
        return Answer(number, task())
    except Exception as error:  # noqa: BLE001  it is raised, or made good, in the thread that takes the answers
        return Answer(number, None, error)
