"""The process that forks the child processes of a notebook. It has imported TVM once, and its forks share that memory.

Run by `python -m workbench.jobs PID SOCKET CORES`, with the notebook's process id, a socket to it, and the cores that it may use.
A request has three files: the child's end of the pipe to the notebook, the supervisor's socket, and the error stream. A fork has
only the thread that forks, so nothing runs here but the imports. Where they fail or leave a thread, this process starts
anew without them, and each child imports TVM itself. It ends with the notebook, and the supervisors end with it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from workbench.worker.supervisor import LOOK_SECONDS, ended, supervise

COLD = "cold"
"the last argument of a start without the imports"


def main(prepare: Callable[[], object], serve: Callable[[int], None]) -> None:
    """Run `prepare`, which imports TVM; then fork a supervisor for each request, whose child process runs `serve`."""
    notebook, requests, cores = int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])), json.loads(sys.argv[3])
    # before TVM is imported, which has a handler of its own in some versions
    faulthandler.enable()
    if cores:
        # TVM binds a notebook's thread to one core, and a process that it starts inherits that
        os.sched_setaffinity(0, cores)
    if COLD not in sys.argv and not _is_prepared(prepare):
        os.execv(sys.executable, [*sys.orig_argv, COLD])
    requests.set_inheritable(False)
    server = os.getpid()
    while os.getppid() == notebook:
        list(ended())
        if not select.select([requests], [], [], LOOK_SECONDS)[0]:
            continue
        _, files, _, _ = socket.recv_fds(requests, 1, 3)
        if not files:
            return
        if os.fork() == 0:
            requests.close()
            supervise(server, *files, serve=partial(_serve, prepare, serve) if COLD in sys.argv else serve)
            return
        for file in files:
            os.close(file)


def _serve(prepare: Callable[[], object], serve: Callable[[int], None], pipe: int) -> None:
    """Run `prepare` in the child, before its first job and its limits; a job has the same error, and reports it."""
    with suppress(Exception):
        prepare()
    serve(pipe)


def _is_prepared(prepare: Callable[[], object]) -> bool:
    """Import TVM; return whether this process may be forked from now on."""
    try:
        prepare()
        # OpenBLAS starts threads when numpy is imported, ends them at the first fork, and starts them again when a child uses it
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        # without /proc the number of threads is not known
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except BaseException:  # noqa: BLE001  a child that imports TVM will have the same error, and reports it
        return False
