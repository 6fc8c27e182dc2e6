"""Jobs that run a build of an executor, or run on a device of a tracker: another device is taken if its server goes away."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

import tvm
from tvm import rpc

from workbench.dialects.base import Workload
from workbench.dialects.compiler.built import device_of as own_device
from workbench.dialects.compiler.cuda_code import compiled_for_elsewhere
from workbench.dialects.compiler.running import Running
from workbench.dialects.registry import dialect
from workbench.errors import MeasureError, NoDevice, NoServer, sentence
from workbench.jobs.build import compiled, program_of
from workbench.jobs.run_build import compare, observed, run_conditions
from workbench.measurement.build_and_time import RaceRequest, TimeRequest
from workbench.measurement.remote.executor import LIBRARY, counts_in
from workbench.measurement.remote.tracker import SERVERS, Lent, Tracker
from workbench.measurement.repeats import HEATS, TURNS, Run, interleave, turns
from workbench.measurement.row import device_of
from workbench.pipeline.config import Config
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
        with suppress(Exception):
            return within(PROBE_SECONDS, lambda: self.remote.get_function("runtime.NumThreads")() > 0)
        return False

    def close(self) -> None:
        """Give the device back at once; otherwise an error's traceback would hold it."""
        with suppress(Exception):
            within(PROBE_SECONDS, self.remote.get_function("CloseRPCConnection"))


def at_device(tracker: Tracker, work: Callable[[Session], _T], *, wait: float, progress: Progress) -> _T:
    """Call `work` with a device that the tracker lends, with another one if its server goes away, and return its result.

    `wait`: seconds to wait for a free device. Raises NoServer: the tracker has no device now. Raises MeasureError: the work
    failed, or servers went away SERVERS times.
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
        made.clear()
        raise ServerLost(f"the server {lent} does not answer") from error
    except Exception as error:
        alive = bool(made) and made[0].alive()
        raise _verdict(error, tracker, lent, alive, time.monotonic() - started) from error
    else:
        return answer
    finally:
        for session in made:
            session.close()


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


def run_elsewhere(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Run `workbench.jobs.run_build.run` here or on a device, with a build from here or from an executor."""
    request = TimeRequest(**asked)
    with tempfile.TemporaryDirectory() as scratch:
        library, calls = _library(workload, request, Path(scratch), progress)
        program = program_of(workload, Config.of(dict(request.config)), progress)
        if request.tracker is not None:
            return _run_on_device(program, library, request, progress)
        progress("Loading")
        compiler = dialect(workload.dialect).compiler
        loaded = tvm.runtime.load_module(str(library))
        running = compiler.running(program, loaded, own_device(request.target), request.seed)
        return {
            "conditions": {},
            **observed(running, calls if request.per_kernel else None, request, progress, run_conditions),
        }


def _run_on_device(program: Workload, library: Path, request: TimeRequest, progress: Progress) -> dict[str, object]:
    assert request.tracker is not None
    lender = _lender(request.tracker)

    def work(session: Session) -> dict[str, object]:
        progress(f"Loading on {session.lent}")
        running = session.running(program, library, request.target, request.seed)
        conditions = _elsewhere(session.conditions(request.target), lender)
        answer = observed(running, None, request, progress, lambda: {"conditions": conditions})
        # Relay's kernels are called one by one, Relax's are timed by a function of this process: neither can be sent
        missing = "not timed one by one: TVM's RPC gives the whole only"
        return {**answer, **conditions, **({"kernel_method": missing} if request.per_kernel else {})}

    return at_device(lender, work, wait=request.tracker["wait"], progress=progress)


def _lender(tracker: Mapping[str, Any]) -> Tracker:
    """Return the tracker of a request, whose mapping also has `wait`: the seconds to wait for a device."""
    return Tracker(**{name: value for name, value in tracker.items() if name != "wait"})


def _library(
    workload: Workload, request: TimeRequest, scratch: Path, progress: Progress
) -> tuple[Path, Sequence[Mapping[str, object]]]:
    """Return the file of a build and its calls. The machine that loads it links it, and may be of another kind."""
    if request.folder is not None:
        found = counts_in(Path(request.folder))
        if found["tvm"] != tvm.__version__:
            raise MeasureError(
                f"the executor compiled with TVM {found['tvm']}, and this environment has {tvm.__version__}; "
                "give its workers the same environment"
            )
        return Path(request.folder) / LIBRARY, found["calls"]
    return _exported(workload, request.target, request.config, scratch / LIBRARY, progress)


def _exported(
    workload: Workload, target: str, config: Mapping[str, object], library: Path, progress: Progress
) -> tuple[Path, Sequence[Mapping[str, object]]]:
    with compiled_for_elsewhere():
        kept = compiled(workload, target, config, progress)
    kept.built.export(library)
    return library, kept.built.calls()


def _elsewhere(found: dict[str, object], tracker: Tracker) -> dict[str, object]:
    """Return the conditions of a row measured on another machine, whose unknown ones are None.

    `machine` distinguishes trackers, keys and kinds of device; boards under one key count as the same.
    """
    parts = ("remote", tracker.host, tracker.key, str(found["gpu"]), str(found["threads"]))
    return {**found, "machine": hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]}


def race_on_device(workload: Workload, *, progress: Progress, **asked: Any) -> dict[str, object]:
    """Run `workbench.jobs.run_build.race` on a device: both use the same one, in one session, in turn."""
    request = RaceRequest(**asked)
    assert request.tracker is not None
    with tempfile.TemporaryDirectory() as scratch:
        libraries = [Path(scratch, f"{which}.tar") for which in range(len(request.configs))]
        for config, library in zip(request.configs, libraries, strict=True):
            _exported(workload, request.target, config, library, progress)
        programs = [program_of(workload, Config.of(dict(config)), progress) for config in request.configs]

        def work(session: Session) -> dict[str, object]:
            def loaded(which: int, heat: str) -> Running:
                # a name of its own, so that a loaded library is not overwritten
                named = libraries[which].with_name(f"{which}-{heat}-{session.lent.port}.tar")
                os.link(libraries[which], named)
                return session.running(programs[which], named, request.target, request.seed)

            def load(heat: int) -> list[Run]:
                found = {place: loaded(TURNS[place], f"{heat}-{place}") for place in turns(heat)}
                return [found[place].run for place in range(len(TURNS))]

            progress(f"Racing on {session.lent}", 0.0)
            expected = request.reference
            checks = [compare(loaded(which, "check"), expected, progress) if expected else {} for which in (0, 1)]
            times = interleave(load, request.budget, lambda fraction: progress(f"Racing on {session.lent}", fraction))
            method = f"in turn, in one session of the server {session.lent}, loaded anew {HEATS} times"
            return {**times, "checks": checks, "target": request.target, "method": method}

        return at_device(_lender(request.tracker), work, wait=request.tracker["wait"], progress=progress)
