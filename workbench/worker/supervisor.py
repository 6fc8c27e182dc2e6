"""The parent of the child process, which ends it with all processes that it started.

It is a fork of the fork server (fork_server.py). It forks, and the copy becomes the child process (child.py). The supervisor
itself runs no job: it also acts while the child is in a long C++ call. On Linux it is the subreaper of all processes below it:
a process of any session that loses its parent becomes the supervisor's child. It ends them when the child ends, when the notebook
closes its socket, on SIGTERM, and when the fork server has ended, also by SIGKILL. The last that it sends is the child's wait status.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

LOOK_SECONDS = 0.5
"time between two looks at whether the parent still runs"
END_SECONDS = 5.0
"time to wait for processes that were killed"
_DEATH_SIGNAL, _SUBREAPER = 1, 36
"options of Linux's prctl"


def supervise(server: int, pipe: int, control: int, errors: int, *, serve: Callable[[int], None]) -> None:
    """Start the child process, which runs `serve`, wait for its end or the notebook's, and end all remaining processes."""
    supervisor = os.getpid()
    os.dup2(errors, 2)
    os.close(errors)
    _prctl(_SUBREAPER, 1)
    # The signal comes when the thread that forked ends, the parent's only one.
    _prctl(_DEATH_SIGNAL, signal.SIGTERM)
    child = os.fork()
    if child == 0:
        os.close(control)
        os.setsid()
        # This ends the child if the supervisor is killed.
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == supervisor:
            serve(pipe)
        return
    # the child alone has it, so that its end is seen at once
    os.close(pipe)
    status = _watch(child, server, control)
    _end_all(child)
    with suppress(OSError):
        os.write(control, str(status).encode())
    # without what the imports have left to do at the end of Python
    os._exit(0)


def _watch(child: int, server: int, control: int) -> int:
    """Return the child's wait status; that of a killed process if it must be ended."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    while os.getppid() == server:
        for pid, status in ended():
            if pid == child:
                return status
        woken, _, _ = select.select([reader, control], [], [], LOOK_SECONDS)
        if control in woken or (woken and signal.SIGTERM in os.read(reader, 512)):
            break
    # Python 3.10 writes the signal itself as its name
    return int(signal.SIGKILL)


def ended() -> Iterator[tuple[int, int]]:
    """Yield each process below this one that has ended, with its wait status."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found


def _end_all(child: int) -> None:
    """Kill the child's session and its descendants. Those of a killed process become children of this one."""
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        for pid in _children():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def _children() -> Iterator[int]:
    """Yield the ids of this process's children, including adopted ones; none without /proc."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # pid (name) state parent ...; a name may contain any character
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                yield int(path.parent.name)


def _prctl(option: int, value: int) -> None:
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
