"""Jobs of `wb.load`: make TVM's objects from received text and files, each time in a fork.

A fork starts in milliseconds, with TVM imported. A text that ends TVM does not cost a new start of the child, and changes
that a text makes to TVM's registries end with the fork.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from workbench.dialects.base import Workload
from workbench.dialects.importers.files import importer
from workbench.dialects.readers import HERE
from workbench.dialects.registry import dialect_here, dialect_of
from workbench.errors import LoadError, WorkbenchError, sentence, to_data
from workbench.worker.child import Progress
from workbench.worker.limits import ran_out

Answer = dict[str, object]
_SMALL = {
    "relay": "fn (%x: Tensor[(4), float32]) { nn.relu(%x) }",
    "relax": "@R.function\ndef main(x: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):\n    return R.nn.relu(x)\n",
}
NO_MEMORY = "TVM needs more memory to read this than its size allows; read it with TVM yourself and load the module"
STACK = 6 << 20
"bytes of stack; the notebook has 8 MiB, so a source that survives here also survives there"


def start(*, progress: Progress) -> Answer:
    """Import TVM and its readers, so that the limits of the next job apply to its source alone."""
    progress("Starting")
    _warm_up()
    return {}


def program(*, text: str, is_json: bool, name: str, folder: str, progress: Progress) -> Answer:
    """Read TVMScript or TVM's JSON, and write the module, its parameters and its graph into a folder."""
    progress("Loading")
    _warm_up()

    def read() -> Answer:
        workload = HERE.program(text, is_json, name)
        dialect_of(workload).frontend.check_types(workload.module)
        if is_json:
            workload.text()  # printing a module made from damaged JSON may end the process
        return _written(workload, Path(folder))

    return _in_fork(read)


def model(
    *, format: str, path: str, inputs: Sequence[tuple[str, object]], name: str, folder: str, progress: Progress
) -> Answer:
    """Convert another framework's file, and write the module, its parameters and its graph into a folder."""
    progress("Converting")
    _warm_up()
    importer(format, dialect_here().name)

    def convert() -> Answer:
        workload = HERE.model(format, Path(path), name, dict(inputs))
        dialect_of(workload).frontend.check_types(workload.module)
        return _written(workload, Path(folder))

    return _in_fork(convert)


def check_relay(*, text: str, types: Mapping[str, tuple[Sequence[int], str]], progress: Progress) -> Answer:
    """Make the module of each reading of a Relay text. The notebook repeats TVM's refusals by itself."""
    from workbench.dialects.relay.frontend import module_of_reading
    from workbench.dialects.relay.paste.reading import read_all

    progress("Loading")
    _warm_up()
    # their values are not used, so they take no memory
    params = {name: np.broadcast_to(np.zeros((), dtype), shape) for name, (shape, dtype) in types.items()}

    def check() -> Answer:
        modules: list[object] = []
        with suppress(WorkbenchError):
            for reading in read_all(text):
                with suppress(LoadError):
                    module, _ = module_of_reading(reading, params)
                    modules.append(module)
        for module in modules:
            dialect_here().frontend.check_types(module)
        return {}

    return _in_fork(check)


@cache
def _warm_up() -> None:
    """Read a small program, so that a fork finds TVM's readers ready and shares memory with this process."""
    here = dialect_here()
    _ = here.frontend.read(_SMALL[here.name], False, "small").graph
    gc.freeze()


def _written(workload: Workload, folder: Path) -> Answer:
    dialect = dialect_of(workload)
    has_kernels = any(type(function).__name__ == "PrimFunc" for function in workload.module.functions.values())
    answer = {"notes": workload.notes, "has_kernels": has_kernels, "dialect": workload.dialect}
    graph = workload.graph
    _ = graph.answers, graph.products  # TVM computes these here, where it may end the process
    (folder / "graph.json").write_text(graph.to_json(), encoding="utf-8")
    try:
        dialect.frontend.dump(workload, folder)
    except Exception:  # noqa: BLE001  TVM cannot save every module; the notebook makes it again
        return {**answer, "saved": False}
    return {**answer, "saved": True}


def _in_fork(work: Callable[[], Answer]) -> Answer:
    """Return the answer of a fork of this process, or an error with how it ended."""
    if not hasattr(os, "fork"):
        return _answer(work)
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(sender, "wb") as file:
                file.write(json.dumps(_answer(work)).encode())
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as file:
        answer = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(answer) if answer else {"error": to_data(LoadError(f"TVM {_end(code)} while it read this"))}


def _end(code: int) -> str:
    """Return the end of a process in words."""
    return f"ended its process with {signal.Signals(-code).name}" if code < 0 else f"left with exit code {code}"


def _answer(work: Callable[[], Answer]) -> Answer:
    """Return the answer of `work` in a thread with a small stack; an error is also an answer."""
    before = threading.stack_size(STACK)
    try:
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(work).result()
    except WorkbenchError as error:
        return {"error": to_data(error)}
    except Exception as error:  # noqa: BLE001  TVM raises errors of many kinds over damaged input
        if isinstance(error, MemoryError) or ran_out(str(error)):
            return {"error": to_data(LoadError(NO_MEMORY))}
        return {"error": to_data(LoadError(f"TVM cannot read this: {sentence(error)}"))}
    finally:
        threading.stack_size(before)
