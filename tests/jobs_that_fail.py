"""Jobs for the child process that end badly; test_build_contract.py and test_process_faults.py send them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def crash(workload: Any, *, progress: Callable[..., None]) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(workload: Any, *, progress: Callable[..., None]) -> None:
    os._exit(3)


def fail(workload: Any, *, progress: Callable[..., None]) -> None:
    raise ValueError("first line\nthe reason")


def wait(workload: Any, *, progress: Callable[..., None], seconds: float = 60) -> str:
    progress("waiting", 0.5)
    time.sleep(seconds)
    return workload.name


def name(workload: Any, *, progress: Callable[..., None]) -> str:
    return workload.name


def seen(*, progress: Callable[..., None], variable: str) -> list[object]:
    """Return whether this process had TVM before its first job, the fork server's threads, and a variable."""
    server = parent(os.getppid())
    return ["tvm" in sys.modules, len(list(Path(f"/proc/{server}/task").iterdir())), os.environ.get(variable)]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def own_id(*, progress: Callable[..., None]) -> int:
    return os.getpid()


def program(*, progress: Callable[..., None], **_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fork(workload: Any, *, progress: Callable[..., None], then: str) -> str:
    """Go on in two processes; the copy returns, raises, leaves or reports."""
    if os.fork() == 0:
        time.sleep(0.2)
        if then == "raise":
            raise ValueError("the copy")
        if then == "leave":
            sys.exit(1)
        if then == "report":
            progress("the copy", None)
        return "the copy"
    os.wait()
    return workload.name


def exit_early(workload: Any, *, progress: Callable[..., None]) -> None:
    sys.exit(3)


def hang_up(workload: Any, *, progress: Callable[..., None]) -> None:
    os.closerange(3, 256)
    time.sleep(60)


def start_and_wait(workload: Any, *, progress: Callable[..., None], how: str, then: str) -> None:
    """Start a process, in a session of its own or with a parent that ends, and report its id; then wait or crash."""
    progress(f"started {_started(how)}", None)
    if then == "crash":
        crash(workload, progress=progress)
    # PyDLL keeps the interpreter's lock: no other thread runs meanwhile, as in a long C++ call
    ctypes.PyDLL(None).sleep(600)


def _started(how: str) -> int:
    if how != "orphan":
        return subprocess.Popen(["sleep", "600"], start_new_session=how == "session").pid
    shell = "setsid sleep 600 >/dev/null 2>&1 & echo $!"
    return int(subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, check=True).stdout)
