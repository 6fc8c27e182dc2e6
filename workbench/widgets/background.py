"""Work beside the notebook: one thread, the newest request wins, and it can be cancelled."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

GRACE_SECONDS = 2.0
"""A request that a newer one replaces may still run this long: ending its build means starting a new child process, which
costs about as much."""


class Task:
    """One request, and whether it is still wanted."""

    def __init__(self, work: Callable[[Task], None]) -> None:
        self.work = work
        self._stop_at = float("inf")

    def cancelled(self) -> bool:
        """Whether to stop now; work asks this between its steps."""
        return time.monotonic() >= self._stop_at

    @property
    def wanted(self) -> bool:
        """Whether no newer request and no cancel has come."""
        return self._stop_at == float("inf")

    def give_up(self, after: float) -> None:
        self._stop_at = min(self._stop_at, time.monotonic() + after)

    def resume(self) -> bool:
        """Keep the request although a newer one replaced it; return False where it was cancelled."""
        if self.cancelled():
            return False
        self._stop_at = float("inf")
        return True


class Background:
    """Runs requests in a thread of its own, one at a time; a waiting request is replaced by a newer one.

    The thread ends when no request is left.
    """

    def __init__(self, name: str, failed: Callable[[Exception], None]) -> None:
        self._name = name
        self._failed = failed
        self._lock = threading.Condition()
        self._running: Task | None = None
        self._waiting: Task | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[Task], None]) -> None:
        """Ask for work; what runs now is given up after GRACE_SECONDS."""
        with self._lock:
            self._waiting = Task(work)
            if self._running is not None:
                self._running.give_up(GRACE_SECONDS)
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                self._thread.start()

    def cancel(self) -> None:
        """Give up what runs now and what waits."""
        with self._lock:
            self._waiting = None
            if self._running is not None:
                self._running.give_up(0.0)

    def withdraw(self) -> None:
        """Drop the waiting request; the running one goes on."""
        with self._lock:
            self._waiting = None
            self._lock.notify_all()

    def resume(self) -> bool:
        """Keep the running request although a newer one replaced it; return whether there is one to keep."""
        with self._lock:
            return self._running is not None and self._running.resume()

    def wait(self, timeout: float) -> bool:
        """Wait until there is nothing to do; whether that happened in time."""
        with self._lock:
            return self._lock.wait_for(lambda: self._running is None and self._waiting is None, timeout)

    def _loop(self) -> None:
        while (task := self._next()) is not None:
            try:
                task.work(task)
            except Exception as error:  # noqa: BLE001  the next request is still run; the widget shows the error
                show_failure(self._failed, error)

    def _next(self) -> Task | None:
        """Take the request that waits; without one the thread ends, and the next request starts another."""
        with self._lock:
            self._running, self._waiting = self._waiting, None
            if self._running is None:
                self._thread = None
                self._lock.notify_all()
            return self._running


def show_failure(show: Callable[..., None], *given: object) -> None:
    """Call what shows an error; where that fails too, since the notebook may be gone, the log of the kernel has both."""
    try:
        show(*given)
    except Exception:
        logging.getLogger(__name__).exception("while %r was shown", given[-1])


def busy(what: str, fraction: float | None = None) -> dict[str, Any]:
    """Return the progress of work as the page shows it: what is being done, and how far it is, from 0 to 1."""
    return {"what": what, "fraction": fraction, "since": time.time()}


class Throttle:
    """Passes calls on at most ten times a second: progress is for eyes."""

    def __init__(self, call: Callable[..., None], seconds: float = 0.1) -> None:
        self._call = call
        self._seconds = seconds
        # nothing is shown for work that is over sooner than this
        self._last = time.monotonic()

    def __call__(self, *arguments: Any) -> None:
        """Pass the call on, unless the last one was just now."""
        now = time.monotonic()
        if now - self._last >= self._seconds:
            self._last = now
            self._call(*arguments)
