"""The child process, which does one job after another for the notebook that started it.

The supervisor (supervisor.py) forks it, with one end of a pipe whose other end the notebook has. A crash here is a row
with a reason there. Messages are JSON; the workload itself comes as a folder that the dialect wrote.
"""

from __future__ import annotations

import json
import os
import tempfile
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol, TypedDict

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect
from workbench.dialects.trust import allowed, refuse_by_default
from workbench.errors import PipelineError, TVMFailed, WorkbenchError, sentence
from workbench.worker.limits import end_copies, limited

EMPTY = "empty"
"the working folder of a child, in its folder of temporary files"
KEPT = 4
"workloads kept between jobs, because a toggled configuration compiles the same workload again"


Job = Callable[..., object]


class Progress(Protocol):
    """Reports the work under way to the notebook, with the part that is done where it is known."""

    def __call__(self, what: str, fraction: float | None = None) -> None: ...


def serve(pipe: int, find_job: Callable[[str], Job]) -> None:
    """Do jobs until the notebook closes the pipe. `find_job`: returns the function of a job's name."""
    # a program that a job starts must not keep the pipe open
    os.set_inheritable(pipe, False)
    connection = Connection(pipe)
    variables = json.loads(connection.recv_bytes())
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None
    # Python imports from the working folder first, and TVM reads files there
    os.chdir(Path(variables["TMPDIR"], EMPTY))
    refuse_by_default()
    line = Line(connection)
    workloads: OrderedDict[str, Workload] = OrderedDict()
    with suppress(EOFError):
        while True:
            _do(line, line.receive(), find_job, workloads)


class SentWorkload(TypedDict):
    """A workload in a message: the folder that the dialect wrote, and the fields that are not in it."""

    folder: str
    dialect: str
    name: str
    trusted: bool
    shapes: Mapping[str, int | Sequence[int]]
    limits: Mapping[str, int] | None
    inputs: str
    "the file of the arrays that runs get; empty for none"


class Message(TypedDict):
    """A job for the child."""

    job: str
    workload: SentWorkload | None
    arguments: Mapping[str, object]
    memory: int | None
    "bytes that the job may hold"


class Line:
    """The child's end of the line to the notebook. Each message has this process's id and the number of its job."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pid = os.getpid()
        self._number = 0
        self.send({"event": "ready"})

    def receive(self) -> Message:
        message = json.loads(self._connection.recv_bytes())
        self._number = message["number"]
        return message

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message to the notebook; a forked copy of this process ends here."""
        if os.getpid() != self._pid:
            os._exit(0)
        stamped = {**message, "pid": self._pid, "number": self._number}
        self._connection.send_bytes(json.dumps(stamped).encode())


def _do(
    line: Line,
    message: Message,
    find_job: Callable[[str], Job],
    workloads: OrderedDict[str, Workload],
) -> None:
    def progress(what: str, fraction: float | None = None) -> None:
        line.send({"event": "progress", "what": what, "fraction": fraction})

    try:
        given = () if message["workload"] is None else (_workload(message["workload"], workloads),)
        job = find_job(message["job"])
        trusted = message["workload"] is not None and message["workload"]["trusted"]
        with limited(message["memory"]), end_copies(), allowed(trusted):
            result = job(*given, progress=progress, **message["arguments"])
        answer = {"event": "done", "result": result}
    except WorkbenchError as error:
        # a PipelineError is here TVM's refusal of a pass's options
        status, theirs = getattr(error, "status", ""), isinstance(error, (TVMFailed, PipelineError))
        answer = {"event": "failed", "message": str(error), "detail": "", "status": status, "theirs": theirs}
    except BaseException as error:  # noqa: BLE001  whatever a job raises is its result, and the next job must run
        answer = {"event": "failed", "message": sentence(error), "detail": traceback.format_exc(), "theirs": True}
    line.send(answer)


def _workload(sent: SentWorkload, workloads: OrderedDict[str, Workload]) -> Workload:
    folder = sent["folder"]
    if folder not in workloads:
        workloads[folder] = dialect(sent["dialect"]).frontend.restore(Path(folder))
        workloads[folder].name = sent["name"]
        if len(workloads) > KEPT:
            workloads.popitem(last=False)
    workloads[folder].trusted = sent["trusted"]
    workloads[folder].shapes = sent["shapes"]
    workloads[folder].known_limits = sent["limits"]
    workloads[folder].inputs = arrays.load(sent["inputs"]) if sent["inputs"] else {}
    workloads.move_to_end(folder)
    return workloads[folder]
