"""Builds on any `concurrent.futures.Executor`: a process pool, or Dask's on other machines.

The executor gets the workload as its dialect wrote it, and returns the library: bytes or paths, and JSON's types. The
compiler runs in a child of the executor's process, as it does in a child of the notebook: a build that crashes costs a row
and not the pool, and two builds never share a process, even if the executor uses threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as StillWorking
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from workbench.dialects.base import Workload
from workbench.errors import MeasureError, WorkerLost, sentence
from workbench.temporary import temporary_folder
from workbench.worker.parent import Progress, worker

LIBRARY, COUNTED = "library.tar", "counted.json"
"files of a build"
POLL_SECONDS = 0.1
ROLE = "executor"
"the child of a process of the executor"


def submitted(
    executor: Executor,
    workload: Workload,
    written: Path,
    target: str,
    config: Mapping[str, Any],
    folder: Path,
    timeout: float,
) -> Future[Path]:
    """Submit a build of the workload that is `written`; the Future gives the folder that workbench.jobs.build reads.

    The target is in full: plain `llvm` means the CPU that runs the code, not the CPU that compiles it. `folder` is empty,
    on this machine.
    """
    # The processes of a pool see this machine's files; those of another executor may not.
    near = isinstance(executor, ProcessPoolExecutor)
    order = {
        "dialect": workload.dialect,
        "name": workload.name,
        "trusted": workload.trusted,
        "shapes": dict(workload.shapes),
        "limits": workload.sent_limits(),
        "target": target,
        "config": dict(config),
        "timeout": timeout,
        "workload": str(written) if near else "",
        "files": {} if near else _packed(written),
        "built": str(folder) if near else "",
    }
    done: Future[Path] = Future()
    done.set_running_or_notify_cancel()
    executor.submit(build, order).add_done_callback(partial(_settle, done, folder))
    return done


def awaited(order: Future[Path], progress: Progress, cancelled: Callable[[], bool]) -> None:
    """Wait until a build has ended or failed; WorkerLost if it is cancelled."""
    while not order.done():
        progress("Building on the executor", None)
        with suppress(StillWorking, MeasureError):
            order.result(POLL_SECONDS)
        if cancelled():
            raise WorkerLost("cancelled while the executor built it", "cancelled")


def counts_in(built: Path) -> dict[str, Any]:
    """Return the counts that the job `export` wrote next to the library."""
    return json.loads((built / COUNTED).read_text())


def build(order: Mapping[str, Any]) -> dict[str, Any]:
    """Build in this process's child; an executor runs this.

    The answer has `files`, none if they are in `order["built"]` already; or `failed`, the reason, and its `status`.
    """
    with temporary_folder() as scratch:
        here, built = Path(scratch), Path(order["built"] or scratch) / "built"
        _unpack(order["files"], here / "workload")
        built.mkdir()
        workload = Workload(
            None,
            {},
            order["name"],
            order["dialect"],
            trusted=order["trusted"],
            shapes=order["shapes"],
            known_limits=order["limits"],
        )
        child = worker(ROLE)
        child.adopt(workload, Path(order["workload"] or here / "workload"))
        arguments = {"target": order["target"], "config": order["config"], "folder": str(built)}
        try:
            child.run("export", workload, arguments, timeout=order["timeout"])
        except MeasureError as error:
            return {"failed": str(error), "status": getattr(error, "status", "failed")}
        return {"files": {} if order["built"] else _packed(built)}


def _settle(done: Future[Path], folder: Path, future: Future[dict[str, Any]]) -> None:
    try:
        _take(future.result(), folder / "built")
    except MeasureError as error:
        done.set_exception(error)
    except BaseException as error:  # noqa: BLE001  whatever an executor throws is the build's result
        lost = WorkerLost(f"the executor lost the build: {sentence(error)}; give it a new one", "crashed")
        done.set_exception(lost)
    else:
        done.set_result(folder / "built")


def _take(answer: Mapping[str, Any], folder: Path) -> None:
    if "failed" in answer:
        status, reason = answer["status"], answer["failed"]
        raise MeasureError(reason) if status == "failed" else WorkerLost(reason, status)
    if answer["files"]:
        _unpack(answer["files"], folder)


def _packed(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _unpack(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a new folder; their names cannot lead outside it."""
    folder.mkdir()
    for name, data in files.items():
        path = folder.joinpath(*(part for part in Path(name).parts if part != ".." and not Path(part).is_absolute()))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
