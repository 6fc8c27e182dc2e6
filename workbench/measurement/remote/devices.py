"""Rows measured on several devices at once: one child process for each device, which takes one row after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as StillWorking
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from workbench.errors import MeasureError, WorkbenchError, WorkerLost
from workbench.measurement.build_and_time import MeasureOptions, Subject, measured, reference
from workbench.measurement.remote.executor import submitted
from workbench.measurement.remote.tracker import Tracker, target_there
from workbench.measurement.row import OF_THIS_MACHINE, Row
from workbench.pipeline.config import check_config
from workbench.temporary import temporary_folder
from workbench.worker.parent import worker

MOST_DEVICES = 8
"devices used at once: each needs a process with TVM on this machine"
_choosing = threading.Lock()
_taken: set[int] = set()
"numbers of the child processes that measure on a device now"


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
    """Fill each row, and call `keep` with its place when it is finished.

    The executor gets all builds at once. Without a tracker, runs begin when all builds are done: a compiler that runs at the
    same time would distort the times.
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
            keep(place, filled(part, how, order))


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
    stop = threading.Event()

    def fill(place: int) -> None:
        if stop.is_set():
            return
        part = parts[place]
        with own_role() as role:
            if part.subject is not None:
                # all devices use the same folder, so that parameters are written once
                worker(role).adopt(part.subject.program, worker().written(part.subject.program))
            mine = replace(how, role=role, cancelled=lambda: stop.is_set() or how.cancelled())
            keep(place, filled(part, mine, orders[place]))

    pool = ThreadPoolExecutor(max(1, min(MOST_DEVICES, len(parts), len(tracker.servers()))))
    try:
        for done in as_completed([pool.submit(fill, place) for place in range(len(parts))]):
            done.result()
    finally:
        # Ctrl-C ends the work of the others too
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def filled(part: Part, how: MeasureOptions, order: Future[Path] | None = None) -> Row:
    """Return the row of a part, measured here or on the device that `how` names, once its build is there."""
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
