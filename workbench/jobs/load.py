"""Jobs of `wb.load`: make TVM's objects from received text and files.

Each has a child process of its own, so that changes that a text makes to TVM's registries end with it.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np

from workbench import samples
from workbench.dialects import arrays, programs, readers
from workbench.dialects.base import GraphOnly, Workload, choose_entry
from workbench.dialects.importers.names import with_sources
from workbench.dialects.readers import HERE
from workbench.dialects.registry import dialect_here, dialect_of
from workbench.dialects.relax.from_relay import to_relax, values_of_text
from workbench.dialects.trust import allowed
from workbench.errors import LoadError, WorkbenchError, sentence, to_data
from workbench.jobs.build import count
from workbench.pipeline.config import Config
from workbench.worker.child import Progress
from workbench.worker.limits import ran_out

Answer = dict[str, object]
_SMALL = {
    "relay": "fn (%x: Tensor[(4), float32]) { nn.relu(%x) }",
    "relax": "@R.function\ndef main(x: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):\n    return R.nn.relu(x)\n",
}
NO_SIZES = "without Relay's environment nothing writes sizes into a Relay text; write them in the text, or give that environment"
NO_MEMORY = "TVM needs more memory to read this than its size allows; read it with TVM yourself and load the module"
STACK = 6 << 20
"bytes of stack; the notebook has 8 MiB, so a source that survives here also survives there"


def reads(doing: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Return a decorator that makes a job of a function; the job's progress is `doing`."""

    def decorator(work: Callable[..., Answer]) -> Callable[..., Answer]:
        @wraps(work)
        def job(*, progress: Progress, **given: Any) -> Answer:
            progress(doing)
            return _answer(partial(work, **given))

        return job

    return decorator


@reads("Loading")
def program(*, text: str, is_json: bool, name: str, folder: str) -> Answer:
    """Read TVMScript or TVM's JSON, and write the module, its parameters and its graph into a folder."""
    workload = HERE.program(text, is_json, name)
    dialect_of(workload).frontend.check_types(workload.module)
    if is_json:
        workload.text()  # printing a module made from damaged JSON may end the process
    return _written(workload, Path(folder))


@reads("Converting")
def model(*, format: str, path: str, inputs: Sequence[tuple[str, object]], name: str, folder: str) -> Answer:
    """Convert another framework's file, and write the module, its parameters and its graph into a folder."""
    with allowed(trusted=True):  # a model has no kernels: a converter folds operators
        workload = HERE.model(format, Path(path), name, dict(inputs))
    dialect_of(workload).frontend.check_types(workload.module)
    return _written(workload, Path(folder))


@reads("Loading")
def source(
    *,
    text: str,
    params: str,
    shapes: Sequence[tuple[str, int | Sequence[int]]],
    name: str,
    folder: str,
) -> Answer:
    """Read Relay text or TVMScript, and write the program into a folder; Relax translates a Relay text.

    `params`: the folder of the parameters, which `arrays.write` wrote.
    """
    given = arrays.read(Path(params), arrays.as_numpy)
    made = readers.load(text, given, name=name)
    if not isinstance(made, GraphOnly):
        return _with_sources(choose_entry(made, None, dict(shapes)), Path(folder))
    if shapes:
        raise LoadError(NO_SIZES)
    translation = to_relax(with_sources(made.graph), {**values_of_text(made), **given})
    return _written(translation, Path(folder))


@reads("Building the sample")
def sample(*, text: str, name: str, folder: str) -> Answer:
    """Build a sample, `sample:bert{layers=2}`, and write the program into a folder."""
    made = samples.load_text(text)
    made.name = name
    return _with_sources(made, Path(folder))


@reads("Loading")
def saved(*, given: str, shapes: Sequence[tuple[str, int | Sequence[int]]], name: str, folder: str) -> Answer:
    """Read the program that another process of this dialect wrote, and write it into a folder."""
    try:
        made = dialect_here().frontend.restore(Path(given))
    except Exception as error:  # noqa: BLE001  another version of TVM wrote it, and this one may raise anything
        raise LoadError(f"this TVM cannot read the module of the other: {sentence(error)}; give its text") from None
    made.name, made.shapes = name, dict(shapes)
    return _with_sources(made, Path(folder))


@reads("Translating")
def translated(*, given: str, name: str, folder: str) -> Answer:
    """Translate the Relay program in a folder to Relax, and write it into another folder."""
    made = to_relax(programs.read_graph(Path(given)), programs.read_values(Path(given)))
    made.name = name
    return _written(made, Path(folder))


@reads("Loading")
def check_relay(*, text: str, types: Mapping[str, tuple[Sequence[int], str]]) -> Answer:
    """Make the module of each reading of a Relay text. The notebook repeats TVM's refusals by itself."""
    from workbench.dialects.relay.frontend import module_of_reading
    from workbench.dialects.relay.paste.reading import read_all

    # their values are not used, so they take no memory
    params = {name: np.broadcast_to(np.zeros((), dtype), shape) for name, (shape, dtype) in types.items()}
    modules: list[object] = []
    with suppress(WorkbenchError):
        for reading in read_all(text):
            with suppress(LoadError):
                module, _ = module_of_reading(reading, params)
                modules.append(module)
    for module in modules:
        dialect_here().frontend.check_types(module)
    return {}


def warm_up() -> None:
    """Read and count a small program, so that forks of this process find TVM's readers, passes and code generator ready."""
    here = dialect_here()
    small = here.frontend.read(_SMALL[here.name], False, "small")
    count(small, target="llvm", config=Config().to_data(), progress=lambda what, fraction=None: None)  # noqa: ARG005  a Progress
    gc.freeze()


def _written(workload: Workload, folder: Path) -> Answer:
    dialect = dialect_of(workload)
    answer = {"notes": workload.notes, "trusted": workload.trusted, "dialect": workload.dialect}
    graph = workload.graph
    _ = graph.answers, graph.products  # TVM computes these here, where it may end the process
    programs.write_graph(graph, folder)
    try:
        dialect.frontend.dump(workload, folder)
    except Exception:  # noqa: BLE001  TVM cannot save every module; the notebook makes it again
        return {**answer, "saved": False}
    return {**answer, "saved": True}


def _with_sources(workload: Workload, folder: Path) -> Answer:
    """Write a program with a source for each operator, and the values that a translation of it needs."""
    dialect_of(workload).frontend.check_types(workload.module)
    answer = _written(workload, folder)
    programs.add_sources(workload, folder)
    return {**answer, "shapes": dict(workload.shapes)}


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
