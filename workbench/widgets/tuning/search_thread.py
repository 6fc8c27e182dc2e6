"""A search of a TunePanel: read its log, start it, and follow it until it is over, in background threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.errors import WorkbenchError
from workbench.experiments.tuning.run import Run
from workbench.widgets.background import Background

OVER = ("done", "stopped", "failed")
AT_WORK = ("running", "paused")
OFTEN = 0.4
"seconds between two checks of a search"


class Searching:
    """One Run after the other. One thread handles requests, such as to begin; another one watches the running search.

    Parameters
    ----------
    prepare
        Makes a Run that has not begun.
    show
        Called after every change.
    """

    def __init__(self, prepare: Callable[[], Run], show: Callable[[], None]) -> None:
        self._prepare, self._show = prepare, show
        self.run: Run | None = None
        "None while its log is being read"
        self.trouble, self.busy = "", ""
        self._heard = threading.Event()
        self._work = Background("workbench-tune", self._failed)
        self._following = Background("workbench-tune-follow", self._failed)

    # -- requests, at any time

    def read(self) -> None:
        """Read the log, and forget earlier results."""
        self.run = None
        self.do(self._opened, "Reading the log")

    def start(self) -> None:
        """Begin, or continue after a pause, after a stop, or from the log."""
        self.busy = self.busy or "Beginning"
        self._work.submit(lambda _: self._begin())

    def pause(self) -> None:
        """Begin no new candidate; the current one is finished."""
        if self.run is not None:
            self.run.pause()

    def stop(self) -> None:
        """End the search; the current candidate is cancelled."""
        if self.run is not None:
            self.run.stop()

    def do(self, act: Callable[[], object], busy: str) -> None:
        """Run an action in a background thread, and show its result or its error."""
        self.busy = busy
        self._work.submit(lambda _: self._finish(act))

    def wait(self, timeout: float) -> bool:
        """Wait until all requests are done and the search is over or paused; return whether that happened in time."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.asked(end - time.monotonic()) and not self._at_work():
                return True
            time.sleep(0.02)
        return False

    def asked(self, timeout: float) -> bool:
        """Wait until all requests are done, although the search may continue; return whether that happened in time."""
        return self._work.wait(max(0.0, timeout))

    def _at_work(self) -> bool:
        return self.run is not None and self.run.status != "paused" and not self._following.wait(0.0)

    # -- work in the threads

    def _opened(self) -> None:
        self.run = self._prepare()

    def _finish(self, act: Callable[[], object]) -> None:
        try:
            act()
            self.trouble = ""
        except WorkbenchError as error:
            self.trouble = str(error)
        finally:
            self.busy = ""
        self._show()

    def _begin(self) -> None:
        if self.run is not None and self.run.status == "paused":
            self.run.resume()
        elif self.run is None or self.run.status != "running":
            self._begin_anew()
        self.busy = ""
        self._show()

    def _begin_anew(self) -> None:
        if self.run is None or self.run.status != "ready":
            self._finish(self._opened)
        run = self.run
        if run is None or run.status != "ready":
            return
        run.listen(lambda _: self._heard.set())
        run.start()
        # a search that is over is shown to its end before this one
        self._following.submit(lambda _: self._follow(run))

    def _follow(self, run: Run) -> None:
        """Show the search until it is over, at long intervals, because each update may draw."""
        while run.status not in OVER:
            self._heard.wait(1.0)
            self._heard.clear()
            self._show()
            run.wait(OFTEN)
        self._show()

    def _failed(self, error: Exception) -> None:
        self.trouble, self.busy = f"The workbench itself failed: {type(error).__name__}: {error}", ""
        self._show()
