"""Measured rows, kept: each is on the disk when `append` returns, so a kernel that is killed loses none.

A row is kept as JSON with its raw samples; what it is looked up by stands in columns of its own.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from workbench.errors import StoreError, sentence
from workbench.measure.store.file import identity, is_damage, opened, set_aside
from workbench.terminal import visible

VARIABLE = "TVM_WORKBENCH_STORE"
"names another file, or is `off`"
KEYS = ("workload_hash", "machine", "tvm")
"what rows are looked up by"
_T = TypeVar("_T")


def place() -> Path | None:
    """The file of measurements: what TVM_WORKBENCH_STORE names, else one in the user's data folder; None if it is `off`."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() == "off":
        return None
    return Path(named).expanduser() if named else _data_folder() / "tvm-workbench" / "measurements.sqlite"


def append(row: Mapping[str, Any]) -> None:
    """Keep one row; where that can't be done, a warning says why, and what was measured is still given to the caller."""
    path = place()
    if path is None:
        return
    try:
        Store(path).append(row)
    except StoreError as error:
        warnings.warn(visible(f"this row is not kept: {error}"), RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Store:
    """Rows in one file."""

    path: Path

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row and commit it.

        Parameters
        ----------
        row
            What `wb.measure` says of one configuration; numbers of numpy become Python's.

        Raises
        ------
        StoreError
            The file cannot be written, is somebody else's, or a newer workbench's.
        """
        keys = [str(row.get(key) or "") for key in KEYS]
        values = [*keys, json.dumps(dict(row), default=_plain)]
        self._do(
            lambda file: file.execute(
                "INSERT INTO rows (workload_hash, machine, tvm, data) VALUES (?, ?, ?, ?)", values
            )
        )

    def rows(self, workload_hash: str | None = None) -> list[dict[str, Any]]:
        """Every row that can be read, or those of one workload, newest last; a warning counts the others."""
        if not self.path.exists():
            return []
        where, values = ("", []) if workload_hash is None else (" WHERE workload_hash = ?", [workload_hash])
        query = f"SELECT data FROM rows{where} ORDER BY id"
        found = [_row(data) for data in self._do(lambda file: _texts(file, query, values))]
        damaged = sum(row is None for row in found)
        if damaged:
            rows = "1 row is" if damaged == 1 else f"{damaged} rows are"
            warnings.warn(visible(f"{rows} damaged in {self.path.name} and left out"), RuntimeWarning, stacklevel=2)
        return [row for row in found if row is not None]

    def _do(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do something with the file, once more with a new one where it proves to be damaged."""
        try:
            return self._once(action)
        except _SetAside:
            return self._once(action)

    def _once(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        which = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            which = identity(self.path)
            with opened(self.path) as file:
                return action(file)
        except sqlite3.Error as error:
            if which and is_damage(error):
                set_aside(self.path, which)
                raise _SetAside from error
            raise StoreError(_refusal(self.path, sentence(error))) from error
        except OSError as error:
            raise StoreError(_refusal(self.path, error.strerror or sentence(error))) from error


class _SetAside(StoreError):
    """The file was damaged and has another name now."""


def _refusal(path: Path, reason: str) -> str:
    return f"the file of measurements {path.name} cannot be used ({reason}); name another in {VARIABLE}"


def _texts(file: sqlite3.Connection, query: str, values: Sequence[str]) -> list[object]:
    file.text_factory = bytes  # one text that is not UTF-8 would end the query
    return [data for (data,) in file.execute(query, values)]


def _row(data: object) -> dict[str, Any] | None:
    """The row in a text of the file; None where it is damaged."""
    try:
        row = json.loads(data) if isinstance(data, bytes) else None
    except (ValueError, RecursionError):
        return None
    keyed = isinstance(row, dict) and all(isinstance(row.get(key), (str, type(None))) for key in KEYS)
    return row if keyed else None


def _plain(value: Any) -> Any:
    """A value that JSON has no form for, as Python's own: numbers and arrays of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds a {type(value).__name__}, which is no number, text or list")


def _data_folder() -> Path:
    """Where this system keeps a user's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
