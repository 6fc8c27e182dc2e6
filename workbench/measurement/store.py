"""The stored rows: each is on the disk when `append` returns, so a killed kernel loses none.

A row is kept as JSON with its raw samples; the keys for look-up have columns of their own.
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
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import installed
from workbench.errors import StoreError, sentence
from workbench.graph.received import Damaged, fields, parse
from workbench.measurement.machine import conditions, machine
from workbench.measurement.row import COLUMNS, workload_hash
from workbench.measurement.sqlite_file import identity, is_damage, is_ours, opened, set_aside
from workbench.terminal import visible
from workbench.wording import counted
from workbench.worker.cuda import gpu

if TYPE_CHECKING:
    import pandas as pd


VARIABLE = "TVM_WORKBENCH_STORE"
"an environment variable: another file, or `off`"
KEYS = ("workload_hash", "machine", "tvm")
"columns for look-up"
_T = TypeVar("_T")


def place() -> Path | None:
    """Return the file of measurements: $TVM_WORKBENCH_STORE, else one in the user's data folder; None for `off`."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() == "off":
        return None
    return Path(named).expanduser() if named else _data_folder() / "tvm-workbench" / "measurements.sqlite"


def append(row: Mapping[str, object]) -> None:
    """Keep one row. If that fails, a warning gives the reason, and the caller still has the row."""
    path = place()
    if path is None:
        return
    try:
        Store(path).append(row)
    except StoreError as error:
        warnings.warn(visible(f"this row is not kept: {error}"), RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Store:
    """The rows in one file."""

    path: Path

    def append(self, row: Mapping[str, object]) -> None:
        """Write a row and commit it.

        Parameters
        ----------
        row
            A row of `wb.measure`; numbers of numpy become Python's.

        Raises
        ------
        StoreError
            The file cannot be written, or belongs to another program or a newer workbench.
        """
        keys = [str(row.get(key) or "") for key in KEYS]
        values = [*keys, json.dumps(dict(row), default=_plain)]
        self._do(
            lambda file: file.execute(
                "INSERT INTO rows (workload_hash, machine, tvm, data) VALUES (?, ?, ?, ?)", values
            )
        )

    def rows(self, workload_hash: str | None = None) -> list[dict[str, Any]]:
        """Return every row, or those of one workload, newest last; unreadable rows are left out."""
        return self.read(workload_hash)[0]

    def read(self, workload_hash: str | None = None) -> tuple[list[dict[str, Any]], int]:
        """Return the rows, and the number of unreadable ones."""
        if not self.path.exists():
            return [], 0
        where, values = ("", []) if workload_hash is None else (" WHERE workload_hash = ?", [workload_hash])
        # as bytes, because SQLite keeps text that is not UTF-8 and Python refuses it
        query = f"SELECT CAST(data AS BLOB) FROM rows{where} ORDER BY id"
        kept = [_row(data) for (data,) in self._do(lambda file: file.execute(query, values).fetchall())]
        rows = [row for row in kept if row is not None]
        return rows, len(kept) - len(rows)

    def _do(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run an action on the file; if it is damaged, run the action again on a new file."""
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
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if which and is_damage(error) and is_ours(self.path):
                set_aside(self.path, which)
                raise _SetAside from error
            raise StoreError(_refusal(self.path, sentence(error))) from error
        except OSError as error:
            raise StoreError(_refusal(self.path, error.strerror or sentence(error))) from error


class _SetAside(StoreError):
    """The file was damaged and has been renamed."""


def _refusal(path: Path, reason: str) -> str:
    return f"the file of measurements {path.name} cannot be used ({reason}); name another in {VARIABLE}"


def _row(data: bytes) -> dict[str, Any] | None:
    """Return a row that `append` wrote; None if it is damaged."""
    try:
        row = parse(data)
        if not isinstance(row, dict):
            return None
        fields(row, dict.fromkeys((key for key in KEYS if row.get(key) is not None), str))
    except Damaged:
        return None
    return row


def _plain(value: Any) -> Any:
    """Convert a value without a JSON form to Python's own: numbers and arrays of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds a {type(value).__name__}, which is not a number, a text or a list")


def _data_folder() -> Path:
    """Return the folder of this system for a user's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


APART = ("machine", "tvm")
"rows that differ in one of these are never compared silently"


def history(workload: Workload | None = None, *, everywhere: bool = False) -> pd.DataFrame:
    """Return the stored rows of `wb.measure`, newest last.

    Parameters
    ----------
    workload
        Rows of this workload only, by `workload_hash`.
    everywhere
        Rows of other machines, of devices behind a tracker and of other TVMs too.

    Returns
    -------
    pandas.DataFrame
        The columns of `wb.measure`. `attrs["note"]` describes rows that were left out or mixed; it is empty otherwise.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> rows = wb.measure(w, [0], budget=0.05)
    >>> wb.history(w)["config"].iloc[-1]
    'opt 0'
    """
    from workbench.measurement.tables import Table

    workload = None if workload is None else workload_of(workload, "history")
    path = place()
    rows, unread = Store(path).read(None if workload is None else workload_hash(workload)) if path else ([], 0)
    if not everywhere:
        chosen = _from_here(rows, workload)
        note = _left_out_note(len(rows) - len(chosen))
    else:
        chosen = rows
        note = _mixed(rows)
    frame = Table(chosen, columns=_columns(chosen))
    frame.attrs["note"] = "; ".join(part for part in (note, _unread(unread)) if part)
    return frame


def _columns(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the columns of `wb.measure`, then additional ones of another version."""
    return list(dict.fromkeys((*COLUMNS, *(name for row in rows for name in row))))


def _from_here(rows: list[dict[str, object]], workload: Workload | None) -> list[dict[str, object]]:
    here = _here(workload.dialect if workload else installed())
    return [row for row in rows if all(row.get(name) == value for name, value in here.items())]


def _here(dialect: str | None) -> dict[str, object]:
    """Return the columns of rows of this machine and TVM; of any TVM if none is installed."""
    if dialect is None:
        found = gpu()
        return {"machine": machine("" if found is None else found.name)}
    now = conditions(dialect)
    return {name: now[name] for name in APART}


def _unread(count: int) -> str:
    return f"{'1 damaged row' if count == 1 else f'{count} damaged rows'} left out" if count else ""


def _left_out_note(count: int) -> str:
    if not count:
        return ""
    rows = counted(count, "row")
    return f"{rows} of other machines, devices or TVMs left out; wb.history(..., everywhere=True) shows all"


def _mixed(rows: list[dict[str, object]]) -> str:
    kinds = {tuple(row.get(name) for name in APART) for row in rows}
    if len(kinds) < 2:
        return ""
    return f"these rows are mixed: {len(kinds)} different pairs of machine and TVM; compare times only within one"
