"""The notebook's side of the child process: one job at a time, with a timeout, a cancel, and a restart after a crash."""

from __future__ import annotations

import atexit
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload, dialect_of
from workbench.errors import MeasureError, WorkerLost

Progress = Callable[[str, "float | None"], None]
START_SECONDS = 60.0


def silent(_what: str, _fraction: float | None) -> None:
    """Progress that nobody watches."""


def never() -> bool:
    """A cancel that does not come."""
    return False


class Worker:
    """A child process that builds and times. It is started by the first job and lives until the notebook ends."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._connection: Connection | None = None
        self._stderr: Any = None
        self._folders: weakref.WeakKeyDictionary[Workload, Path] = weakref.WeakKeyDictionary()
        self._root = Path(tempfile.mkdtemp(prefix="tvm-workbench-"))
        atexit.register(self.close)

    def run(
        self,
        job: str,
        workload: Workload,
        arguments: dict[str, Any],
        *,
        timeout: float = 600.0,
        progress: Progress = silent,
        cancelled: Callable[[], bool] = never,
    ) -> dict[str, Any]:
        """Do one job and give its result; jobs of several threads wait for each other.

        Parameters
        ----------
        job
            `module:function` of `workbench`, called there as `function(workload, progress=..., **arguments)`.

        Raises
        ------
        MeasureError
            The job failed; the message says why.
        WorkerLost
            The child crashed, took longer than `timeout` seconds, or was cancelled. The next job starts a new one.
        """
        with self._turn:
            connection = self._started()
            message = {
                "job": job,
                "dialect": workload.dialect,
                "name": workload.name,
                "folder": str(self._folder(workload)),
                "arguments": arguments,
            }
            try:
                connection.send_bytes(json.dumps(message).encode())
                return self._answer(connection, time.monotonic() + timeout, timeout, progress, cancelled)
            except MeasureError:
                raise
            except (EOFError, OSError):
                raise WorkerLost(self._obituary(job)) from None
            except BaseException:
                # Ctrl-C: the child is still at work, and its answer must not be taken for that of the next job
                self.stop()
                raise

    def _answer(
        self, connection: Connection, deadline: float, timeout: float, progress: Progress, cancelled: Callable[[], bool]
    ) -> dict[str, Any]:
        while True:
            if connection.poll(0.05):
                answer = json.loads(connection.recv_bytes())
                if answer["event"] == "failed":
                    raise MeasureError(answer["message"])
                if answer["event"] != "progress":
                    return answer["result"]
                progress(answer["what"], answer["fraction"])
            if cancelled():
                self.stop()
                raise WorkerLost("cancelled; the next measurement starts a new process")
            if time.monotonic() > deadline:
                self.stop()
                raise WorkerLost(
                    f"no result within {timeout:g} s, so it was stopped; give a longer timeout or a smaller workload"
                )

    # -- the process

    def _started(self) -> Connection:
        if self._connection is not None and self._process is not None and self._process.poll() is None:
            return self._connection
        self.stop()
        key = secrets.token_bytes(32)
        self._stderr = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115  it lives as long as the child
        with Listener(authkey=key) as listener:
            environment = {**os.environ, "TOPHUB_LOCATION": "NONE"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "workbench.process.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                text=True,
                env=environment,
                cwd=self._root,
                # a Ctrl-C in the notebook is for the notebook
                start_new_session=True,
            )
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"address": listener.address, "key": key.hex()}) + "\n")
            self._process.stdin.flush()
            self._connection = self._accept(listener)
        return self._connection

    def _accept(self, listener: Listener) -> Connection:
        """Wait for the child, without waiting for ever for one that cannot start."""
        accepted: list[Connection] = []
        waiter = threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True)
        waiter.start()
        deadline = time.monotonic() + START_SECONDS
        while waiter.is_alive() and time.monotonic() < deadline:
            waiter.join(0.02)
            assert self._process is not None
            if self._process.poll() is not None and waiter.is_alive():
                raise WorkerLost(self._obituary("start"))
        if not accepted:
            self.stop()
            raise WorkerLost(f"the child process did not start within {START_SECONDS:g} s; try again")
        return accepted[0]

    def _obituary(self, job: str) -> str:
        """How the child ended, in a sentence, with its last words."""
        process = self._process
        code = None if process is None else process.wait(timeout=10)
        words = self._last_words()
        self.stop()
        if code is not None and code < 0:
            how = f"ended with {signal.Signals(-code).name}"
        else:
            how = f"ended with exit code {code}"
        what = job.rpartition(":")[2]
        return (
            f"the child process {how} during {what!r}; the notebook is untouched, the next job starts a new one{words}"
        )

    def _last_words(self) -> str:
        """The last complaint on the child's error stream; TVM writes much there that is no complaint."""
        self._stderr.seek(0)
        lines = [line.strip() for line in self._stderr if "rror" in line or "atal" in line]
        return f" (it said: {lines[-1][:200]})" if lines else ""

    def stop(self) -> None:
        """End the child; the next job starts a new one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._stderr is not None:
            self._stderr.close()
        self._process = self._connection = self._stderr = None

    def close(self) -> None:
        """End the child and remove what was written for it."""
        self.stop()
        shutil.rmtree(self._root, ignore_errors=True)

    # -- workloads

    def _folder(self, workload: Workload) -> Path:
        """Where the workload was written for the child; written once, removed when the workload goes."""
        folder = self._folders.get(workload)
        if folder is None:
            folder = Path(tempfile.mkdtemp(dir=self._root))
            dialect_of(workload).dump(workload, folder)
            self._folders[workload] = folder
            weakref.finalize(workload, shutil.rmtree, folder, ignore_errors=True)
        return folder


_worker: Worker | None = None
_making = threading.Lock()


def worker() -> Worker:
    """The one child process of this notebook."""
    global _worker
    with _making:
        if _worker is None:
            _worker = Worker()
        return _worker
