"""The stored rows: each is on the disk when `append` returns, so a killed kernel loses none.

A row is kept as JSON with its raw samples; the keys for look-up have columns of their own. The file is SQLite, so that several
notebooks may write it at once. A damaged file of ours is renamed; a file of another program is refused and left as it is.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import installed
from workbench.errors import StoreError, sentence
from workbench.graph.received import Damaged, contents, fields, parse
from workbench.measurement.machine import conditions, machine
from workbench.measurement.row import COLUMNS, Row, workload_hash
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


def append(row: Row) -> None:
    """Keep one row. If that fails, a warning gives the reason, and the caller still has the row."""
    path = place()
    if path is None:
        return
    try:
        Store(path).append(row.to_data())
    except StoreError as error:
        warnings.warn(visible(f"this row is not kept: {error}"), RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Store:
    """The rows in one file."""

    path: Path

    def append(self, row: Mapping[str, object]) -> None:
        """Write a row of `wb.measure` and commit it; numbers of numpy become Python's."""
        keys = [str(row.get(key) or "") for key in KEYS]
        values = [*keys, json.dumps(dict(row), default=plain)]
        self._do(
            lambda file: file.execute(
                "INSERT INTO rows (workload_hash, machine, tvm, data) VALUES (?, ?, ?, ?)", values
            )
        )

    def rows(self, workload_hash: str | None = None) -> list[dict[str, Any]]:
        """Return every row, or those of one workload, newest last; unreadable rows are left out."""
        return self.read(workload_hash)[0]

    def read(self, workload_hash: str | None = None) -> tuple[list[dict[str, Any]], int]:
        if not self.path.exists():
            return [], 0
        where, values = ("", []) if workload_hash is None else (" WHERE workload_hash = ?", [workload_hash])
        # as bytes, because SQLite keeps text that is not UTF-8 and Python refuses it
        query = f"SELECT CAST(data AS BLOB) FROM rows{where} ORDER BY id"
        kept = [_row(data) for (data,) in self._do(lambda file: file.execute(query, values).fetchall())]
        rows = [row for row in kept if row is not None]
        return rows, len(kept) - len(rows)

    def _do(self, action: Callable[[sqlite3.Connection], _T], again: bool = True) -> _T:
        """Run an action on the file; if it is damaged, run the action again on a new file."""
        which = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            which = identity(self.path)
            with opened(self.path) as file:
                return action(file)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if again and which and is_damage(error) and is_ours(self.path):
                set_aside(self.path, which)
                return self._do(action, again=False)
            reason, cause = sentence(error), error
        except OSError as error:
            reason, cause = error.strerror or sentence(error), error
        raise StoreError(
            f"the file of measurements {self.path.name} cannot be used ({reason}); name another in {VARIABLE}"
        ) from cause


def _row(data: bytes) -> dict[str, Any] | None:
    try:
        row = parse(data)
        if not isinstance(row, dict):
            return None
        fields(row, dict.fromkeys((key for key in KEYS if row.get(key) is not None), str))
    except Damaged:
        return None
    return row


def plain(value: Any) -> Any:
    """Convert a value without a JSON form to Python's own: numbers and arrays of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds a {type(value).__name__}, which is not a number, a text or a list")


def read_object(path: Path, most: int) -> dict[str, Any]:
    """Return the JSON object in a file of at most so many bytes; empty for a missing or damaged file."""
    try:
        data = parse(contents(path, most))
    except (FileNotFoundError, Damaged):
        return {}
    return data if isinstance(data, dict) else {}


def write_object(path: Path, data: Mapping[str, object]) -> None:
    """Replace a file by a JSON object, atomically."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(json.dumps(data, indent=1), encoding="utf-8")
    new.replace(path)


def _data_folder() -> Path:
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
    if everywhere:
        chosen, kinds = rows, {tuple(row.get(name) for name in APART) for row in rows}
        note = f"these rows are mixed: {len(kinds)} different pairs of machine and TVM; compare times only within one"
        note = note if len(kinds) > 1 else ""
    else:
        here = _here(workload.dialect if workload else installed())
        chosen = [row for row in rows if all(row.get(name) == value for name, value in here.items())]
        left = counted(len(rows) - len(chosen), "row")
        note = f"{left} of other machines, devices or TVMs left out; wb.history(..., everywhere=True) shows all"
        note = note if len(chosen) < len(rows) else ""
    damaged = f"{'1 damaged row' if unread == 1 else f'{unread} damaged rows'} left out" if unread else ""
    # those of `wb.measure`, then additional ones of another version
    columns = list(dict.fromkeys((*COLUMNS, *(name for row in chosen for name in row))))
    frame = Table(chosen, columns=columns)
    frame.attrs["note"] = "; ".join(filter(None, (note, damaged)))
    return frame


def _here(dialect: str | None) -> dict[str, object]:
    """Return the columns of rows of this machine and TVM; of any TVM if none is installed."""
    if dialect is None:
        found = gpu()
        return {"machine": machine("" if found is None else found.name)}
    now = conditions(dialect)
    return {name: now[name] for name in APART}


VERSION = 1
"of the tables below; a file has its own in `user_version`"
APPLICATION = 0x74766D77
"`application_id` of a file that is ours"
BUSY_SECONDS = 30.0
"the time that a writer waits for others"

_TABLES = """
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    workload_hash TEXT NOT NULL,
    machine TEXT NOT NULL,
    tvm TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX rows_by_workload ON rows (workload_hash, machine, tvm);
"""
_SCHEMA = sorted((statement.strip(),) for statement in _TABLES.split(";") if statement.strip())
_MAGIC = b"SQLite format 3\0"
_checked: set[tuple[str, int]] = set()
"files, by path and inode, that this process has checked once"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the file, which is created if necessary.

    A file of a newer workbench or of another program is refused. SQLite's own error is of exactly sqlite3.DatabaseError if
    the file is damaged.
    """
    is_new = not path.exists()
    if not is_new and (not path.is_file() or _head(path)[: len(_MAGIC)] not in (b"", _MAGIC)):
        raise StoreError(_foreign(path))
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA trusted_schema=OFF")
        if _pragma(connection, "user_version") == 0:
            _make(connection, path)
        _check(connection, path)
        # A commit is on the disk when it returns.
        connection.execute("PRAGMA synchronous=FULL")
        yield connection


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def _foreign(path: Path) -> str:
    return (
        f"{path.name} is a file of something else, or its beginning is damaged, so nothing was written to it; "
        "move it away, or name another file in TVM_WORKBENCH_STORE"
    )


def is_ours(path: Path) -> bool:
    """Return whether the first bytes of a file show that this workbench made it."""
    head = _head(path)
    return head.startswith(_MAGIC) and head[68:72] == APPLICATION.to_bytes(4, "big")


def is_damage(error: Exception) -> bool:
    """Return whether the file itself is damaged: SQLite raises the base class for that, and a subclass otherwise.

    A message of SQLite that quotes a damaged file may not be UTF-8.
    """
    return type(error) in (sqlite3.DatabaseError, UnicodeDecodeError)


def identity(path: Path) -> int:
    """Return the number that distinguishes a file from a later one of the same name; 0 for no file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def set_aside(path: Path, which: int) -> None:
    """Rename a damaged file of that `identity` with a warning; do nothing if another notebook did it already."""
    with _alone(path):
        if identity(path) != which:
            return
        stem = f"{path.name}.damaged-{time.strftime('%Y-%m-%d-%H%M%S')}"
        names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
        aside = next(name for name in map(path.with_name, names) if not name.exists())
        # SQLite keeps more files next to it, which are needed to recover its rows
        for ending in ("-wal", "-shm", ""):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.rename(aside.with_name(aside.name + ending))
    warnings.warn(
        f"the file of measurements was damaged: it is now {visible(aside.name)}, in the same folder, and a new one was begun",
        RuntimeWarning,
        stacklevel=2,
    )


def _make(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables, unless another notebook just did."""
    with _alone(path):
        if _pragma(connection, "user_version") != 0:
            return
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(_foreign(path))
        # Switching to the write-ahead log needs exclusive access, and SQLite does not wait for that.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(
            f"BEGIN; {_TABLES} PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION}; COMMIT;"
        )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION:
        raise StoreError(_foreign(path))
    version = _pragma(connection, "user_version")
    if version > VERSION:
        raise StoreError(
            f"{path.name} was written by a newer tvm-workbench (its format is {version}, this one knows {VERSION}); "
            "update tvm-workbench, or name another file in TVM_WORKBENCH_STORE"
        )
    # a view or a trigger instead of a table could run for ever
    if sorted(connection.execute("SELECT sql FROM sqlite_master").fetchall()) != _SCHEMA:
        raise StoreError(_foreign(path))
    key = (os.fspath(path), identity(path))
    if key not in _checked:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        _checked.add(key)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold an exclusive lock for the file: SQLite's own, on a file next to it, which works on every system."""
    lock = path.with_name(path.name + ".lock")
    with closing(sqlite3.connect(lock, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
