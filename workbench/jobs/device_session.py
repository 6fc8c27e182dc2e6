"""A session on a device of a tracker: send a library, run it, and take another device if the server goes away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

from tvm import rpc

from workbench.dialects.base import Workload
from workbench.dialects.facets import Running
from workbench.dialects.registry import dialect
from workbench.errors import MeasureError, NoDevice, NoServer, sentence
from workbench.measurement.remote.tracker import SERVERS, Lent, Tracker
from workbench.measurement.row import device_of
from workbench.worker.child import Progress

PROBE_SECONDS = 5.0
"after this time without an answer a session is dead"
RETURN_SECONDS = 5.0
"how long to wait for the only server to come back"
_T = TypeVar("_T")


class ServerLost(MeasureError):
    """The server went away while it worked for us."""


class NoAnswer(Exception):
    """No answer came in time. Not a TimeoutError: TVM raises that for a session that a server ended."""


class Session:
    """A device that the tracker lends for a while."""

    def __init__(self, lent: Lent, tracker: Tracker) -> None:
        self.lent = lent
        # whole seconds, which a server of any TVM reads
        self.remote = rpc.connect(lent.host, lent.port, lent.match, max(1, round(tracker.session_timeout)))

    def running(self, workload: Workload, library: Path, target: str, seed: int) -> Running:
        """Load the library on the device, with random inputs."""
        kind = device_of(target)
        device = self.remote.device(kind, 0)
        if not device.exist:
            raise NoDevice(f"the server {self.lent} has no {kind} device, so nothing was run")
        self.remote.upload(str(library))
        module = self.remote.load_module(library.name)
        return dialect(workload.dialect).compiler.running(workload, module, device, seed)

    def conditions(self, target: str) -> dict[str, object]:
        """Return the conditions that the server reports; a TVM server does not report its CPU."""
        kind = device_of(target)
        device = None if kind == "cpu" else self.remote.device(kind, 0)
        return {
            "server": str(self.lent),
            "threads": int(self.remote.get_function("runtime.NumThreads")()),
            "gpu": device.device_name if device else None,
            "gpu_clock_mhz": device.max_clock_rate / 1000 if device and device.max_clock_rate else None,
        }

    def alive(self) -> bool:
        """Return whether the server still answers."""
        with suppress(Exception):
            return within(PROBE_SECONDS, lambda: self.remote.get_function("runtime.NumThreads")() > 0)
        return False

    def close(self) -> None:
        """Give the device back at once; otherwise an error's traceback would hold it."""
        with suppress(Exception):
            within(PROBE_SECONDS, self.remote.get_function("CloseRPCConnection"))


def at_device(tracker: Tracker, work: Callable[[Session], _T], *, wait: float, progress: Progress) -> _T:
    """Call `work` with a device that the tracker lends, and return its result.

    Parameters
    ----------
    work
        Called again, with another session, if a server goes away meanwhile.
    wait
        Seconds to wait for a free device.

    Raises
    ------
    NoServer
        There is no such device now.
    MeasureError
        The work failed, or servers went away SERVERS times.
    """
    lost: list[str] = []
    while len(lost) < SERVERS:
        progress("Waiting for a device" if not lost else f"{lost[-1]} went away; waiting for another device")
        lent = _lent(tracker, wait, again=bool(lost))
        try:
            return _tried(tracker, lent, work)
        except ServerLost:
            lost.append(str(lent))
    raise MeasureError(
        f"{len(lost)} servers went away while this ran ({', '.join(lost)}): either they are faulty, or the program that they run ends them"
    )


def _lent(tracker: Tracker, wait: float, *, again: bool) -> Lent:
    """Return a device; wait for a server that went away and may come back."""
    deadline = time.monotonic() + (RETURN_SECONDS if again else 0.0)
    while True:
        try:
            tracker.check()
        except NoServer:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.2)
        else:
            return tracker.lent(wait)


def _tried(tracker: Tracker, lent: Lent, work: Callable[[Session], _T]) -> _T:
    started = time.monotonic()
    made: list[Session] = []

    def all_of_it() -> _T:
        made.append(Session(lent, tracker))
        return work(made[0])

    try:
        answer = within(tracker.session_timeout + PROBE_SECONDS, all_of_it)
    except NoAnswer as error:
        # A machine that was switched off never answers; TVM's client would wait for ever, even to close the session.
        raise ServerLost(f"the server {lent} does not answer") from error
    except Exception as error:
        verdict = _verdict(error, tracker, lent, bool(made) and made[0].alive(), time.monotonic() - started)
        _closed(made)
        raise verdict from error
    _closed(made)
    return answer


def _verdict(error: Exception, tracker: Tracker, lent: Lent, alive: bool, took: float) -> MeasureError:
    """Return the error by its cause: the program, the time limit, or the server."""
    if isinstance(error, MeasureError):
        return error
    if alive:
        # The TVM that has Relay drops the server's reason.
        reason = sentence(error)
        said = (
            "it failed there; the reason is in the server's own output" if reason.endswith("from RPC call:") else reason
        )
        return MeasureError(f"on the server {lent}: {said}")
    if took >= 0.95 * tracker.session_timeout or "SessionTimeout" in f"{type(error).__name__} {error}":
        return MeasureError(
            f"the server {lent} ended the session after {tracker.session_timeout:g} s; give "
            "Tracker(..., session_timeout=...) more, or measure with a smaller budget"
        )
    return ServerLost(f"the server {lent} went away: {sentence(error)}")


def _closed(made: list[Session]) -> None:
    for session in made:
        session.close()


def within(seconds: float, action: Callable[[], _T]) -> _T:
    """Return the result of `action`; raise NoAnswer after that many seconds, while it continues in a thread."""
    answers: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(action())
        except BaseException as error:  # noqa: BLE001  it is raised below, in the thread that waits
            errors.append(error)

    # in the context of the caller, whose program may be trusted
    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise NoAnswer(f"no answer within {seconds:g} s")
    if errors:
        raise errors[0]
    return answers[0]
