"""Background work of the widgets: a widget's work has lanes, each a thread in which the newest request wins."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TypedDict, TypeVar

from workbench.errors import WorkbenchError

Name = TypeVar("Name", bound=Hashable)

GRACE_SECONDS = 2.0
"the time that a replaced request may still run: a new child process would load the program and build it again"
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
        self, work: Callable[[Task], None], failed: Callable[[Exception], None], show: Callable[[Busy | None], None]
    ) -> None:
        self._work, self._failed, self._show = work, failed, show
        self._since = time.time()
        self._shown: Busy | None = None
        self._report_at, self._stop_at = 0.0, float("inf")

    def cancelled(self) -> bool:
        """Return whether to stop now; work checks this between its steps."""
        return time.monotonic() >= self._stop_at

    @property
    def wanted(self) -> bool:
        """Return whether the request was neither cancelled nor replaced by a newer one."""
        return self._stop_at == float("inf")

    def stop(self, after: float) -> None:
        self._stop_at = min(self._stop_at, time.monotonic() + after)

    def resume(self) -> bool:
        """Keep the request although a newer one replaced it; return False if it was cancelled."""
        if self.cancelled():
            return False
        self._stop_at = float("inf")
        return True

    def report(self, what: str, fraction: float | None = None, *, at_once: bool = False) -> None:
        """Show the progress until the cancel: at most ten times a second, and not in the first tenth unless `at_once`."""
        now = time.monotonic()
        if now < self._stop_at and (at_once or now >= self._report_at):
            self._report_at = now + OFTEN_SECONDS
            self._shown = {"what": what, "fraction": fraction, "since": self._since}
            self._show(self._shown)

    def report_as(self, prefix: str) -> Callable[..., None]:
        """Return a function that reports progress after that prefix."""
        return lambda what, fraction=None: self.report(f"{prefix}: {what}", fraction)

    def drop(self) -> None:
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
    """A lane: a thread for requests, which run one at a time. It ends when no request is left.

    `failed` gets the exception of a request, and `show` its progress, and None at its end. Lanes with one lock can be waited for
    together.
    """

    def __init__(
        self,
        name: str,
        failed: Callable[[Exception], None],
        show: Callable[[Busy | None], None] = lambda _busy: None,
        lock: threading.Condition | None = None,
    ) -> None:
        self._name, self.failed, self._show = name, failed, show
        self._lock = lock or threading.Condition()
        self._running: Task | None = None
        self._waiting: dict[Hashable, Task] = {}
        self._thread: threading.Thread | None = None
        _ALL.add(self)

    def submit(self, work: Callable[[Task], None], what: str = "") -> None:
        """Run this instead of the waiting requests; the running one must stop after GRACE_SECONDS.

        `what` is shown as its progress from now on.
        """
        task = Task(work, self.failed, self._show)
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

    def submit_last(self, work: Callable[[Task], None], name: Hashable) -> None:
        """Run this after the waiting requests, instead of the last one if that has the same name."""
        with self._lock:
            last = next(reversed(self._waiting), None)
            place = last if isinstance(last, tuple) and last[0] == name else (name, object())
            self._waiting[place] = Task(work, self.failed, self._show)
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

    def resume(self) -> bool:
        """Keep the running request although a newer one replaced it; return whether there is one."""
        with self._lock:
            return self._running is not None and self._running.resume()

    @property
    def idle(self) -> bool:
        return self._running is None and not self._waiting

    def wait(self, timeout: float) -> bool:
        with self._lock:
            return self._lock.wait_for(lambda: self.idle, timeout)

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
            self._running = self._waiting.pop(next(iter(self._waiting), None), None)
            if self._running is None:
                self._thread = None
                self._lock.notify_all()
            return self._running


class Work:
    """The background work of a widget, in lanes by name; `show` gets a lane and its progress, and None at the end of a request."""

    def __init__(
        self,
        failed: Callable[[Exception], None],
        show: Callable[[str, Busy | None], None] = lambda _lane, _busy: None,
    ) -> None:
        self._failed, self._show = failed, show
        self._lock = threading.Condition()
        self._lanes: dict[str, Background] = {}

    def lane(self, name: str, failed: Callable[[Exception], None] | None = None) -> Background:
        """Return a lane, a new one if there is none of that name; `failed` takes its exceptions from now on."""
        with self._lock:
            if name not in self._lanes:
                shown = partial(self._show, name)
                self._lanes[name] = Background(f"workbench-{name}", self._failed, shown, self._lock)
            lane = self._lanes[name]
            lane.failed = failed or lane.failed
            return lane

    def cancel(self) -> None:
        for lane in list(self._lanes.values()):
            lane.cancel()

    def wait(self, timeout: float) -> bool:
        """Wait until no request is left in any lane; return whether that happened in time."""
        with self._lock:
            return self._lock.wait_for(lambda: all(lane.idle for lane in self._lanes.values()), timeout)


_ALL: weakref.WeakSet[Background] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Cancel all requests when Python ends: a thread inside TVM would abort the process."""
    every, ends = list(_ALL), time.monotonic() + 2 * GRACE_SECONDS
    for lane in every:
        lane.cancel()
    for lane in every:
        lane.wait(max(0.0, ends - time.monotonic()))


def _show_failure(show: Callable[[Exception], None], error: Exception) -> None:
    """Show an error; if that fails too, because the notebook may be closed, log both in the kernel."""
    try:
        show(error)
    except Exception:
        logging.getLogger(__name__).exception("while %r was shown", error)
