"""Starting the child process and ending it; how it ended, in words."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from workbench.errors import WorkerLost
from workbench.process import memory
from workbench.process.host import allowed

START_SECONDS = 60.0


class Child:
    """A running child process, the line to it, and what it writes to its error stream.

    Parameters
    ----------
    folder
        Where it runs.

    Raises
    ------
    WorkerLost
        It did not start.
    """

    def __init__(self, folder: Path) -> None:
        key = secrets.token_bytes(32)
        self.kills = memory.kills()
        self.stderr: Any = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115  it lives as long as the child
        with Listener(authkey=key) as listener:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "workbench.process.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self.stderr,
                text=True,
                env={**os.environ, "TOPHUB_LOCATION": "NONE"},
                cwd=folder,
                # a Ctrl-C in the notebook is for the notebook
                start_new_session=True,
            )
            assert self.process.stdin is not None
            hello = {"address": listener.address, "key": key.hex(), "cores": sorted(allowed())}
            self.process.stdin.write(json.dumps(hello) + "\n")
            self.process.stdin.flush()
            self.connection: Connection = self._accept(listener)

    def _accept(self, listener: Listener) -> Connection:
        """Wait for the child, without waiting for ever for one that cannot start."""
        accepted: list[Connection] = []
        waiter = threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True)
        waiter.start()
        deadline = time.monotonic() + START_SECONDS
        while waiter.is_alive() and time.monotonic() < deadline:
            waiter.join(0.02)
            if self.process.poll() is not None and waiter.is_alive():
                raise self.obituary("start")
        if not accepted:
            self.end()
            raise WorkerLost(f"the child process did not start within {START_SECONDS:g} s; try again")
        return accepted[0]

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def obituary(self, job: str) -> WorkerLost:
        """The error for a child that ended by itself, with how and its last words; ends what is left of it."""
        code = self.process.wait(timeout=10)
        words = self._last_words()
        by_system = code == -signal.SIGKILL and memory.kills() > self.kills
        self.end()
        how = f"ended with {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        if by_system:
            how += ", by the system, because memory ran out,"
        said = f" (it said: {words[:200]})" if words else ""
        return WorkerLost(
            f"the child process {how} during {job!r}; the notebook is untouched, the next job starts a new one{said}",
            "out of memory" if by_system or memory.ran_out(words) else "crashed",
        )

    def _last_words(self) -> str:
        """The last complaint on the child's error stream; TVM writes much there that is no complaint."""
        self.stderr.seek(0)
        lines = [line.strip() for line in self.stderr if "rror" in line or "atal" in line or memory.ran_out(line)]
        return lines[-1] if lines else ""

    def end(self) -> None:
        """End it, whatever it does."""
        if hasattr(self, "connection"):
            self.connection.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.stderr.close()
