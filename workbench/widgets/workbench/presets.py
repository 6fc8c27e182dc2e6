"""A person's own presets: what was chosen, under a name, in one JSON file of their configuration folder.

The file is validated when it is read. One that is damaged is never written over: it stays beside the new one under another name.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import LoadError, PipelineError, UnknownName, WorkbenchError
from workbench.graph.nodes import DIALECTS
from workbench.graph.received import Damaged, fields, parse, texts
from workbench.pipeline.spec import Pipeline
from workbench.widgets.pictures import write
from workbench.widgets.workbench.choice import Choice

VERSION = 1
_TYPES: dict[str, type] = {
    "name": str,
    "dialect": str,
    "mode": str,
    "pipeline": str,
    "opt_level": int,
    "disabled": list,
    "required": list,
    "options": dict,
}


@dataclass(frozen=True)
class OwnPreset:
    """A choice that somebody saved."""

    name: str
    dialect: str
    choice: Choice


def place() -> Path:
    """Where the file is: in $XDG_CONFIG_HOME, else in $JUPYTER_CONFIG_DIR, else in ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("JUPYTER_CONFIG_DIR") or "~/.config"
    return Path(home).expanduser() / "tvm-workbench" / "presets.json"


def load() -> list[OwnPreset]:
    """All presets in the file, none where there is no file.

    Raises
    ------
    LoadError
        It cannot be read, is damaged, or was written by a newer version.
    """
    path = place()
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LoadError(f"your presets in {path.name} cannot be read: {error.strerror or error}") from None
    try:
        data = fields(parse(text), {"version": int, "presets": list})
        if data["version"] != VERSION:
            raise LoadError(f"your presets are left out: {path.name} is of version {data['version']}, not {VERSION}")
        return [_preset(entry) for entry in data["presets"]]
    except (Damaged, PipelineError) as error:
        raise LoadError(
            f"your presets are left out: {path.name} is damaged ({error!s:.120}); mend it or remove it"
        ) from None


def save(preset: OwnPreset) -> None:
    """Keep a preset, in the place of one of the same name and dialect.

    Raises
    ------
    WorkbenchError
        It has no name, holds a Python function, or the file cannot be written.
    """
    if not preset.name.strip():
        raise WorkbenchError("a preset needs a name; type one, then save it")
    functions = [step.name for step in preset.choice.pipeline if step.run is not None]
    if functions:
        raise WorkbenchError(f"{functions[0]} is a Python object, which a file cannot keep; name passes only")
    _write([*(other for other in _there() if not _same(other, preset.name, preset.dialect)), preset])


def delete(name: str, dialect: str) -> None:
    """Forget a preset.

    Raises
    ------
    UnknownName
        There is none of that name.
    """
    there = load()
    kept = [other for other in there if not _same(other, name, dialect)]
    if len(kept) == len(there):
        raise UnknownName("preset of yours", name, [other.name for other in there if other.dialect == dialect])
    _write(kept)


def _same(preset: OwnPreset, name: str, dialect: str) -> bool:
    return (preset.name, preset.dialect) == (name, dialect)


def _there() -> list[OwnPreset]:
    """The presets in the file; a file that cannot be understood is moved out of the way."""
    try:
        return load()
    except LoadError:
        path = place()
        number = 1
        while (aside := path.with_suffix(f".damaged-{number}.json")).exists():
            number += 1
        try:
            path.rename(aside)
        except OSError as error:
            raise WorkbenchError(f"{path.name} is damaged and cannot be moved aside: {error.strerror}") from None
        return []


def _write(presets: list[OwnPreset]) -> None:
    path = place()
    try:
        text = json.dumps({"version": VERSION, "presets": [_entry(preset) for preset in presets]}, indent=1)
    except (TypeError, ValueError) as error:
        raise WorkbenchError(f"this choice cannot be kept in a file: {error}") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbenchError(f"{path.parent.name} cannot be made: {error.strerror or error}") from None
    write(path, text.encode())


def _entry(preset: OwnPreset) -> dict[str, Any]:
    choice = preset.choice
    return {
        "name": preset.name,
        "dialect": preset.dialect,
        "mode": choice.mode,
        "pipeline": str(choice.pipeline),
        "opt_level": choice.opt_level,
        "disabled": list(choice.disabled),
        "required": list(choice.required),
        "options": dict(choice.options),
    }


def _preset(data: Any) -> OwnPreset:
    entry = fields(data, _TYPES)
    if entry["mode"] not in ("pipeline", "context") or entry["dialect"] not in DIALECTS:
        raise Damaged("a mode or a dialect in it is none of ours")
    names = [texts(entry[field], field) for field in ("disabled", "required")]
    pipeline = Pipeline.parse(entry["pipeline"])
    choice = Choice(entry["mode"], pipeline, entry["opt_level"], *names, options=entry["options"])
    return OwnPreset(entry["name"], entry["dialect"], choice)
