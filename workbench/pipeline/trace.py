"""A Trace: the list of graphs that a pipeline makes, and the changes from each to the next; and its file.

A file is versioned, compressed JSON with each state once, no pickle; a saved trace replays without TVM.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import LoadError, MeasureError, WorkbenchError, reason, writing
from workbench.graph.changes import GraphDiff
from workbench.graph.diff import diff
from workbench.graph.model import Graph
from workbench.graph.nodes import DIALECTS
from workbench.graph.received import Damaged, contents, fields, parse, place
from workbench.pipeline.config import Config
from workbench.pipeline.step import State, Step, Steps
from workbench.terminal import html_table
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT

if TYPE_CHECKING:
    from tvm.ir import IRModule

    from workbench.dialects.compiler.inputs import Inputs
    from workbench.pipeline.checks import Checks, StepCheck
    from workbench.pipeline.lineage import Lineage


@dataclass(frozen=True, eq=False)
class Trace(Steps):
    """The steps of a pipeline on a workload.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> import tempfile
    >>> path = wb.trace(w, "EliminateCommonSubexpr").save(tempfile.mkdtemp() + "/casts.wbtrace")
    >>> t = wb.Trace.open(path)
    >>> t.steps[0].name, t.steps[0].status
    ('EliminateCommonSubexpr', 'changed')
    """

    @property
    def result(self) -> IRModule:
        """The module after the last pass.

        Raises
        ------
        WorkbenchError
            The trace has graphs and text only: it was opened from a file, or the compiler ran in the child process.
        """
        if self.end.module is None:
            raise WorkbenchError("this trace holds graphs and text, no modules; run wb.trace to get a module")
        return self.end.module

    @cached_property
    def diff(self) -> GraphDiff:
        """The changes of the whole pipeline to the graph: each node is followed from step to step."""
        return diff(self.start.graph, self.end.graph)

    def lineage(self, step: int | Step, node: int, side: str = "after") -> Lineage:
        """Follow one node through the trace: its origin, the nodes that it became, and the kernel that it ended in.

        Parameters
        ----------
        step
            A step of this trace or its place in `steps`.
        node
            Id of a node of the step's graph.
        side
            The graph of the node, `after` or `before` the step.

        Raises
        ------
        WorkbenchError
            There is no such step or node.
        """
        from workbench.pipeline.lineage import lineage

        return lineage(self, self.step(step).state_before if side == "before" else self.step(step).state_after, node)

    def check(
        self,
        steps: int | Iterable[int] | None = None,
        *,
        inputs: Inputs | None = None,
        seed: int = 0,
        timeout: float = TIMEOUT,
        progress: Callable[[StepCheck], None] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Checks:
        """Check that no pass changed the outputs: run the modules before and after each step on the same random inputs.

        Both are compiled as they are, at opt level 0 and without SimplifyExpr and FoldConstant, which run even at that level. A
        step that changed nothing is not run. If the outputs differ, the result has the first node that differs.

        Parameters
        ----------
        steps
            Places of the steps to check; by default all.
        inputs
            Arrays by the name of the input, `{"ids": array}`; of a tuple a tuple of arrays. The other inputs are random.
        progress
            Called with each checked step; by default progress is shown in the cell or the terminal after a second.

        Raises
        ------
        WorkbenchError
            The trace was opened from a file, so it holds no modules.
        """
        from workbench.pipeline.checks import check

        return check(self, steps, inputs=inputs, seed=seed, timeout=timeout, progress=progress, cancelled=cancelled)

    def code(self) -> str:
        """Return Python that repeats this trace, as the text of a module.

        It needs TVM alone, unless the trace has passes of ours, such as CutFusion, which it imports. The module of a pipeline
        has a function `transformed(mod, params)`, whose result is structurally equal to `result`; that of a build has
        `built(mod, params)`, and `optimized`, the graph-level part of it.
        """
        from workbench.pipeline.codegen import code

        return code(self)

    def save(self, path: str | Path) -> Path:
        """Write the trace to a file, by convention `.wbtrace`, with the graphs and texts of all states but no modules.

        Raises
        ------
        WorkbenchError
            The suffix is that of a page or a picture, or the file cannot be written.
        """
        if Path(path).suffix.lower() in (".html", ".svg", ".pdf", ".png"):
            raise WorkbenchError(
                f"a trace is saved as .wbtrace, not as {Path(path).name!r}; wb.PassStepper(trace).save writes a page"
            )
        return _save(self, Path(path))

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Read a saved trace; needs no TVM.

        Raises
        ------
        LoadError
            The file is not a trace, or is of an unknown version, damaged or truncated.
        """
        return _load(Path(path))

    def __repr__(self) -> str:
        changed = sum(step.changed for step in self.steps)
        return f"Trace({self.name!r}: {counted(len(self.steps), 'step')}, {changed} changed the module)"

    def _repr_html_(self) -> str:
        rows = (
            {
                "step": place,
                "pass": step.name,
                "result": step.error or (step.flaw and f"not well-formed: {step.flaw}") or step.status,
                "ms": step.seconds * 1e3,
            }
            for place, step in enumerate(self.steps)
        )
        return html_table(repr(self), rows)


FORMAT = "tvm-workbench trace"
VERSION = 1
_STATUSES = ("changed", "same", "error", "skipped", "off")
_PACKED = 1 << 28
"bytes of a file"
_LARGEST, _SMALL, _RATIO = 1 << 29, 1 << 26, 100
"unpacked bytes: the maximum, the amount that any file may have, and the amount for each byte of the file"
_MOST_VALUES, _FEW_VALUES, _VALUES_PER_BYTE = 20_000_000, 2_000_000, 20
"the same limits for values; each takes about 100 bytes of memory"
_TRACE = {"name": str, "dialect": str, "opt_level": int, "start": int, "steps": list, "states": list}
_SAVED = {"name": str, "status": str, "seconds": float, "error": str, "detail": str, "depth": int}
"fields of a Step"
_STEP = {**_SAVED, "before": int, "after": int}
_STATE = {"graph": dict, "text": str}
_BUILD = {"target": str, "whole": bool}


def _save(trace: Steps, path: Path) -> Path:
    """Write a trace under another name, which is replaced when it is complete, so that an older trace is never partly overwritten.

    Raises LoadError: the file cannot be written.
    """
    # level 9 takes three times as long, and more for each byte of a longer text, for 2 % of the size
    data = gzip.compress(json.dumps(_to_data(trace), separators=(",", ":")).encode(), 6, mtime=0)
    with writing(path, LoadError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes a file that only its owner can read, unlike other files written here
        os.umask(mask := os.umask(0))
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise LoadError(f"{path} cannot be written: {error.strerror}; what was there before is untouched") from None
    return path


def _load(path: Path) -> Trace:
    try:
        packed = contents(path, _PACKED)
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; check the path") from None
    try:
        data = parse(_unpacked(packed), min(_MOST_VALUES, _FEW_VALUES + _VALUES_PER_BYTE * len(packed)))
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise LoadError(f"{path.name} is not a saved trace; write one with Trace.save")
        if data.get("version") != VERSION:
            raise LoadError(
                f"{path.name} has format version {data.get('version')!r:.40}, and this workbench reads {VERSION}; upgrade it"
            )
        return _from_data(data)
    except Damaged as error:
        raise LoadError(f"{path.name} is not a saved trace, or is damaged ({error}); save the trace again") from None


def _unpacked(packed: bytes) -> bytes:
    most = min(_LARGEST, _SMALL + _RATIO * len(packed))
    unpacker = zlib.decompressobj(wbits=31)
    try:
        data = unpacker.decompress(packed, most)
    except zlib.error:
        raise Damaged("it is not compressed as traces are") from None
    if not unpacker.eof:
        raise Damaged(f"it is cut short, or unpacks to more than {most >> 20} MB")
    return data


def _to_data(trace: Steps) -> dict[str, object]:
    places: dict[int, int] = {}
    states: list[dict[str, object]] = []

    def place(state: State) -> int:
        if id(state) not in places:
            places[id(state)] = len(states)
            states.append({"graph": state.graph.to_data(), "text": state.text})
        return places[id(state)]

    start = place(trace.start)
    steps = [
        {
            **{name: getattr(step, name) for name in _SAVED},
            "before": place(step.state_before),
            "after": place(step.state_after),
        }
        for step in trace.steps
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": trace.name,
        "dialect": trace.dialect,
        "opt_level": trace.opt_level,
        "build": dict(trace.build),
        "start": start,
        "steps": steps,
        "states": states,
    }


def _from_data(data: object) -> Trace:
    row = fields(data, _TRACE)
    build = fields(data, {"build": dict}, optional=True).get("build", {})
    if row["dialect"] not in DIALECTS:
        raise Damaged(f"its dialect is none of {', '.join(DIALECTS)}")
    states = [_state(each) for each in row["states"]]
    steps = tuple(_step(each, states, len(row["steps"])) for each in row["steps"])
    start = states[place(row["start"], len(states), "start")]
    return Trace(row["name"], row["dialect"], steps, start, row["opt_level"], _build(build))


def _build(row: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of the compiler's call. They become code (`Trace.code`), so only valid ones are accepted."""
    if not row:
        return {}
    called = fields(row, _BUILD)
    try:
        json.dumps(row, allow_nan=False)
    except ValueError:
        raise Damaged("an option of its build is not a finite number") from None
    try:
        how = Config.of({key: value for key, value in row.items() if key not in _BUILD})
    except MeasureError as error:
        raise Damaged(str(error)) from None
    return {**how.to_data(), **called}


def _state(data: object) -> State:
    row = fields(data, _STATE)
    try:
        graph, text = Graph.from_data(row["graph"]), row["text"]
    except LoadError as error:
        raise Damaged(str(error)) from None
    return State(None, lambda: graph, lambda: text)


def _step(data: object, states: list[State], steps: int) -> Step:
    row = fields(data, _STEP)
    if row["status"] not in _STATUSES:
        raise Damaged(f"a step's status is none of {', '.join(_STATUSES)}")
    before, after = (states[place(row.pop(name), len(states), name)] for name in ("before", "after"))
    place(row["depth"], steps, "depth")
    return Step(state_before=before, state_after=after, **row)
