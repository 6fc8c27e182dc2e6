"""The progress of a call that takes longer than a second: a bar in a notebook's cell, a line in a terminal, else nothing.

The bar is plain HTML that is updated and then emptied. A bar of ipywidgets (tqdm's, rich's) would leave a widget in the cell,
which a notebook that is opened without its kernel shows as an error.
"""

from __future__ import annotations

import html
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from workbench.terminal import visible
from workbench.wording import one_line
from workbench.worker.parent import Progress, silent

DELAY = 1.0
"seconds before anything is shown"
EVERY = 0.5
"seconds between updates, so that the shown time also advances during a long step"
LONGEST = 160
"characters of a line in a notebook"
OUTPUT = "tvm-workbench-progress"
"key in the metadata of the cell's output"


class Cell:
    """An output of the cell that runs in a Jupyter kernel."""

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex
        self._begun = False

    def show(self, words: str, fraction: float | None) -> None:
        value = "" if fraction is None else f' value="{min(1.0, max(0.0, fraction)):.3f}"'
        self._display(f"<progress{value}></progress> {html.escape(one_line(words, LONGEST))}")

    def leave(self, words: str) -> None:
        if self._begun or words:
            self._display(html.escape(words))

    def _display(self, markup: str) -> None:
        from IPython.display import display

        data, metadata = {"text/html": markup}, {OUTPUT: True}
        display(data, metadata=metadata, raw=True, display_id=self._id, update=self._begun)
        self._begun = True


class Terminal:
    """A line on the error stream that is overwritten."""

    def show(self, words: str, fraction: float | None) -> None:
        part = "" if fraction is None else f"{min(1.0, max(0.0, fraction)):4.0%} "
        line = one_line(part + words, shutil.get_terminal_size().columns - 1)
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def leave(self, words: str) -> None:
        sys.stderr.write(f"\r\x1b[K{visible(words)}{words and chr(10)}")
        sys.stderr.flush()


Place = Cell | Terminal
"where progress is shown; `leave` removes it, and leaves words in its place, if there are any"


class Report:
    """The progress of one call; another thread shows it, so that the time advances during a long step."""

    def __init__(self, title: str, place: Place) -> None:
        self._title, self._place = visible(title), place
        self._doing, self._fraction = "", None
        self._begun, self._over = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="workbench-progress", daemon=True)

    def __call__(self, what: str, fraction: float | None = None) -> None:
        self._doing, self._fraction = visible(what), fraction

    def __enter__(self) -> Report:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        words = f"{self._title}: interrupted after {self._seconds()}" if interrupted else ""
        if words or time.monotonic() - self._begun >= DELAY:
            # a closed terminal loses these words, and the call keeps its result
            with suppress(OSError, ValueError):
                self._place.leave(f"{words} ({self._doing})" if words and self._doing else words)

    def _follow(self) -> None:
        wait = DELAY
        while not self._over.wait(wait):
            doing = f": {self._doing}" if self._doing else ""
            # a closed stream or kernel ends the display, and not the work
            with suppress(OSError, ValueError):
                self._place.show(f"{self._seconds()}  {self._title}{doing}", self._fraction)
            wait = EVERY

    def _seconds(self) -> str:
        seconds = int(time.monotonic() - self._begun)
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


def find_place() -> Place | None:
    """Return the place for progress; None without a terminal or notebook, and in a thread, whose widget shows its own."""
    if threading.current_thread() is not threading.main_thread():
        return None
    ipython: object = sys.modules.get("IPython")
    if hasattr(ipython and ipython.get_ipython(), "kernel"):
        return Cell()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


_under_way: list[Report] = []
"the report that the main thread shows now; a nested call shows none of its own"


def under_way() -> Progress:
    """Return the progress that the main thread shows now; `silent` if there is none, and in other threads."""
    is_main = threading.current_thread() is threading.main_thread()
    return _under_way[-1] if _under_way and is_main else silent


@contextmanager
def showing_progress(
    progress: Progress | None, title: str, place: Callable[[], Place | None] = find_place
) -> Iterator[Progress]:
    """Yield the caller's own progress, or one that is shown during the block.

    `progress`: `silent` to show nothing; None to show it. `title`: the work in a few words, "Measuring mlp".
    """
    shown = place() if progress is None and not _under_way else None
    if shown is None:
        yield silent if progress is None else progress
        return
    with Report(title, shown) as report:
        _under_way.append(report)
        try:
            yield report
        finally:
            _under_way.pop()
