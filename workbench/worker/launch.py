"""Start the child process, end it, and describe its end in words."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing import Pipe, util
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Any

from workbench.environments.doctor import variables
from workbench.errors import WorkerLost, reason
from workbench.temporary import new_folder
from workbench.worker import limits
from workbench.worker.child import EMPTY, Message
from workbench.worker.host import allowed
from workbench.worker.supervisor import END_SECONDS

PROGRAM = "workbench.jobs"
"the package whose `__main__` is the program of the child process"
START_SECONDS = 600.0
"of a child, whose fork server may have to import TVM first"
FRAMES = 4
"top frames that identify a crash"
_FRAME = re.compile(r'\s*File "[^"]*", line \d+,? in (?P<name>[^(<\n]+)')
"a line of TVM's stack or of Python's faulthandler"
_MALLOC = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=60000"}
"Each thread keeps small blocks that are freed: a pass of TVM frees a whole module, which is a fifth of its time otherwise."
_NOT_TVM = ("0x", "Py", "_Py", "__GI_", "__libc", "raise", "abort")


READ_AT_START = ("PYTHON", "LD_", "TVM_", "OMP_", "OPENBLAS_", "MKL_")
"""The beginnings of variables that Python or a library reads when it is loaded: a child process under others needs another fork
server."""


def _variables(python: Path | None) -> dict[str, str]:
    """Return the variables of a child process; another environment's Python imports the same workbench if this is a checkout."""
    found = dict(os.environ)
    if python is not None:
        root = Path(__file__).parents[2]
        found = variables() if root.name == "site-packages" else {**variables(), "PYTHONPATH": str(root)}
    return {**_MALLOC, **found, "TOPHUB_LOCATION": "NONE"}


class ForkServer:
    """The process that forks the children of one Python (fork_server.py). Raises WorkerLost: that Python cannot be started."""

    def __init__(self, python: Path | None) -> None:
        given = _variables(python)
        self.key = {name: value for name, value in given.items() if name.startswith(READ_AT_START)}
        self._errors: IO[str] = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115  it lives as long as the process
        # no other process can connect to it
        self._requests, theirs = socket.socketpair()
        cores = json.dumps(sorted(allowed()))
        command = [python or sys.executable, "-m", PROGRAM, str(os.getpid()), str(theirs.fileno()), cores]
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    env=given,
                    # Python imports from the working folder first, and TVM reads files there
                    cwd=new_folder(),
                    # a Ctrl-C in the notebook must not reach it
                    start_new_session=True,
                )
            except OSError as error:
                self._requests.close()
                self._errors.close()
                raise WorkerLost(f"{command[0]} cannot be started: {reason(error)}; check the path") from None
        # children are ended before, and temporary files after it
        util.Finalize(self, _end_server, (self._requests, self._process, self._errors), exitpriority=8)

    def serves(self, python: Path | None) -> bool:
        """Return whether it runs, under the variables of a child that starts now."""
        now = _variables(python).items()
        return self._process.poll() is None and self.key == {k: v for k, v in now if k.startswith(READ_AT_START)}

    def fork(self, *files: int) -> None:
        """Let it start a supervisor and a child with these files."""
        with suppress(OSError):  # it has ended, which its child's greeting shows
            socket.send_fds(self._requests, [b"."], files)

    def last_words(self) -> str:
        return _error_in(self._errors)


def _end_server(requests: socket.socket, process: subprocess.Popen[bytes], errors: IO[str]) -> None:
    requests.close()
    process.wait()
    errors.close()


_servers: dict[tuple[int, Path | None], ForkServer] = {}
"by process id and Python; a server under older variables lives as long as its children"
_starting = threading.Lock()


def fork_server(python: Path | None = None) -> ForkServer:
    """Return the fork server of a Python, None for this one's; start it without waiting for its imports if there is none."""
    key = os.getpid(), python
    with _starting:
        if key not in _servers or not _servers[key].serves(python):
            _servers[key] = ForkServer(python)
        return _servers[key]


class Child:
    """A running child process, with its supervisor, the connection to it, and its error stream.

    `pid` is the child's own, from its greeting on. `python`: that of another environment; None for this one's.
    Raises WorkerLost: it did not start.
    """

    def __init__(self, python: Path | None = None) -> None:
        self.kills = limits.kills()
        self._server = fork_server(python)
        self._folder = new_folder()
        "its temporary files, which end with it"
        (self._folder / EMPTY).mkdir()
        self.stderr: IO[str] = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115  it lives as long as the child
        # no other process can connect to them, and they end with the child
        self.connection, pipe = Pipe()
        self._control, control = socket.socketpair()
        self._status: int | None = None
        with pipe, control:
            self._server.fork(pipe.fileno(), control.fileno(), self.stderr.fileno())
        self.pid: int
        "set by the greeting: a signal to process 0 would reach the notebook"
        self._number = 0
        self._deadline = time.monotonic() + START_SECONDS
        with suppress(OSError):  # the greeting shows that it has ended
            self.connection.send_bytes(json.dumps({**_variables(python), "TMPDIR": str(self._folder)}).encode())

    def greeted(self, seconds: float) -> bool:
        """Wait for the first message, which has its process id; return whether it has come. Raises WorkerLost: it did not start."""
        try:
            if self.connection.poll(seconds):
                self.pid = json.loads(self.connection.recv_bytes())["pid"]
        except (EOFError, OSError):
            raise self.obituary("start") from None
        if not hasattr(self, "pid") and time.monotonic() > self._deadline:
            self.end()
            raise WorkerLost(f"the child process did not start within {START_SECONDS:g} s; try again")
        return hasattr(self, "pid")

    def wait(self, seconds: float) -> int | None:
        """Return the child's exit code once all its processes have ended, negative for a signal; None if they run after that time."""
        if self._status is None and wait([self._control], seconds):
            said = b""
            with suppress(OSError):
                # another thread may wait too
                said = self._control.recv(16, socket.MSG_PEEK)
            # without a word the supervisor was killed, which kills the child
            self._status = os.waitstatus_to_exitcode(int(said or signal.SIGKILL))
        return self._status

    def alive(self) -> bool:
        return self.wait(0) is None

    def signal(self, number: int) -> None:
        """Send a signal to the child and the processes of its session."""
        with suppress(OSError):
            os.killpg(self.pid, number)

    def ready(self) -> bool:
        """Return whether the child can take a job. Drops its messages since the last answer."""
        with suppress(EOFError, OSError):
            while self.connection.poll():
                self.connection.recv_bytes()
            return self.alive()
        return False

    def ask(self, message: Message) -> None:
        self._number += 1
        self.connection.send_bytes(json.dumps({**message, "number": self._number}).encode())

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message about the current job; None without one, or if it is of another process or job.

        Raises EOFError: the child ended.
        """
        if not self.connection.poll(seconds):
            if not self.alive():
                raise EOFError
            return None
        message = json.loads(self.connection.recv_bytes())
        return message if (message["pid"], message["number"]) == (self.pid, self._number) else None

    def obituary(self, job: str, doing: str = "") -> WorkerLost:
        """Return the error for a child that ended by itself, with its end, its last error and its last progress; end its remaining processes."""
        how, killed = self._end()
        words, frames = _error_in(self.stderr) or self._server.last_words(), self._frames()
        by_system = killed and limits.kills() > self.kills
        self.end()
        if by_system:
            how += ", by the system, because memory ran out,"
        said = f" (it said: {words[:200]})" if words else ""
        return WorkerLost(
            f"the child process {how} during {job!r}; the notebook is untouched, the next job starts a new one{said}",
            "out of memory" if by_system or limits.ran_out(words) else "crashed",
            " < ".join([how, *frames, *([doing] if doing else [])]),
        )

    def _end(self) -> tuple[str, bool]:
        """Return the child's end in words, and whether it was killed."""
        code = self.wait(END_SECONDS + 1)
        if code is None:
            return "closed its line to the notebook", False
        if code < 0:
            return f"ended with {signal.Signals(-code).name}", code == -signal.SIGKILL
        return f"ended with exit code {code}", False

    def _frames(self) -> list[str]:
        """Return the names of the top frames of a crash, TVM's own or Python's, each once."""
        self.stderr.seek(0)
        names = [found["name"] for line in self.stderr if (found := _FRAME.match(line))]
        return list(dict.fromkeys(name for name in names if not name.startswith(_NOT_TVM)))[:FRAMES]

    def end(self) -> None:
        """End the child and every process that it started, even if they do not respond."""
        self.connection.close()
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
            if self.wait(END_SECONDS + 1) is None:
                self._status = -signal.SIGKILL
        self._control.close()
        self.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _error_in(stream: IO[str]) -> str:
    """Return the last error on an error stream; TVM writes other lines there too."""
    stream.seek(0)
    lines = [line.strip() for line in stream if "rror" in line or "atal" in line or limits.ran_out(line)]
    # the last is faulthandler's name of the signal
    words = [line for line in lines if not line.startswith("Fatal Python error: ")]
    return words[-1] if words else ""
