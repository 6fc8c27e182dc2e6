"""Rows measured on several devices at once: one child process a device, each taking the next row when it is done with one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from workbench.measure.remote.tracker import Tracker

MOST = 8
"devices used at once: each costs this machine a process that has TVM in it"
_choosing = threading.Lock()
_taken: set[int] = set()
"numbers of the child processes that measure on a device now"
_T = TypeVar("_T")
Task = Callable[[str, Callable[[], bool]], _T]
"given the role of its device's child process, and what says whether to stop"


def spread(tracker: Tracker, tasks: Sequence[Task[_T]]) -> Iterator[tuple[int, _T]]:
    """Do tasks on as many devices as the tracker has; gives (place in `tasks`, answer) as they come.

    Parameters
    ----------
    tasks
        Each is called in a thread.

    Raises
    ------
    MeasureError
        The tracker does not answer.
    """
    lanes = max(1, min(MOST, len(tasks), len(tracker.servers())))
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[int, _T | None, BaseException | None]] = queue.SimpleQueue()
    for place in range(len(tasks)):
        waiting.put(place)
    with _stopping() as stop:
        for _ in range(lanes):
            threading.Thread(target=_lane, args=(tasks, waiting, answers, stop), daemon=True).start()
        for _ in tasks:
            place, answer, error = answers.get()
            if error is not None:
                raise error
            yield place, answer  # pyright: ignore[reportReturnType]  it is None only beside an error


def _lane(
    tasks: Sequence[Task[_T]],
    waiting: queue.SimpleQueue[int],
    answers: queue.SimpleQueue[tuple[int, _T | None, BaseException | None]],
    stop: threading.Event,
) -> None:
    with own_role() as role:
        while not stop.is_set():
            try:
                place = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                answers.put((place, tasks[place](role, stop.is_set), None))
            except BaseException as error:  # noqa: BLE001  it is raised in the thread that waits for the rows
                answers.put((place, None, error))


@contextmanager
def own_role() -> Iterator[str]:
    """A child process that no other thread of this notebook uses; those of earlier measurements are used again first."""
    with _choosing:
        mine = next(number for number in count() if number not in _taken)
        _taken.add(mine)
    try:
        yield f"device {mine}"
    finally:
        with _choosing:
            _taken.discard(mine)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that is set when the block is left, in whatever way: Ctrl-C ends what the lanes do."""
    stop = threading.Event()
    try:
        yield stop
    finally:
        stop.set()
