"""What a search is to whoever watches it: it runs here or in a thread beside, is paused, resumed and stopped, and tells its news."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from typing_extensions import Self


class Control:
    """What a run looks at between trials, and what ends the trial in flight."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paused = False
        self._stopped = False
        self._paused_at = 0.0
        "when the pause began that lasts"
        self._ended_pauses = 0.0
        "seconds"

    def pause(self) -> None:
        """Begin no new trial; the one in flight ends as it would."""
        self._set(paused=True)

    def resume(self) -> None:
        """Go on after a pause."""
        self._set(paused=False)

    def stop(self) -> None:
        """End now; the trial in flight is given up, and is tried again by whoever goes on."""
        self._set(stopped=True)

    def _set(self, paused: bool | None = None, stopped: bool | None = None) -> None:
        with self._changed:
            was, now = self.paused, time.perf_counter()
            self._paused = self._paused if paused is None else paused
            self._stopped = self._stopped if stopped is None else stopped
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
        """A clock, in seconds, that stands still in a pause."""
        with self._changed:
            now = self._paused_at if self.paused else time.perf_counter()
            return now - self._ended_pauses

    def stopped(self) -> bool:
        """Whether to end now; the child process is ended by it too."""
        return self._stopped

    def wait(self) -> bool:
        """Wait while paused; whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._paused)
        return not self._stopped


R = TypeVar("R")


class Beside(Generic[R]):
    """One search, in this thread (`run`) or beside it (`start`). Everything else may be asked from any thread.

    A kind of search says what it does (`_work`) and what came of it (`result`).
    """

    def __init__(self) -> None:
        self._control = Control()
        self._listeners: list[Callable[[Self], None]] = []
        self._thread: threading.Thread | None = None
        self._status, self._doing = "ready", ""
        self._failure: BaseException | None = None

    # -- what may be asked

    @property
    def status(self) -> str:
        """`ready`, `running`, `paused`, `stopped`, `done` or `failed`."""
        return "paused" if self._status == "running" and self._control.paused else self._status

    @property
    def doing(self) -> str:
        """What it is at, in words."""
        return self._doing

    @property
    def error(self) -> str:
        """Why it failed."""
        return "" if self._failure is None else str(self._failure)

    def result(self) -> R:
        """What came of it.

        Raises
        ------
        WorkbenchError
            The run failed, or there is nothing yet.
        """
        raise NotImplementedError

    # -- what may be done

    def listen(self, listener: Callable[[Self], None]) -> None:
        """Have it called, in the run's thread, after each candidate and each change of status."""
        self._listeners.append(listener)

    def pause(self) -> None:
        """Begin no new candidate."""
        self._control.pause()
        self._tell()

    def resume(self) -> None:
        """Go on after a pause."""
        self._control.resume()
        self._tell()

    def stop(self) -> None:
        """End now. What is in flight is not kept; whoever goes on finds all the others."""
        self._control.stop()

    def start(self) -> Self:
        """Run in a thread of its own."""
        self._thread = threading.Thread(target=self._quietly, name=type(self).__name__, daemon=True)
        self._thread.start()
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the thread; whether it is over."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def run(self) -> R:
        """Search, and give the result. Ctrl-C ends the search and gives what was found.

        Raises
        ------
        WorkbenchError
            Nothing can be measured here, or what was found cannot be kept.
        """
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
        """The search; whether it came to its end, and was not stopped."""
        raise NotImplementedError

    def _quietly(self) -> None:
        try:
            self.run()
        except WorkbenchError:
            return  # it is kept, and said by `error` and `result`

    def _at(self, doing: str) -> None:
        self._doing = doing
        self._tell()

    def _tell(self) -> None:
        for listener in list(self._listeners):
            try:
                listener(self)
            except Exception:
                # a panel whose notebook is gone cannot show anything; the search goes on
                logging.getLogger(__name__).exception("a listener of a run failed")
