"""The child process: does one job after another for the notebook that started it.

Run as `python -m workbench.process.child`; the address and the key of the notebook's listener come on standard input. A
crash here is a row with a reason there. Messages are JSON; the workload itself comes as a folder that the dialect wrote.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections import OrderedDict
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect
from workbench.errors import WorkbenchError, sentence
from workbench.process.memory import limited

KEPT = 4
"workloads kept between jobs: a toggled configuration compiles the same workload again"


def main() -> None:
    """Serve jobs until the notebook hangs up."""
    hello = json.loads(sys.stdin.readline())
    if hello["cores"]:
        # TVM ties a notebook's thread to one core, and a process that it starts begins with that
        os.sched_setaffinity(0, hello["cores"])
    address = tuple(hello["address"]) if isinstance(hello["address"], list) else hello["address"]
    connection = Client(address, authkey=bytes.fromhex(hello["key"]))
    workloads: OrderedDict[str, Workload] = OrderedDict()
    while True:
        try:
            message = json.loads(connection.recv_bytes())
        except EOFError:
            return
        _serve(connection, message, workloads)


def _serve(connection: Connection, message: dict[str, Any], workloads: OrderedDict[str, Workload]) -> None:
    def progress(what: str, fraction: float | None = None) -> None:
        connection.send_bytes(json.dumps({"event": "progress", "what": what, "fraction": fraction}).encode())

    try:
        progress("Starting TVM")
        given = () if message["workload"] is None else (_workload(message["workload"], workloads),)
        module, function = message["job"].split(":")
        job = getattr(importlib.import_module(module), function)
        with limited(message["memory"]):
            result = job(*given, progress=progress, **message["arguments"])
        answer = {"event": "done", "result": result}
    except WorkbenchError as error:
        answer = {"event": "failed", "message": str(error), "detail": "", "status": getattr(error, "status", "")}
    except Exception as error:  # noqa: BLE001  whatever TVM throws is the job's result, and the next job must run
        answer = {"event": "failed", "message": sentence(error), "detail": traceback.format_exc()}
    connection.send_bytes(json.dumps(answer).encode())


def _workload(sent: dict[str, str], workloads: OrderedDict[str, Workload]) -> Workload:
    folder = sent["folder"]
    if folder not in workloads:
        workloads[folder] = dialect(sent["dialect"]).restore(Path(folder))
        workloads[folder].name = sent["name"]
        if len(workloads) > KEPT:
            workloads.popitem(last=False)
    workloads.move_to_end(folder)
    return workloads[folder]


if __name__ == "__main__":
    main()
