"""The notebook's side of the child process: one job at a time, with limits, a cancel, and a restart after a crash.

Work that the user did not ask for runs in a child of its own, which is stopped while a job that the user asked for runs or waits.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from multiprocessing import util
from pathlib import Path
from typing import Any, TypedDict

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import (
    MeasureError,
    NoDevice,
    NoServer,
    NotRepeatable,
    OutOfMemory,
    TVMFailed,
    Untrusted,
    WorkerLost,
    check_seconds,
)
from workbench.temporary import new_folder
from workbench.worker import limits as amounts
from workbench.worker.child import Message, SentWorkload
from workbench.worker.launch import Child
from workbench.worker.limits import TIMEOUT

Progress = Callable[[str, "float | None"], None]


class JobOptions(TypedDict, total=False):
    """The limits of a job, and how it reports; keywords of `Worker.run`."""

    timeout: float
    memory: int | None
    progress: Progress
    cancelled: Callable[[], bool]


POLL_SECONDS = 0.05
CANCELLED = "cancelled; the next measurement starts a new process"
ENDED = "the notebook has ended, and what was under way with it"


def silent(_what: str, _fraction: float | None) -> None:
    """Report no progress."""


def never() -> bool:
    """Return False: the work is never cancelled."""
    return False


class Worker:
    """A child process that builds and times. It is started by the first job and lives until the notebook ends.

    `python`: that of another environment; None for this one's. `yields`: its jobs are stopped during those of other workers.
    `once`: each job has a child of its own.
    """

    def __init__(self, python: Path | None = None, *, yields: bool = False, once: bool = False) -> None:
        self._python, self._yields, self._once = python, yields, once
        self._free = threading.Lock()
        "held during a job"
        self._child: Child | None = None
        self._closed = False
        self._doing = ""
        "the progress of the current job"
        self._folders: weakref.WeakKeyDictionary[Workload, Path] = weakref.WeakKeyDictionary()
        self._root = new_folder()
        # Also in a process of multiprocessing, which ends without atexit; a forked copy of this process does not run it.
        util.Finalize(None, self.close, exitpriority=10)

    def run(
        self,
        job: str,
        workload: Workload | None,
        arguments: Mapping[str, object],
        *,
        timeout: float = TIMEOUT,
        memory: int | None = None,
        progress: Progress = silent,
        cancelled: Callable[[], bool] = never,
    ) -> dict[str, Any]:
        """Do one job and return its result; jobs of several threads wait for each other, and report that.

        `job` is a name in the table of `jobs/__main__.py`, called as `function(workload, progress=..., **arguments)`, without a
        workload if that is None. `memory`: bytes that the child may hold; None for nine tenths of the free memory.

        Raises MeasureError: the job failed; OutOfMemory if an allocation was refused. Raises WorkerLost: the child crashed, passed
        a limit, or was cancelled, as by the end of the notebook; `status` distinguishes these. The next job starts a new child.
        """
        check_seconds(timeout=timeout)
        with nullcontext() if self._yields else _asked_for(), self._turn(progress, cancelled):
            if self._closed:
                raise WorkerLost(ENDED, "cancelled")
            try:
                child, self._doing = self._started(progress, cancelled), ""
                most = amounts.limit(memory, amounts.resident(child.pid))
                sent = None if workload is None else self._sent(workload)
            except Exception:
                if self._closed:
                    raise WorkerLost(ENDED, "cancelled") from None
                raise
            message: Message = {"job": job, "workload": sent, "arguments": arguments, "memory": most}
            try:
                child.ask(message)
                return self._answer(child, _JobLimits(timeout, most, cancelled), progress)
            except MeasureError:
                raise
            except (EOFError, OSError):
                self._child = None
                if self._closed:
                    raise WorkerLost(ENDED, "cancelled") from None
                raise child.obituary(job.rpartition(":")[2], self._doing) from None
            except BaseException:
                # Ctrl-C: the child still works, and its answer must not be taken for that of the next job
                self.stop()
                raise
            finally:
                if self._once:
                    self.stop()

    @contextmanager
    def _turn(self, progress: Progress, cancelled: Callable[[], bool]) -> Iterator[None]:
        while not self._free.acquire(timeout=POLL_SECONDS):
            if cancelled():
                raise WorkerLost("cancelled before it began", "cancelled")
            progress(f"waiting for the work before it{self._doing and f' ({self._doing})'}", None)
        try:
            yield
        finally:
            self._free.release()

    def _answer(self, child: Child, limits: _JobLimits, progress: Progress) -> dict[str, Any]:
        while True:
            if self._yields and _asked:
                child.signal(signal.SIGSTOP)
                while _asked and not limits.cancelled():
                    time.sleep(POLL_SECONDS)
                    limits.deadline += POLL_SECONDS
                child.signal(signal.SIGCONT)
            answer = child.answer(POLL_SECONDS)
            if answer is not None:
                if answer["event"] == "failed":
                    raise _failure(answer)
                if answer["event"] != "progress":
                    return answer["result"]
                self._doing = answer["what"]
                progress(answer["what"], answer["fraction"])
            lost = limits.passed(child)
            if lost is not None:
                self.stop()
                raise lost

    def _sent(self, workload: Workload) -> SentWorkload:
        return {
            "dialect": workload.dialect,
            "name": workload.name,
            "trusted": workload.trusted,
            "shapes": dict(workload.shapes),
            "limits": workload.sent_limits(),
            "inputs": self._inputs(workload),
            "folder": str(self.written(workload)),
        }

    def _inputs(self, workload: Workload) -> str:
        """Return the file of a workload's inputs, which is written once; empty if it has none."""
        if not workload.inputs:
            return ""
        path = self.written(workload) / "inputs.npz"
        if not path.exists():
            arrays.save(str(path), workload.inputs)
        return str(path)

    def _started(self, progress: Progress, cancelled: Callable[[], bool]) -> Child:
        if self._child is not None and self._child.ready():
            return self._child
        self.stop()
        child = self._child = Child(self._python)
        try:
            while not child.greeted(POLL_SECONDS):
                progress("Starting TVM", None)
                _check_wanted(lambda: self._closed or cancelled())
        except BaseException:
            self.stop()
            raise
        return child

    @property
    def idle(self) -> bool:
        """Return whether there is a child without a job."""
        return self._child is not None and not self._free.locked()

    def stop(self) -> None:
        """End the child; the next job starts a new one."""
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def close(self) -> None:
        """End the child and remove its files. This cancels a running job of another thread."""
        self._closed = True
        self.stop()
        shutil.rmtree(self._root, ignore_errors=True)

    def adopt(self, workload: Workload, folder: Path) -> None:
        """Use a folder that another worker wrote for this workload; that worker removes it."""
        self._folders[workload] = folder

    def written(self, workload: Workload) -> Path:
        """Return the folder of the workload for the child; it is written once and removed with the workload."""
        folder = self._folders.get(workload)
        if folder is None:
            folder = Path(tempfile.mkdtemp(dir=self._root))
            dialect_of(workload).frontend.dump(workload, folder)
            self._folders[workload] = folder
            weakref.finalize(workload, _remove, folder, os.getpid())
        return folder


def _check_wanted(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise WorkerLost(CANCELLED, "cancelled")


def _remove(folder: Path, owner: int) -> None:
    """Remove a folder; a forked copy of the process that wrote it does nothing."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _failure(answer: dict[str, Any]) -> MeasureError:
    """Return the error of a failed job, of the same class as in the child if callers need the class."""
    message = answer["message"]
    if amounts.ran_out(message):
        return OutOfMemory(message)
    kinds = {kind.status: kind for kind in (NoDevice, NoServer, NotRepeatable, Untrusted)}
    return kinds.get(answer.get("status", ""), TVMFailed if answer["theirs"] else MeasureError)(message)


class _JobLimits:
    """Limits of a job, and the check that it keeps them."""

    def __init__(self, seconds: float, memory: int | None, cancelled: Callable[[], bool]) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.memory = memory
        self.cancelled = cancelled

    def passed(self, child: Child) -> WorkerLost | None:
        """Return the error of a job that must end now; None if it may continue."""
        if self.cancelled():
            return WorkerLost(CANCELLED, "cancelled")
        if time.monotonic() > self.deadline:
            return WorkerLost(
                f"no result within {self.seconds:g} s, so it was stopped; give a longer timeout or a smaller workload",
                "timeout",
            )
        held = amounts.resident(child.pid)
        if self.memory is not None and held > self.memory:
            return WorkerLost(
                f"it held {amounts.in_words(held)} of memory and may hold {amounts.in_words(self.memory)}, so it was "
                "stopped; give a larger memory= or a smaller workload",
                "out of memory",
            )
        return None


_workers: dict[tuple[int, str, Path | None], Worker] = {}
"by process id, role and Python: a forked copy of the notebook must not use the notebook's connections"
_making = threading.Lock()

BUILDS, UNASKED, LOADS = "builds", "unasked", "loads"
_role: ContextVar[str] = ContextVar("role", default=BUILDS)
_asked: list[object] = []
"the jobs that the user asked for and that run or wait"


@contextmanager
def _asked_for() -> Iterator[None]:
    job = object()
    _asked.append(job)
    try:
        yield
    finally:
        _asked.remove(job)


@contextmanager
def unasked(automatic: bool = True) -> Iterator[None]:
    """Let the builds of this block yield to everything that the user asks for, if they are automatic."""
    token = _role.set(UNASKED if automatic else _role.get())
    try:
        yield
    finally:
        _role.reset(token)


def worker(role: str = "", python: Path | None = None) -> Worker:
    """Return this notebook's child process for a role.

    `builds`, the default, keeps modules of traces; in `trials`, a pass may end it; in LOADS, each job has a new one.
    `python`: that of another environment, which has a process of its own for each role.
    """
    role = role or _role.get()
    key = (os.getpid(), role, python)
    with _making:
        if key not in _workers:
            _workers[key] = Worker(python, yields=role == UNASKED, once=role == LOADS)
        return _workers[key]


def counting_worker() -> Worker:
    """Return the child process for a job that keeps nothing: that of automatic work if it is idle, which has compiled the program."""
    automatic = _workers.get((os.getpid(), UNASKED, None))
    return automatic if automatic is not None and automatic.idle else worker()
