"""Rows measured on several devices at once: one child process for each device, which takes one row after another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as StillWorking
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TypeVar

from workbench.errors import MeasureError, WorkbenchError, WorkerLost
from workbench.measurement.build_and_time import MeasureOptions, Subject, measured, reference
from workbench.measurement.remote.executor import submitted
from workbench.measurement.remote.tracker import Tracker, target_there
from workbench.measurement.row import OF_THIS_MACHINE, Row
from workbench.pipeline.config import check_config
from workbench.temporary import temporary_folder
from workbench.worker.parent import Worker, worker

MOST_DEVICES = 8
"devices used at once: each needs a process with TVM on this machine"
_choosing = threading.Lock()
_taken: set[int] = set()
"numbers of the child processes that measure on a device now"
_T = TypeVar("_T")
Task = Callable[[str, Callable[[], bool]], _T]
"called with the role of the device's child process, and a function that returns whether to stop"


def spread(tracker: Tracker, tasks: Sequence[Task[_T]]) -> Iterator[tuple[int, _T]]:
    """Run tasks on all of the tracker's devices; yield (index in `tasks`, answer) in order of completion.

    Parameters
    ----------
    tasks
        Each is called in a thread.

    Raises
    ------
    MeasureError
        The tracker does not answer.
    """
    lanes = max(1, min(MOST_DEVICES, len(tasks), len(tracker.servers())))
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
            yield place, answer  # pyright: ignore[reportReturnType]  it is None only with an error


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
    """Yield a child process that no other thread of this notebook uses; those of earlier measurements are reused first."""
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
    """Yield an event that is set whenever the block is left, so that Ctrl-C ends the work of the lanes."""
    stop = threading.Event()
    try:
        yield stop
    finally:
        stop.set()


POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Part:
    """A row to fill."""

    row: Row
    subject: Subject | None
    "None if the row is finished because its pipeline failed"
    target: str


def measured_with(
    parts: Sequence[Part], how: MeasureOptions, executor: Executor | None, keep: Callable[[int, Row], None]
) -> None:
    """Fill each row.

    The executor gets all builds at once. Without a tracker, runs begin when all builds are done: a compiler that runs at the
    same time would distort the times.

    Parameters
    ----------
    keep
        Called with the index of each row in `parts` and the row, when it is finished.

    Raises
    ------
    MeasureError
        The tracker does not answer, or no server offers the key.
    """
    parts = [part if how.tracker is None else _remote(part, how.tracker) for part in parts]
    if how.tracker is not None:
        how.tracker.check()
    with temporary_folder() as folder:
        orders = [
            None if executor is None else _ordered(executor, part, how, Path(folder) / str(place))
            for place, part in enumerate(parts)
        ]
        if how.tracker is not None:
            _on_devices(parts, orders, how, how.tracker, keep)
            return
        for order in orders:
            _wait(order, how)
        for place, (part, order) in enumerate(zip(parts, orders, strict=True)):
            keep(place, _filled(part, order, how))


def _on_devices(
    parts: Sequence[Part],
    orders: Sequence[Future[Path] | None],
    how: MeasureOptions,
    tracker: Tracker,
    keep: Callable[[int, Row], None],
) -> None:
    first = next((part.subject for part in parts if part.subject is not None), None)
    if first is not None and how.check:
        # once, here: every row needs it, on several devices at the same time; each row has the reason if there is none
        with suppress(MeasureError):
            reference(first.origin, how.seed, **how.of_a_job)

    def task(place: int) -> Callable[[str, Callable[[], bool]], None]:
        def do(role: str, stopped: Callable[[], bool]) -> None:
            mine = replace(how, role=role, cancelled=lambda: stopped() or how.cancelled())
            part = parts[place]
            if part.subject is not None:
                _share(worker(role), part.subject)
            keep(place, _filled(part, orders[place], mine))

        return do

    for _ in spread(tracker, [task(place) for place in range(len(parts))]):
        pass


def _share(own: Worker, subject: Subject) -> None:
    """Let all devices use the same folder, so that parameters are written once."""
    own.adopt(subject.program, worker().written(subject.program))


def _filled(part: Part, order: Future[Path] | None, how: MeasureOptions) -> Row:
    if part.subject is None:
        return part.row
    try:
        if how.cancelled():
            raise WorkerLost("cancelled before it was measured", "cancelled")
        _wait(order, how)
        subject = part.subject if order is None else replace(part.subject, folder=order.result())
    except WorkbenchError as error:
        return part.row.failed(error)
    return measured(subject, part.target, how, part.row)


def _wait(order: Future[Path] | None, how: MeasureOptions) -> None:
    """Wait until a build has ended or failed, or is cancelled."""
    while order is not None and not order.done():
        how.progress("Building on the executor", None)
        with suppress(StillWorking, MeasureError):
            order.result(POLL_SECONDS)
        if how.cancelled():
            raise WorkerLost("cancelled while the executor built it", "cancelled")


def _ordered(executor: Executor, part: Part, how: MeasureOptions, folder: Path) -> Future[Path] | None:
    """Start the build of a row. None for a row that is refused before the build; its message gives the reason later."""
    if part.subject is None:
        return None
    subject = part.subject
    try:
        check_config(subject.origin, subject.config)
    except WorkbenchError:
        return None
    folder.mkdir()
    target = part.target
    if how.tracker is None:
        target = worker().run("resolve_target", subject.program, {"target": target}, **how.of_a_job)
    written = worker().written(subject.program)
    return submitted(executor, subject.program, written, str(target), subject.build.to_data(), folder, how.timeout)


def _remote(part: Part, tracker: Tracker) -> Part:
    """Return a row for another machine's device, with a target that gets nothing from this machine's CPU or GPU."""
    row = replace(part.row, remote=str(tracker), **dict.fromkeys(OF_THIS_MACHINE))
    try:
        return Part(row, part.subject, target_there(part.target))
    except MeasureError as error:
        return Part(row.failed(error), None, part.target)
