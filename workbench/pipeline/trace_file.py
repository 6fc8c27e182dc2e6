"""Traces as files: versioned, compressed JSON with each state once, no pickle; a saved trace replays without TVM."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from workbench.errors import LoadError, MeasureError, reason, writing
from workbench.graph.model import Graph
from workbench.graph.nodes import DIALECTS
from workbench.graph.received import Damaged, contents, fields, parse, place
from workbench.pipeline.config import Config
from workbench.pipeline.step import State, Step, Steps

AnyTrace = TypeVar("AnyTrace", bound=Steps)
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


def save(trace: Steps, path: str | Path) -> Path:
    """Write a trace.

    The file is written under another name and renamed when it is complete, so that an older trace is never partly
    overwritten.

    Raises LoadError: the file cannot be written.
    """
    path = Path(path)
    data = gzip.compress(json.dumps(_to_data(trace), separators=(",", ":")).encode(), mtime=0)
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


def load(path: str | Path, make: type[AnyTrace]) -> AnyTrace:
    """Read a file that `save` wrote; `make` is the class of the trace.

    Raises LoadError: the file is not a trace, or is of an unknown version, damaged or truncated.
    """
    path = Path(path)
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
        return _from_data(data, make)
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


def _from_data(data: object, make: type[AnyTrace]) -> AnyTrace:
    row = fields(data, _TRACE)
    build = fields(data, {"build": dict}, optional=True).get("build", {})
    if row["dialect"] not in DIALECTS:
        raise Damaged(f"its dialect is none of {', '.join(DIALECTS)}")
    states = [_state(each) for each in row["states"]]
    steps = tuple(_step(each, states, len(row["steps"])) for each in row["steps"])
    start = states[place(row["start"], len(states), "start")]
    return make(row["name"], row["dialect"], steps, start, row["opt_level"], _build(build))


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
