"""Traces as files: versioned, compressed JSON, each state once, no pickle; a saved trace replays with no TVM at all."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import LoadError, MeasureError, writing
from workbench.graph.json import from_data, to_data
from workbench.pipeline.config import Config
from workbench.pipeline.trace import State, Step, Trace

FORMAT = "tvm-workbench trace"
VERSION = 1
_STATUSES = ("changed", "same", "error", "skipped", "off")
_LARGEST = 1 << 30
"bytes that a file may unpack to: a small file must not fill the memory"


def save(trace: Trace, path: str | Path) -> Path:
    """Write a trace.

    The file is written beside its place and moved there when it is whole, so that a trace saved before is never half
    overwritten.

    Raises
    ------
    LoadError
        The place cannot be written.
    """
    path = Path(path)
    data = gzip.compress(json.dumps(_to_data(trace), separators=(",", ":")).encode(), mtime=0)
    with writing(path, LoadError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp lets nobody else read it, unlike any other file that is written here
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise LoadError(f"{path} cannot be written: {error.strerror}; what was there before is untouched") from None
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load(path: str | Path) -> Trace:
    """Read what `save` wrote.

    Raises
    ------
    LoadError
        The file is no trace, of an unknown version, damaged or cut short.
    """
    path = Path(path)
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}; check the path") from None
    try:
        data = json.loads(_unpacked(packed, path))
    except ValueError:
        raise LoadError(f"{path.name} is damaged; save the trace again") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LoadError(f"{path.name} is no saved trace; write one with Trace.save")
    if data.get("version") != VERSION:
        raise LoadError(
            f"{path.name} has format version {data.get('version')!r}, and this workbench reads {VERSION}; upgrade it"
        )
    try:
        return _from_data(data)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise LoadError(f"{path.name} is damaged ({error!r}); save the trace again") from None


def _unpacked(packed: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        data = unpacker.decompress(packed, _LARGEST)
    except zlib.error:
        raise LoadError(f"{path.name} is no saved trace, or damaged; write one with Trace.save") from None
    if not unpacker.eof:
        raise LoadError(f"{path.name} is cut short, or unpacks to more than {_LARGEST >> 20} MB; save the trace again")
    return data


def _to_data(trace: Trace) -> dict[str, Any]:
    places: dict[int, int] = {}
    states: list[dict[str, Any]] = []

    def place(state: State) -> int:
        if id(state) not in places:
            places[id(state)] = len(states)
            states.append({"graph": to_data(state.graph), "text": state.text})
        return places[id(state)]

    start = place(trace.start)
    steps = [
        {
            "name": step.name,
            "before": place(step.state_before),
            "after": place(step.state_after),
            "status": step.status,
            "seconds": step.seconds,
            "error": step.error,
            "detail": step.detail,
            "depth": step.depth,
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


def _from_data(data: dict[str, Any]) -> Trace:
    states = [_state(row) for row in data["states"]]
    steps = tuple(_step(row, states) for row in data["steps"])
    start, level = states[data["start"]], int(data["opt_level"])
    return Trace(str(data["name"]), str(data["dialect"]), steps, start, level, _build(data.get("build", {})))


def _build(row: dict[str, Any]) -> dict[str, Any]:
    """How the compiler was called. It becomes code (`Trace.code`), so nothing but what belongs there is taken."""
    if not row:
        return {}
    given = {key: value for key, value in row.items() if key not in ("target", "whole")}
    try:
        how = Config.of(given)
    except MeasureError as error:
        raise ValueError(str(error)) from None
    if not isinstance(row["target"], str) or not isinstance(row["whole"], bool):
        raise TypeError("build")
    return {**how.to_data(), "target": row["target"], "whole": row["whole"]}


def _state(row: dict[str, Any]) -> State:
    graph, text = from_data(row["graph"]), row["text"]
    if not isinstance(text, str):
        raise TypeError("text")
    return State(None, lambda: graph, lambda: text)


def _step(row: dict[str, Any], states: list[State]) -> Step:
    if row["status"] not in _STATUSES or min(row["before"], row["after"]) < 0:
        raise ValueError(row["status"])
    return Step(
        str(row["name"]),
        states[row["before"]],
        states[row["after"]],
        row["status"],
        float(row["seconds"]),
        str(row["error"]),
        str(row["detail"]),
        int(row["depth"]),
    )
