"""Rows measured on several devices at once: one child process for each device, which takes one row after another."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from workbench.errors import MeasureError, WorkbenchError, WorkerLost
from workbench.measurement.build_and_time import MeasureOptions, Variant, measured, reference
from workbench.measurement.remote.executor import awaited, submitted
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


def measured_elsewhere(variants: Sequence[Variant], how: MeasureOptions) -> Iterator[tuple[int, Row]]:
    """Yield the place and the row of each variant as it ends.

    The executor gets all builds at once. Without a tracker, runs begin when all builds are done: a compiler that runs at the
    same time would distort the times.
    """
    tracker = how.tracker
    if tracker is not None:
        variants = [_remote(each, tracker) for each in variants]
        tracker.check()
    with temporary_folder() as folder:
        orders = [_ordered(each, how, Path(folder) / str(place)) for place, each in enumerate(variants)]
        if tracker is not None:
            yield from _on_devices(variants, orders, how, tracker)
            return
        # the row of a cancelled build says so
        with suppress(WorkerLost):
            for order in filter(None, orders):
                awaited(order, how.progress, how.cancelled)
        for place, (each, order) in enumerate(zip(variants, orders, strict=True)):
            yield place, measured(each, how, order)


def _on_devices(
    variants: Sequence[Variant], orders: Sequence[Future[Path] | None], how: MeasureOptions, tracker: Tracker
) -> Iterator[tuple[int, Row]]:
    first = next((each for each in variants if each.row.status is None), None)
    if first is not None and how.check:
        # once, here: every row needs it, on several devices at the same time; each row has the reason if there is none
        with suppress(MeasureError):
            reference(first.origin, how.seed, **how.of_a_job)
    stop = threading.Event()

    def fill(place: int) -> tuple[int, Row]:
        variant = variants[place]
        with own_role() as role:
            if variant.row.status is None:
                # all devices use the same folder, so that parameters are written once
                worker(role).adopt(variant.program, worker().written(variant.program))
            mine = replace(how, role=role, cancelled=lambda: stop.is_set() or how.cancelled())
            return place, measured(variant, mine, orders[place])

    pool = ThreadPoolExecutor(max(1, min(MOST_DEVICES, len(variants), len(tracker.servers()))))
    try:
        for done in as_completed([pool.submit(fill, place) for place in range(len(variants))]):
            yield done.result()
    finally:
        # Ctrl-C ends the work of the others too
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


def _ordered(variant: Variant, how: MeasureOptions, folder: Path) -> Future[Path] | None:
    """Start the build of a row. None without an executor, and for a row that is refused or cancelled: `measured` gives it its message."""
    if how.executor is None or variant.row.status is not None:
        return None
    program, target = variant.program, variant.target
    try:
        check_config(variant.origin, variant.config)
        if how.tracker is None:
            target = worker().run("resolve_target", program, {"target": target}, **how.of_a_job)
    except WorkbenchError:
        return None
    folder.mkdir()
    written = worker().written(program)
    return submitted(how.executor, program, written, str(target), variant.build.to_data(), folder, how.timeout)


def _remote(variant: Variant, tracker: Tracker) -> Variant:
    """Return a row for another machine's device, with a target that gets nothing from this machine's CPU or GPU."""
    there = replace(variant, row=replace(variant.row, remote=str(tracker), **dict.fromkeys(OF_THIS_MACHINE)))
    try:
        return replace(there, target=target_there(variant.target))
    except MeasureError as error:
        return replace(there, row=there.row.failed(error))
