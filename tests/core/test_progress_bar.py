"""Progress of long calls: shown after a second in a notebook or a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from workbench.worker import progress as bar
from workbench.worker.progress import Terminal, find_place, showing_progress


class Shown(Terminal):
    """A place that keeps all it is given."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, float | None]] = []
        self.left: list[str] = []
        self.twice = threading.Event()

    def show(self, words: str, fraction: float | None) -> None:
        self.lines.append((words, fraction))
        if len(self.lines) > 1:
            self.twice.set()

    def leave(self, words: str) -> None:
        self.left.append(words)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bar, "DELAY", 0.01)
    monkeypatch.setattr(bar, "EVERY", 0.01)


def test_title_step_and_fraction_are_shown(quick: None) -> None:
    place = Shown()
    with showing_progress(None, "Measuring m", lambda: place) as progress:
        progress("opt 3 on llvm\x1b[2J", 0.5)
        assert place.twice.wait(30)
    words, fraction = place.lines[-1]
    assert words == "0 s  Measuring m: opt 3 on llvm\\x1b[2J"
    assert fraction == 0.5
    assert place.left == [""]


def test_short_call_shows_nothing() -> None:
    place = Shown()
    with showing_progress(None, "Measuring m", lambda: place) as progress:
        progress("opt 3", None)
    assert (place.lines, place.left) == ([], [])


def test_interrupt_leaves_a_note() -> None:
    place = Shown()

    def work() -> None:
        with showing_progress(None, "Measuring m", lambda: place) as progress:
            progress("opt 3", None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert place.left == ["Measuring m: interrupted after 0 s (opt 3)"]


def test_own_progress_is_called_and_nothing_shown(quick: None) -> None:
    place, heard = Shown(), []
    with showing_progress(lambda what, part: heard.append((what, part)), "Measuring m", lambda: place) as progress:
        progress("opt 3", 0.25)
    assert heard == [("opt 3", 0.25)]
    assert place.lines == []


def test_no_terminal_and_no_notebook_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert find_place() is None


def test_thread_of_a_widget_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    found = []
    thread = threading.Thread(target=lambda: found.append(find_place()))
    thread.start()
    thread.join()
    assert find_place() is not None
    assert found == [None]


SCRIPT = """
import time
from workbench.worker import progress as bar
bar.DELAY = bar.EVERY = 0.05
with bar.showing_progress(None, "Measuring m") as progress:
    progress("opt 3", 0.5)
    time.sleep(0.5)
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_line_in_a_terminal_and_nothing_in_a_pipe(terminal: bool) -> None:
    reading, writing = pty.openpty() if terminal else os.pipe()
    subprocess.run([sys.executable, "-c", SCRIPT], stderr=writing, check=True)
    os.close(writing)
    written = b""
    with suppress(OSError):  # the end of a terminal
        while piece := os.read(reading, 4096):
            written += piece
    os.close(reading)
    if not terminal:
        assert written == b""
        return
    assert b"\r\x1b[K 50% 0 s  Measuring m: opt 3" in written
    assert written.endswith(b"\r\x1b[K"), "the line is removed at the end"


def test_a_progress_that_python_calls_false_is_used() -> None:
    class Calls(list[str]):
        def __call__(self, what: str, fraction: float | None = None) -> None:
            self.append(what)

    calls = Calls()
    with showing_progress(calls, "Measuring") as report:
        report("Building", None)
    assert calls == ["Building"]


def test_another_thread_does_not_write_the_progress_of_the_main_one(quick: None) -> None:
    found: list[object] = []
    with showing_progress(None, "Measuring m", Shown) as progress:
        thread = threading.Thread(target=lambda: found.append(bar.under_way()))
        thread.start()
        thread.join()
        assert bar.under_way() is progress
    assert found == [bar.silent]
