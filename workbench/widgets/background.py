"""Background jobs of the widgets: one thread for each part, newest request first, with cancel, progress and errors."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Protocol, TypedDict, TypeVar

from workbench.errors import WorkbenchError

Name = TypeVar("Name", bound=Hashable)

GRACE_SECONDS = 2.0
"""The time that a replaced request may still run: ending its build means starting a new child process, which takes about as
long."""
OFTEN_SECONDS = 0.1
"seconds between two reports of progress"


class Busy(TypedDict):
    """Progress of a request as the page shows it."""

    what: str
    fraction: float | None
    "from 0 to 1, where it is known"
    since: float


def sentence(error: Exception) -> str:
    """Return the sentence of an error that a user can cause, with its class for any other."""
    return str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"


class Task:
    """One request, with its cancel."""

    def __init__(
        self,
        work: Callable[[Task], None],
        failed: Callable[[Exception], None],
        show: Callable[[Busy | None], None],
    ) -> None:
        self._work = work
        self._failed = failed
        self._show = show
        self._since = time.time()
        self._shown: Busy | None = None
        self._report_at = 0.0
        self._stop_at = float("inf")

    def cancelled(self) -> bool:
        """Return whether to stop now; work checks this between its steps."""
        return time.monotonic() >= self._stop_at

    @property
    def wanted(self) -> bool:
        """Return whether the request was neither cancelled nor replaced by a newer one."""
        return self._stop_at == float("inf")

    def stop(self, after: float) -> None:
        """Stop after so many seconds."""
        self._stop_at = min(self._stop_at, time.monotonic() + after)

    def resume(self) -> bool:
        """Keep the request although a newer one replaced it; return False if it was cancelled."""
        if self.cancelled():
            return False
        self._stop_at = float("inf")
        return True

    def report(self, what: str, fraction: float | None = None, *, at_once: bool = False) -> None:
        """Show the progress: at most ten times a second, and not in the first tenth unless `at_once`."""
        now = time.monotonic()
        if at_once or now >= self._report_at:
            self._report_at = now + OFTEN_SECONDS
            self._shown = {"what": what, "fraction": fraction, "since": self._since}
            self._show(self._shown)

    def report_as(self, prefix: str) -> Callable[..., None]:
        """Return a function that reports progress after that prefix."""
        return lambda what, fraction=None: self.report(f"{prefix}: {what}", fraction)

    def drop(self) -> None:
        """Remove the progress of the request."""
        if self._shown:
            self._show(None)

    def run(self) -> None:
        """Do the work; show its error, and remove its progress at the end."""
        self._report_at = time.monotonic() + OFTEN_SECONDS
        try:
            if self._shown:
                # the end of the request before has removed it
                self._show(self._shown)
            try:
                self._work(self)
            finally:
                self.drop()
        except Exception as error:  # noqa: BLE001  the next request is still run; the widget shows the error
            _show_failure(self._failed, error)


class Background:
    """A thread for requests, which run one at a time. It ends when no request is left.

    Parameters
    ----------
    name
        Name of the thread.
    failed
        Called with the exception of a request.
    show
        Called with the progress of a request, and with None at its end.
    """

    def __init__(
        self, name: str, failed: Callable[[Exception], None], show: Callable[[Busy | None], None] = lambda _busy: None
    ) -> None:
        self._name = name
        self._failed = failed
        self._show = show
        self._lock = threading.Condition()
        self._running: Task | None = None
        self._waiting: dict[Hashable, Task] = {}
        self._thread: threading.Thread | None = None
        _ALL.add(self)

    def submit(self, work: Callable[[Task], None], what: str = "") -> None:
        """Run this instead of the waiting requests; the running one must stop after GRACE_SECONDS.

        `what` is shown as its progress from now on.
        """
        task = Task(work, self._failed, self._show)
        with self._lock:
            self._drop()
            if what:
                task.report(what, at_once=True)
            self._waiting = {None: task}
            if self._running is not None:
                self._running.stop(GRACE_SECONDS)
            self._start()

    def submit_first(
        self, requests: Mapping[Name, Callable[[Task], None]], failed: Callable[[Name, Exception], None]
    ) -> None:
        """Run these, in this order, before the waiting requests, each once; no request is replaced.

        `failed` is called with the name of a request and its exception.
        """
        with self._lock:
            tasks: dict[Hashable, Task] = {
                name: Task(work, partial(failed, name), self._show) for name, work in requests.items()
            }
            self._waiting = {**tasks, **{name: task for name, task in self._waiting.items() if name not in tasks}}
            self._start()

    def cancel(self) -> None:
        """Stop the running request, and drop the waiting ones."""
        with self._lock:
            self._drop()
            if self._running is not None:
                self._running.stop(0.0)

    def withdraw(self) -> None:
        """Drop the waiting requests; the running one continues."""
        with self._lock:
            self._drop()
            self._lock.notify_all()

    def resume(self) -> bool:
        """Keep the running request although a newer one replaced it; return whether there is one."""
        with self._lock:
            return self._running is not None and self._running.resume()

    def wait(self, timeout: float) -> bool:
        """Wait until no request is left; return whether that happened in time."""
        with self._lock:
            return self._lock.wait_for(lambda: self._running is None and not self._waiting, timeout)

    def _drop(self) -> None:
        dropped, self._waiting = self._waiting, {}
        for task in dropped.values():
            task.drop()

    def _start(self) -> None:
        if self._waiting and self._thread is None:
            self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
            self._thread.start()

    def _loop(self) -> None:
        while (task := self._next()) is not None:
            task.run()

    def _next(self) -> Task | None:
        """Take the first waiting request; without one the thread ends, and the next request starts another."""
        with self._lock:
            name = next(iter(self._waiting), None)
            self._running = self._waiting.pop(name, None)
            if self._running is None:
                self._thread = None
                self._lock.notify_all()
            return self._running


_ALL: weakref.WeakSet[Background] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Cancel all requests when Python ends: a thread inside TVM would abort the process."""
    every = list(_ALL)
    for background in every:
        background.cancel()
    wait_all(every, 2 * GRACE_SECONDS)


class Waitable(Protocol):
    """A part of a widget that works in the background."""

    def wait(self, timeout: float) -> bool:
        """Wait until no request is left; return whether that happened in time."""
        ...


def wait_all(parts: Iterable[Waitable], timeout: float) -> bool:
    """Wait for one part after the other; return whether all of them were done in time."""
    ends = time.monotonic() + timeout
    return all(part.wait(max(0.0, ends - time.monotonic())) for part in parts)


def _show_failure(show: Callable[[Exception], None], error: Exception) -> None:
    """Show an error; if that fails too, because the notebook may be closed, log both in the kernel."""
    try:
        show(error)
    except Exception:
        logging.getLogger(__name__).exception("while %r was shown", error)
