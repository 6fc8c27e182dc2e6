"""Start the child process, end it, and describe its end in words."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import IO, Any

from workbench.environments.doctor import variables
from workbench.errors import WorkerLost, reason
from workbench.temporary import new_folder
from workbench.worker import limits
from workbench.worker.child import Message
from workbench.worker.host import allowed
from workbench.worker.supervisor import END_SECONDS

PROGRAM = "workbench.jobs"
"the package whose `__main__` is the program of the child process"
START_SECONDS = 60.0
FRAMES = 4
"top frames that identify a crash"
_FRAME = re.compile(r'\s*File "[^"]*", line \d+,? in (?P<name>[^(<\n]+)')
"a line of TVM's stack or of Python's faulthandler"
_NOT_TVM = ("0x", "Py", "_Py", "__GI_", "__libc", "raise", "abort")


def _variables() -> dict[str, str]:
    """Return the variables of another environment's Python, which imports the same workbench if this is a checkout."""
    root = Path(__file__).parents[2]
    return variables() if root.name == "site-packages" else {**variables(), "PYTHONPATH": str(root)}


class Child:
    """A running child process, with its supervisor (`process`, which ends with the same status), the connection to it, and its error stream.

    `pid` is the child's own. `python`: that of another environment; None for this one's. Raises WorkerLost: it did not start.
    """

    def __init__(self, python: Path | None = None) -> None:
        self.kills = limits.kills()
        self._folder = new_folder()
        "its temporary files, which end with it"
        (self._folder / "empty").mkdir()
        self.stderr: IO[str] = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115  it lives as long as the child
        # no other process can connect to it, and it ends with the child
        self.connection, theirs = Pipe()
        command = [python or sys.executable, "-m", PROGRAM, str(os.getpid()), str(theirs.fileno())]
        variables = os.environ if python is None else _variables()
        try:
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.stderr,
                env={**variables, "TOPHUB_LOCATION": "NONE", "TMPDIR": str(self._folder)},
                # Python imports from the working folder first, and TVM reads files there
                cwd=self._folder / "empty",
                # a Ctrl-C in the notebook must not reach the child
                start_new_session=True,
            )
        except OSError as error:
            self.connection.close()
            self.stderr.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise WorkerLost(f"{command[0]} cannot be started: {reason(error)}; check the path") from None
        finally:
            theirs.close()
        try:
            self.pid = self._greeted()
        except KeyboardInterrupt:
            self.end()
            raise
        self._number = 0

    def _greeted(self) -> int:
        """Send the child the cores that it may use, and return its process id, the first message, but do not wait for ever."""
        try:
            self.connection.send_bytes(json.dumps({"cores": sorted(allowed())}).encode())
            if self.connection.poll(START_SECONDS):
                return json.loads(self.connection.recv_bytes())["pid"]
        except (EOFError, OSError):
            raise self.obituary("start") from None
        self.end()
        raise WorkerLost(f"the child process did not start within {START_SECONDS:g} s; try again")

    def alive(self) -> bool:
        return self.process.poll() is None

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
        words, frames = self._last_words(), self._frames()
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
        try:
            code = self.process.wait(END_SECONDS + 1)
        except subprocess.TimeoutExpired:
            return "closed its line to the notebook", False
        if code < 0:
            return f"ended with {signal.Signals(-code).name}", code == -signal.SIGKILL
        return f"ended with exit code {code}", False

    def _last_words(self) -> str:
        """Return the last error on the child's error stream; TVM writes other lines there too."""
        self.stderr.seek(0)
        lines = [line.strip() for line in self.stderr if "rror" in line or "atal" in line or limits.ran_out(line)]
        # the last is faulthandler's name of the signal
        words = [line for line in lines if not line.startswith("Fatal Python error: ")]
        return words[-1] if words else ""

    def _frames(self) -> list[str]:
        """Return the names of the top frames of a crash, TVM's own or Python's, each once."""
        self.stderr.seek(0)
        names = [found["name"] for line in self.stderr if (found := _FRAME.match(line))]
        return list(dict.fromkeys(name for name in names if not name.startswith(_NOT_TVM)))[:FRAMES]

    def end(self) -> None:
        """End the child and every process that it started, even if they do not respond."""
        self.connection.close()
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS + 1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)
