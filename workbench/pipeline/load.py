"""`wb.load`: received sources become TVM's objects in a child process first, and here only if that process survives.

TVM's own readers trust their input: some texts and much damaged JSON end the process that reads them, and a model converter
may loop or take all memory. A module, a function or a live PyTorch program comes from the user's own code and is taken as it
is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.dialects import readers
from workbench.dialects.base import Shapes, Workload, runnable
from workbench.dialects.importers.converting import Inputs
from workbench.dialects.readers import HERE, Params
from workbench.dialects.registry import dialect_here
from workbench.errors import LoadError, MeasureError, OutOfMemory, WorkbenchError, WorkerLost, from_data
from workbench.graph.model import Graph
from workbench.temporary import temporary_folder
from workbench.worker.limits import in_words, limit
from workbench.worker.parent import LOADS, Progress, worker
from workbench.worker.progress import showing_progress, under_way

SHORT = 20_000
"characters of a Relay text that is read here before the child gets it; a longer text is read here at the same time"
MOST_NAME = 60
"characters of a file's name in a progress line"
_OWN_OBJECTS = ("nn", "torch")
"formats of live objects, which only this process has"


@dataclass(frozen=True)
class Allowance:
    """Limits of the child process for one source; they grow with its size."""

    seconds: float
    "for any source"
    bytes_per_second: float
    memory: int
    "bytes for any source; the child holds some 300 MiB before it reads"
    memory_per_byte: int

    def seconds_for(self, size: int) -> float:
        return self.seconds + size / self.bytes_per_second

    def memory_for(self, size: int) -> int:
        """Return the limit in bytes, at most the free memory."""
        free = limit(None, 0)
        most = self.memory + self.memory_per_byte * size
        return most if free is None else min(most, free)


TEXT = Allowance(20.0, 10_000, 2 << 30, 1000)
"syntax trees take a few hundred bytes for each character"
MODEL = Allowance(120.0, 100_000, 2 << 30, 20)
"converters copy weights several times"


def load(
    source: object,
    params: Params | str | Path | None = None,
    *,
    name: str | None = None,
    inputs: Inputs = None,
    entry: str | None = None,
    shapes: Shapes | None = None,
) -> Workload:
    """Make a Workload from a program in any form.

    Text and files become TVM's objects in a child process first. If a source ends that process, LoadError is raised here.

    Parameters
    ----------
    source
        An IRModule, a Function, a pair `(module, params)`, the result of `export_tvm` of relax.frontend.nn, printed text, or a
        path to a .relay, .txt, .log, .json or .py file (the first module of a text with several; `load_all` returns all); an
        ONNX model or a path to one, a .tflite file, a module or a program of PyTorch, a module of relax.frontend.nn. A graph
        executor's JSON and a saved graph give a picture only.
    params
        Parameter name -> array, or a file of them that TVM or numpy wrote, for a source without its own parameters.
    name
        The workload's name; by default from the file's name, or `main`.
    inputs
        Shapes or example arrays of the inputs, by name or in order, if a model from another framework leaves them open.
    entry
        The function to build and run, `prefill`; it becomes `main`. Not needed if there is only one or one is `main`.
    shapes
        Values of Relax's symbolic dimensions for counting and timing, `{"n": 128}`: the code is compiled for any `n` and runs
        with this one. In Relay, whose open dimensions have no names, the shapes of inputs, `{"x": (1, 128)}`, which are put
        into the module.

    Raises
    ------
    LoadError
        The source is none of these, or cannot be read; the message describes the remedy.
    UnknownName
        There is no function `entry`, or no symbolic dimension or input that `shapes` names.

    Examples
    --------
    >>> w = wb.load("def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(nn.relu(exp(%x))) }")
    >>> [node.op for node in w.graph.ops]
    ['exp', 'nn.relu', 'nn.softmax']
    """
    with showing_progress(None, f"Loading {_title(source, name)}"):
        return readers.load(source, params, name=name, inputs=inputs, entry=entry, shapes=shapes, converter=InChild())


def load_all(source: object, params: Mapping[str, object] | None = None, *, name: str | None = None) -> list[Workload]:
    """Make a Workload from each module of a text, in order: `wb.CompareView(*wb.load_all(before_and_after))`.

    Parameters and errors are those of `load`. A module that has no `main` and several functions to run gives one Workload for each of them.

    Examples
    --------
    >>> before, after = wb.load_all('''
    ... def @main(%x: Tensor[(1, 8), float32]) { nn.relu(nn.relu(%x)) }
    ... def @main(%x: Tensor[(1, 8), float32]) { nn.relu(%x) }
    ... ''')
    >>> wb.diff(before, after).counts["removed"]
    1
    """
    with showing_progress(None, f"Loading {_title(source, name)}"):
        return readers.load_all(source, params, name=name, converter=InChild())


def _title(source: object, name: str | None) -> str:
    """Return the title of a source for a progress line: its name, or the file's; a text may be a path too."""
    if name is None and isinstance(source, (str, Path)):
        last = str(source).rpartition("/")[2]
        name = last if len(last) <= MOST_NAME and "\n" not in last else "a text"
    return name or "a model"


class InChild:
    """A Converter that tries everything in a child process first."""

    def program(self, text: str, is_json: bool, name: str) -> Workload:
        arguments = {"text": text, "is_json": is_json}
        return _load_in_child("program", arguments, name, lambda: HERE.program(text, is_json, name), len(text), TEXT)

    def relay(self, text: str, params: Mapping[str, object], name: str) -> list[Workload]:
        """Make the modules of a Relay text here, if the child process survives making them."""
        from workbench.dialects.relay.paste.reading import read_all
        from workbench.dialects.relay.paste.workload import workloads_of

        if len(text) < SHORT:
            readings = read_all(text)
            refusal = _refusal(text, params)
        else:
            with ThreadPoolExecutor(1) as threads:
                check = threads.submit(_refusal, text, params, under_way())
                readings = read_all(text)
                refusal = check.result()
        refused = {0: refusal} if refusal else {}
        if refusal and len(readings) > 1:
            refused = {i: why for i, one in enumerate(readings) if (why := _refusal(one.whole, params))}
        return workloads_of(readings, params, name, refused)

    def model(self, format: str, source: Any, name: str, inputs: Inputs) -> Workload:
        # protobuf writes models of less than 2 GiB
        if format in _OWN_OBJECTS or not (isinstance(source, Path) or source.ByteSize() < 1 << 31):
            return HERE.model(format, source, name, inputs)
        given = {"format": format, "inputs": _shapes(inputs)}

        def again() -> Workload:
            return HERE.model(format, source, name, inputs)

        if isinstance(source, Path):
            return _load_in_child(
                "model", {**given, "path": str(source.absolute())}, name, again, size_of(source), MODEL
            )
        with temporary_folder() as folder:
            path = Path(folder) / f"model.{format}"
            path.write_bytes(source.SerializeToString())
            return _load_in_child("model", {**given, "path": str(path)}, name, again, size_of(path), MODEL)


def _load_in_child(
    job: str, arguments: dict[str, object], name: str, again: Callable[[], Workload], size: int, allowance: Allowance
) -> Workload:
    """Make a workload in the child, then here from the module that the child wrote; by `again` if TVM cannot write it."""
    dialect = dialect_here()
    with temporary_folder() as folder:
        answer = run_limited(job, {**arguments, "name": name, "folder": folder}, size, allowance)
        workload = dialect.frontend.restore(Path(folder)) if answer["saved"] else again()
        graph = Graph.from_json((Path(folder) / "graph.json").read_text(encoding="utf-8"))
    workload.name, workload.notes, workload.trusted = name, answer["notes"], answer["trusted"]
    workload._graph = runnable(graph, workload)  # noqa: SLF001
    return workload


def _refusal(text: str, params: Mapping[str, Any], progress: Progress | None = None) -> LoadError | None:
    """Return the error of TVM over a Relay text, if it makes no module of it or ends its process."""
    types = {name: [list(value.shape), str(value.dtype)] for name, value in params.items()}
    try:
        run_limited("check_relay", {"text": text, "types": types}, len(text), TEXT, progress)
    except LoadError as error:
        return error
    except WorkerLost:
        raise
    except WorkbenchError as error:
        return LoadError(str(error))
    return None


def run_limited(
    job: str,
    arguments: dict[str, object],
    size: int,
    allowance: Allowance,
    progress: Progress | None = None,
    python: Path | None = None,
) -> dict[str, Any]:
    """Return the child's answer to a job about a source of some bytes. Raises LoadError, or another error of the reader.

    The end of the child and a passed limit are a LoadError too; WorkerLost if the job was cancelled.
    """
    progress = under_way() if progress is None else progress
    seconds, memory = allowance.seconds_for(size), allowance.memory_for(size)
    try:
        answer = worker(LOADS, python).run(job, None, arguments, timeout=seconds, memory=memory, progress=progress)
    except WorkerLost as error:
        if error.status == "cancelled":
            raise
        # without what is said of jobs and measurements
        most = {"timeout": f"{seconds:.0f} s", "out of memory": f"{in_words(memory)} of memory"}.get(error.status)
        raise LoadError(
            str(error).partition("; the notebook is untouched")[0] if most is None else _BEYOND.format(most, size)
        ) from None
    except OutOfMemory:
        raise LoadError(_BEYOND.format(f"{in_words(memory)} of memory", size)) from None
    except MeasureError as error:
        raise LoadError(str(error)) from None
    if "error" in answer:
        raise from_data(answer["error"])
    return answer


_BEYOND = "TVM needs more than {} to read these {:,} bytes; read them with TVM yourself and load the module"


def size_of(path: Path) -> int:
    """Return the bytes of a model's file and of the other files in its folder, which may hold its weights."""
    try:
        return sum(file.stat().st_size for file in path.parent.iterdir() if file.is_file())
    except OSError:  # the child reports the error
        return 0


def _shapes(inputs: Inputs) -> list[tuple[object, object]]:
    """Return pairs of an input's name or index and its shape, which is all the child needs of an example array."""
    pairs = inputs.items() if isinstance(inputs, Mapping) else enumerate(inputs or ())
    return [(key, _shape(value)) for key, value in pairs]


def _shape(value: Any) -> list[int] | str:
    try:
        return [int(size) for size in getattr(value, "shape", value)]
    except (TypeError, ValueError):  # the child raises an error with the name of the input
        return value if isinstance(value, str) else repr(value)
