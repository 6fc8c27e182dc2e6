"""What the page may say to the Workbench: each message with its fields. Anything else is answered in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import WorkbenchError

Fields = Mapping[str, Mapping[str, type]]

FIELDS: Fields = {
    "toggle": {"index": int, "enabled": bool},
    "toggle_context": {"name": str, "enabled": bool},
    "opt_level": {"value": int},
    "mode": {"value": str},
    "preset": {"name": str},
    "entry": {"name": str},
    "save_preset": {"name": str},
    "delete_preset": {"name": str},
    "add": {"name": str, "index": int},
    "duplicate": {"index": int},
    "remove": {"index": int},
    "option": {"index": int, "name": str, "text": str},
    "setting": {"name": str, "text": str},
    "explore": {"index": int},
    "preview": {"name": str},
    "check": {},
    "step": {"index": int},
    "move": {"index": int, "to": int},
    "text": {"seq": int},
    "measure": {},
    "race": {},
    "build": {},
    "tab": {"name": str},
    "act": {"what": str, "arg": str},
    "set": {"name": str, "value": str},
    "cancel": {},
    "undo": {},
    "redo": {},
    "clear_rows": {},
}


def read(message: Any, known: Fields = FIELDS) -> tuple[str, dict[str, Any]] | None:
    """The kind of a message and its fields; None for what is not meant for Python.

    Raises
    ------
    WorkbenchError
        A field is missing or of another type.
    """
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in known:
        return None
    fields = {name: message.get(name) for name in known[kind]}
    for name, wanted in known[kind].items():
        # True is an int for isinstance
        if type(fields[name]) is not wanted:
            raise WorkbenchError(f"the page sent {kind!r} with {name} = {fields[name]!r}; it takes a {wanted.__name__}")
    return kind, fields
