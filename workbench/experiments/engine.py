"""The engine of a search: a run in this thread or in its own, its control from other threads, and its budget."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from typing_extensions import Self


class Control:
    """Pause, resume and stop of a run, from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paused = False
        self._stopped = False
        self._paused_at = 0.0
        "start of the current pause"
        self._ended_pauses = 0.0
        "seconds of earlier pauses"

    def pause(self) -> None:
        """Begin no new trial; a trial under way is finished."""
        self._set(paused=True)

    def resume(self) -> None:
        self._set(paused=False)

    def stop(self) -> None:
        """End now; a trial under way is cancelled, and the next run tries it again."""
        self._set(stopped=True)

    def _set(self, *, paused: bool | None = None, stopped: bool = False) -> None:
        with self._changed:
            was, now = self.paused, time.perf_counter()
            self._paused = self._paused if paused is None else paused
            self._stopped |= stopped
            if self.paused and not was:
                self._paused_at = now
            if was and not self.paused:
                self._ended_pauses += now - self._paused_at
            self._changed.notify_all()

    @property
    def paused(self) -> bool:
        return self._paused and not self._stopped

    @property
    def running_clock(self) -> float:
        with self._changed:
            now = self._paused_at if self.paused else time.perf_counter()
            return now - self._ended_pauses

    def stopped(self) -> bool:
        """Return whether to end now; the child process ends too."""
        return self._stopped

    def wait(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._paused)
        return not self._stopped


R = TypeVar("R")


class BackgroundRun(Generic[R]):
    """One search, in this thread (`run`) or in its own (`start`); any thread may call the other methods.

    A kind of search implements `_work` and `result`.
    """

    def __init__(self) -> None:
        self._control = Control()
        self._listeners: list[Callable[[Self], None]] = []
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._status, self._doing = "ready", ""
        self._failure: BaseException | None = None

    @property
    def status(self) -> str:
        """`ready`, `running`, `paused`, `stopped`, `done` or `failed`."""
        return "paused" if self._status == "running" and self._control.paused else self._status

    @property
    def doing(self) -> str:
        """The current step, in words."""
        return self._doing

    @property
    def error(self) -> str:
        """The reason of the failure; empty if there is none."""
        return "" if self._failure is None else str(self._failure)

    def result(self) -> R:
        """Return the result; raise if the run failed, or has none yet."""
        raise NotImplementedError

    def listen(self, listener: Callable[[Self], None]) -> None:
        """Call a function, in the run's thread, after each candidate and each change of status."""
        self._listeners.append(listener)

    def pause(self) -> None:
        """Begin no new candidate."""
        self._control.pause()
        self._notify()

    def resume(self) -> None:
        self._control.resume()
        self._notify()

    def stop(self) -> None:
        """End now. Candidates under way are not kept; all others are."""
        self._control.stop()

    def start(self) -> Self:
        """Run in a separate thread."""
        thread = threading.Thread(target=self._quietly, name=type(self).__name__, daemon=True)
        # a thread that has not started cannot be waited for
        with self._starting:
            thread.start()
            self._thread = thread
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the thread; return whether it has ended."""
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def run(self) -> R:
        """Search, and return the result. Ctrl-C ends the search and returns the result so far."""
        if self._status != "ready":
            raise WorkbenchError(
                "this run was begun before; a new one with the same log or folder goes on where it ended"
            )
        self._status = "running"
        try:
            self._status = "done" if self._work() else "stopped"
        except KeyboardInterrupt:
            self._control.stop()
            self._status = "stopped"
        except BaseException as error:
            self._control.stop()
            self._status, self._failure = "failed", error
            raise
        finally:
            self._at("")
        return self.result()

    def _work(self) -> bool:
        """Search; return whether the search ended by itself and was not stopped."""
        raise NotImplementedError

    def _quietly(self) -> None:
        try:
            self.run()
        except WorkbenchError:
            return  # `error` and `result` report it

    def _at(self, doing: str) -> None:
        self._doing = doing
        self._notify()

    def _notify(self) -> None:
        for listener in list(self._listeners):
            try:
                listener(self)
            except Exception:
                # the notebook of a panel may be closed; the search continues
                logging.getLogger(__name__).exception("a listener of a run failed")


RECENT = 20
"number of latest trials whose mean predicts the duration of the next"
REST_SECONDS = 0.2
"seconds between two checks for a device while there is none"


class Budget:
    """The limits of a run, and its clock without pauses: seconds, of which each target has an equal part, and trials for each target.

    A trial under way is finished; trials of the log count.
    """

    def __init__(self, seconds: float, trials: int | None, targets: Sequence[str], control: Control) -> None:
        self.seconds, self.trials = seconds, trials
        self._targets, self._control = tuple(targets), control
        self._begun, self._ended = 0.0, 0.0

    def begin(self) -> None:
        self._begun = self._control.running_clock

    def end(self) -> None:
        self._ended = self._control.running_clock

    @property
    def elapsed(self) -> float:
        """The seconds so far, or of the whole run once it is over."""
        return (self._ended or self._control.running_clock) - self._begun if self._begun else 0.0

    def may_begin(self) -> bool:
        return not self._control.paused and not self._control.stopped()

    def has_time(self, target: str) -> bool:
        return self.elapsed < self.seconds * (self._targets.index(target) + 1) / len(self._targets)

    def has_room(self, target: str, begun: int) -> bool:
        """Return whether a target with this number of candidates begun may have another one."""
        return self.has_time(target) and (self.trials is None or begun < self.trials)

    def wait(self) -> bool:
        return self._control.wait()

    def rest(self) -> bool:
        """Wait while paused, otherwise for REST_SECONDS; return whether to go on."""
        if self.may_begin():
            time.sleep(REST_SECONDS)
        return self.wait()


@dataclass(frozen=True)
class Best:
    """The best value so far, after a trial."""

    seconds: float
    "duration of all trials up to it"
    trial: int
    value: float
    "value of the first objective"


def improvements(trials: Iterable[tuple[float, int, float | None]]) -> tuple[Best, ...]:
    """Return the improvements of a value, of the duration, the number and the value of each trial; None if it has none."""
    found: list[Best] = []
    spent = 0.0
    for seconds, number, value in trials:
        spent += seconds
        if value is not None and (not found or value < found[-1].value):
            found.append(Best(spent, number, value))
    return tuple(found)
