"""A search in background threads: its log is read, it is started, and it is followed until it is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workbench.errors import WorkbenchError
from workbench.tune.run import Run
from workbench.widgets.background import Background

OVER = ("done", "stopped", "failed")
AT_WORK = ("running", "paused")
OFTEN = 0.4
"seconds between two looks at a search"


class Searching:
    """One Run after the other. A request, such as to begin, is done in a thread; another one looks at what is at work.

    Parameters
    ----------
    prepare
        Makes a Run that is not begun.
    show
        Called after everything that changes.
    """

    def __init__(self, prepare: Callable[[], Run], show: Callable[[], None]) -> None:
        self._prepare, self._show = prepare, show
        self.run: Run | None = None
        "None while its log is being read"
        self.trouble, self.busy = "", ""
        self._heard = threading.Event()
        self._follower: threading.Thread | None = None
        self._work = Background("workbench-tune", self._failed)

    # -- what may be asked, at any time

    def read(self) -> None:
        """Read the log; what is known is forgotten."""
        self.run = None
        self.do(self._opened, "Reading the log")

    def start(self) -> None:
        """Begin, or go on after a pause, after a stop, or from the log."""
        self.busy = self.busy or "Beginning"
        self._work.submit(lambda _: self._begin())

    def pause(self) -> None:
        """Begin no new candidate; the one in flight is finished."""
        if self.run is not None:
            self.run.pause()

    def stop(self) -> None:
        """End the search; the candidate in flight is given up."""
        if self.run is not None:
            self.run.stop()

    def do(self, act: Callable[[], object], busy: str) -> None:
        """Do something beside the notebook, and show what came of it or why nothing did."""
        self.busy = busy
        self._work.submit(lambda _: self._done(act))

    def wait(self, timeout: float) -> bool:
        """Wait until what was asked for is done and the search is over or paused; whether that was in time."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.asked(end - time.monotonic()) and not self._at_work():
                return True
            time.sleep(0.02)
        return False

    def asked(self, timeout: float) -> bool:
        """Wait until what was asked for is done, though the search may go on; whether that was in time."""
        return self._work.wait(max(0.0, timeout))

    def _at_work(self) -> bool:
        following = self._follower is not None and self._follower.is_alive()
        return following and self.run is not None and self.run.status != "paused"

    # -- what is done

    def _opened(self) -> None:
        self.run = self._prepare()

    def _done(self, act: Callable[[], object]) -> None:
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
        if self._follower is not None:
            self._follower.join()
        if self.run is None or self.run.status != "ready":
            self._done(self._opened)
        run = self.run
        if run is None or run.status != "ready":
            return
        run.listen(lambda _: self._heard.set())
        run.start()
        self._follower = threading.Thread(target=self._follow, args=(run,), name="workbench-tune-follow", daemon=True)
        self._follower.start()

    def _follow(self, run: Run) -> None:
        """Show the search until it is over; seldom, for each look may draw."""
        while run.status not in OVER:
            self._heard.wait(1.0)
            self._heard.clear()
            self._show()
            run.wait(OFTEN)
        self._show()

    def _failed(self, error: Exception) -> None:
        self.trouble, self.busy = f"The workbench itself failed: {type(error).__name__}: {error}", ""
        self._show()
