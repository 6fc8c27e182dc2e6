"""The presets of a Workbench: the dialect's, the compiler's own, and those that the user saved.

The user's presets are in one JSON file of the configuration folder, which is validated when it is read. A damaged file is
never overwritten: it is kept under another name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import LoadError, PipelineError, UnknownName, WorkbenchError
from workbench.graph.nodes import DIALECTS
from workbench.graph.received import Damaged, contents, fields, parse, texts
from workbench.pipeline.spec import Pipeline
from workbench.widgets.blocks import action, sendable, words
from workbench.widgets.history import History
from workbench.widgets.messages import act
from workbench.widgets.page_types import PresetState
from workbench.widgets.pictures import write
from workbench.widgets.workbench.page import Page
from workbench.widgets.workbench.pass_list import MODES, Catalog, Choice

VERSION = 1
LARGEST = 1 << 24
"bytes of the file"
COMPILER_LEVELS = range(4)
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
    """A choice that the user saved."""

    name: str
    dialect: str
    choice: Choice

    def is_named(self, name: str, dialect: str) -> bool:
        return (self.name, self.dialect) == (name, dialect)


@dataclass(frozen=True)
class Start:
    """A preset of any kind: its description, the choice that it makes, and whether it is the user's."""

    doc: str
    choice: Choice
    own: bool = False


class Presets:
    """All presets of a dialect, and the list and the form of them on the page."""

    def __init__(self, catalog: Catalog, history: History[Choice], page: Page) -> None:
        self._catalog, self._history, self._page = catalog, history, page
        self._known: list[OwnPreset] = []
        "the user's presets when the file was last read"

    def start(self, name: str) -> Choice:
        """Return the choice of a preset; raises UnknownName."""
        starts = self.starts()
        if name not in starts:
            raise UnknownName("preset", name, starts)
        return starts[name].choice

    def starts(self) -> dict[str, Start]:
        """Return all presets by name, the user's last; the compiler's keep the pass list of the choice."""
        return self._all(self._own()[0])

    def save(self, name: str) -> None:
        """Save the choice under a name; a WorkbenchError gives the reason why it cannot be saved."""
        name, dialect, choice = name.strip(), self._catalog.dialect.name, self._history.current
        if name in self._all(()):
            raise WorkbenchError(f"{name!r} is a preset of the workbench; give yours another name")
        if not name:
            raise WorkbenchError("a preset needs a name; type one, then save it")
        functions = [step.name for step in choice.pipeline if step.run is not None]
        if functions:
            raise WorkbenchError(f"{functions[0]} is a Python object, which a file cannot keep; name passes only")
        there = _load_or_move_aside()
        _write([*(other for other in there if not other.is_named(name, dialect)), OwnPreset(name, dialect, choice)])
        self.show()

    def delete(self, name: str) -> None:
        """Delete a preset of the user; raises UnknownName."""
        dialect, there = self._catalog.dialect.name, load()
        kept = [other for other in there if not other.is_named(name, dialect)]
        if len(kept) == len(there):
            raise UnknownName("preset of yours", name, [other.name for other in there if other.dialect == dialect])
        _write(kept)
        self.show()

    @act("save")
    def _save(self, name: str) -> None:
        self._try(self.save, name)

    @act("delete")
    def _delete(self, name: str) -> None:
        self._try(self.delete, name)

    def _try(self, work: Callable[[str], None], name: str) -> None:
        """Save or delete; the form shows why that is refused."""
        try:
            work(name)
        except WorkbenchError as error:
            self.show(str(error))

    def show(self, trouble: str = "") -> None:
        """Read the user's presets again, and list all on the page; the form has them too, below what went wrong."""
        self._known, damage = self._own()
        form = [
            words("Keep these passes as", "note"),
            action("Save", "preset-save", title="Save as a preset, for every later Workbench", field=""),
            *(words(each, "bad", "preset-refused") for each in [trouble or damage] if each),
            *(
                action(f"\u00d7 {own.name}", "preset-delete", arg=own.name, title=f"Delete the preset {own.name}")
                for own in self._known
            ),
        ]
        self._page.push(presets=self.states())
        self._page.show(preset_form=sendable(form))

    def states(self) -> list[PresetState]:
        """Return the presets as the page lists them, with the one that the choice is marked as active."""
        return [
            {
                "name": name,
                "doc": start.doc,
                "own": start.own,
                "active": start.choice.runs_as(self._history.current),
                "opt_level": start.choice.opt_level,
            }
            for name, start in self._all(self._known).items()
        ]

    def _all(self, own: Sequence[OwnPreset]) -> dict[str, Start]:
        starts = {preset.name: Start("yours", preset.choice, own=True) for preset in own}
        given = {
            preset.name: Start(preset.doc, Choice("pipeline", Pipeline.parse(preset.pipeline), preset.opt_level))
            for preset in self._catalog.presets
        }
        for level in COMPILER_LEVELS:
            doc = f"the compiler's own pipeline at opt level {level}, nothing disabled"
            given[f"compiler, opt level {level}"] = Start(doc, Choice("context", self._history.current.pipeline, level))
        return {**given, **{name: start for name, start in starts.items() if name not in given}}

    def _own(self) -> tuple[list[OwnPreset], str]:
        """Return the user's presets of the dialect, and why the file cannot be read."""
        try:
            return [preset for preset in load() if preset.dialect == self._catalog.dialect.name], ""
        except LoadError as error:
            return [], str(error)


def place() -> Path:
    """Return the path of the file: in $XDG_CONFIG_HOME, else in $JUPYTER_CONFIG_DIR, else in ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("JUPYTER_CONFIG_DIR") or "~/.config"
    return Path(home).expanduser() / "tvm-workbench" / "presets.json"


def load() -> list[OwnPreset]:
    """Return all presets in the file, none without a file."""
    path = place()
    try:
        text = contents(path, LARGEST)
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


def _load_or_move_aside() -> list[OwnPreset]:
    """Return the presets in the file; rename a file that cannot be read."""
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
    entries = [
        {
            "name": preset.name,
            "dialect": preset.dialect,
            "mode": preset.choice.mode,
            "pipeline": str(preset.choice.pipeline),
            "opt_level": preset.choice.opt_level,
            "disabled": list(preset.choice.disabled),
            "required": list(preset.choice.required),
            "options": dict(preset.choice.options),
        }
        for preset in presets
    ]
    try:
        text = json.dumps({"version": VERSION, "presets": entries}, indent=1)
    except (TypeError, ValueError) as error:
        raise WorkbenchError(f"this choice cannot be kept in a file: {error}") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbenchError(f"{path.parent.name} cannot be made: {error.strerror or error}") from None
    write(path, text.encode())


def _preset(data: Any) -> OwnPreset:
    entry = fields(data, _TYPES)
    if entry["mode"] not in MODES or entry["dialect"] not in DIALECTS:
        raise Damaged("it has a mode or a dialect that the workbench does not know")
    names = [texts(entry[field], field) for field in ("disabled", "required")]
    pipeline = Pipeline.parse(entry["pipeline"])
    choice = Choice(entry["mode"], pipeline, entry["opt_level"], *names, options=entry["options"])
    return OwnPreset(entry["name"], entry["dialect"], choice)
