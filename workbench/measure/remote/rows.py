"""Rows that others help with: builds on an executor's processes, runs on the devices of a tracker."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as StillWorking
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.errors import MeasureError, WorkbenchError, WorkerLost
from workbench.measure.remote.builders import submitted
from workbench.measure.remote.devices import spread
from workbench.measure.remote.targets import target_there
from workbench.measure.remote.tracker import Tracker
from workbench.measure.status import status_of
from workbench.measure.timing.reference import reference
from workbench.measure.timing.subject import Limits, Subject, measured
from workbench.pipeline.legal import check
from workbench.worker.parent import Worker, worker

POLL_SECONDS = 0.1
ELSEWHERE = ("cpu", "cpu_features", "cores", "threads", "gpu", "gpu_clock_mhz", "driver", "machine")
"conditions of this machine, which are not those of a device behind a tracker"


@dataclass(frozen=True)
class Part:
    """A row that is to be filled."""

    row: dict[str, Any]
    subject: Subject | None
    "None where the row is finished, because its pipeline failed"
    target: str


def measured_with(
    parts: Sequence[Part], how: Limits, executor: Executor | None, keep: Callable[[int, dict[str, Any]], None]
) -> None:
    """Fill each row.

    Builds are handed to the executor all at once. Without a tracker, runs begin when all builds are done: a time that is
    taken while the machine compiles is the compiler's too.

    Parameters
    ----------
    keep
        Called with the place of each row in `parts` and the row, when it is finished.

    Raises
    ------
    MeasureError
        The tracker does not answer, or no server offers the key.
    """
    parts = [part if how.tracker is None else _remote(part, how.tracker) for part in parts]
    if how.tracker is not None:
        how.tracker.check()
    with tempfile.TemporaryDirectory(prefix="tvm-workbench-") as folder:
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
    how: Limits,
    tracker: Tracker,
    keep: Callable[[int, dict[str, Any]], None],
) -> None:
    first = next((part.subject for part in parts if part.subject is not None), None)
    if first is not None and how.check:
        # once, here: every row asks for it, and those on other devices at the same time; a row also says why there is none
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
    """Parameters are written once, whatever the number of devices."""
    own.adopt(subject.program, worker().written(subject.program))


def _filled(part: Part, order: Future[Path] | None, how: Limits) -> dict[str, Any]:
    if part.subject is None:
        return part.row
    try:
        if how.cancelled():
            raise WorkerLost("cancelled before it was measured", "cancelled")
        _wait(order, how)
        subject = part.subject if order is None else replace(part.subject, folder=order.result())
    except WorkbenchError as error:
        return {**part.row, "status": status_of(error), "message": str(error)}
    return measured(subject, part.target, how, part.row)


def _wait(order: Future[Path] | None, how: Limits) -> None:
    """Until a build is done, well or not, or nobody wants it any more."""
    while order is not None and not order.done():
        how.progress("Building on the executor", None)
        with suppress(StillWorking, MeasureError):
            order.result(POLL_SECONDS)
        if how.cancelled():
            raise WorkerLost("cancelled while the executor built it", "cancelled")


def _ordered(executor: Executor, part: Part, how: Limits, folder: Path) -> Future[Path] | None:
    """The build of a row, begun; None for a row that is refused before any build, which says why when it is filled."""
    if part.subject is None:
        return None
    subject = part.subject
    try:
        check(subject.origin, subject.config)
    except WorkbenchError:
        return None
    folder.mkdir()
    target = part.target
    if how.tracker is None:
        target = worker().run("resolve_target", subject.program, {"target": target}, **how.of_a_job)
    written = worker().written(subject.program)
    return submitted(executor, subject.program, written, str(target), subject.build.to_data(), folder, how.timeout)


def _remote(part: Part, tracker: Tracker) -> Part:
    """The row of a device that isn't this machine, and its target, which gets nothing from this machine's CPU or GPU."""
    row = {**part.row, **dict.fromkeys(ELSEWHERE), "remote": str(tracker)}
    try:
        return Part(row, part.subject, target_there(part.target))
    except MeasureError as error:
        return Part({**row, "status": status_of(error), "message": str(error)}, None, part.target)
