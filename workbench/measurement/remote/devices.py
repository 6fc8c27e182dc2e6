"""Rows measured on several devices at once: one child process for each device, which takes one row after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as StillWorking
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from workbench.errors import MeasureError, WorkbenchError, WorkerLost
from workbench.measurement.build_and_time import MeasureOptions, Variant, measured, reference
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


def measured_with(
    variants: Sequence[Variant], how: MeasureOptions, executor: Executor | None, keep: Callable[[int, Row], None]
) -> None:
    """Fill each row, and call `keep` with its place when it is finished.

    The executor gets all builds at once. Without a tracker, runs begin when all builds are done: a compiler that runs at the
    same time would distort the times.
    """
    variants = [each if how.tracker is None else _remote(each, how.tracker) for each in variants]
    if how.tracker is not None:
        how.tracker.check()
    with temporary_folder() as folder:
        orders = [
            None if executor is None else _ordered(executor, each, how, Path(folder) / str(place))
            for place, each in enumerate(variants)
        ]
        if how.tracker is not None:
            _on_devices(variants, orders, how, how.tracker, keep)
            return
        for order in orders:
            _wait(order, how)
        for place, (each, order) in enumerate(zip(variants, orders, strict=True)):
            keep(place, filled(each, how, order))


def _on_devices(
    variants: Sequence[Variant],
    orders: Sequence[Future[Path] | None],
    how: MeasureOptions,
    tracker: Tracker,
    keep: Callable[[int, Row], None],
) -> None:
    first = next((each for each in variants if each.row.status is None), None)
    if first is not None and how.check:
        # once, here: every row needs it, on several devices at the same time; each row has the reason if there is none
        with suppress(MeasureError):
            reference(first.origin, how.seed, **how.of_a_job)
    stop = threading.Event()

    def fill(place: int) -> None:
        if stop.is_set():
            return
        variant = variants[place]
        with own_role() as role:
            if variant.row.status is None:
                # all devices use the same folder, so that parameters are written once
                worker(role).adopt(variant.program, worker().written(variant.program))
            mine = replace(how, role=role, cancelled=lambda: stop.is_set() or how.cancelled())
            keep(place, filled(variant, mine, orders[place]))

    pool = ThreadPoolExecutor(max(1, min(MOST_DEVICES, len(variants), len(tracker.servers()))))
    try:
        for done in as_completed([pool.submit(fill, place) for place in range(len(variants))]):
            done.result()
    finally:
        # Ctrl-C ends the work of the others too
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def filled(variant: Variant, how: MeasureOptions, order: Future[Path] | None = None) -> Row:
    """Return the row of a variant, measured here or on the device that `how` names, once its build is there."""
    if variant.row.status is not None:
        return variant.row
    try:
        if how.cancelled():
            raise WorkerLost("cancelled before it was measured", "cancelled")
        _wait(order, how)
        built = variant if order is None else replace(variant, folder=order.result())
    except WorkbenchError as error:
        return variant.row.failed(error)
    return measured(built, how)


def _wait(order: Future[Path] | None, how: MeasureOptions) -> None:
    """Wait until a build has ended or failed, or is cancelled."""
    while order is not None and not order.done():
        how.progress("Building on the executor", None)
        with suppress(StillWorking, MeasureError):
            order.result(POLL_SECONDS)
        if how.cancelled():
            raise WorkerLost("cancelled while the executor built it", "cancelled")


def _ordered(executor: Executor, variant: Variant, how: MeasureOptions, folder: Path) -> Future[Path] | None:
    """Start the build of a row. None for a row that is refused before the build; its message gives the reason later."""
    if variant.row.status is not None:
        return None
    try:
        check_config(variant.origin, variant.config)
    except WorkbenchError:
        return None
    folder.mkdir()
    program, target = variant.program, variant.target
    if how.tracker is None:
        target = worker().run("resolve_target", program, {"target": target}, **how.of_a_job)
    written = worker().written(program)
    return submitted(executor, program, written, str(target), variant.build.to_data(), folder, how.timeout)


def _remote(variant: Variant, tracker: Tracker) -> Variant:
    """Return a row for another machine's device, with a target that gets nothing from this machine's CPU or GPU."""
    there = replace(variant, row=replace(variant.row, remote=str(tracker), **dict.fromkeys(OF_THIS_MACHINE)))
    try:
        return replace(there, target=target_there(variant.target))
    except MeasureError as error:
        return there.failed(error)
