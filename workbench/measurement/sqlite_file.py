"""The file of measured rows: SQLite, so that several notebooks may write it at once.

A damaged file of ours is renamed; a file of another program is refused and left as it is.
"""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from workbench.errors import StoreError
from workbench.terminal import visible

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

    Raises
    ------
    StoreError
        A newer workbench made the file, or it is a file of another program.
    sqlite3.DatabaseError
        SQLite's own error; of exactly this type if the file is damaged.
    """
    if not _may_be_ours(path):
        raise StoreError(_foreign(path))
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA trusted_schema=OFF")
        if _asked(connection, "user_version") == 0:
            _make(connection, path)
        _check(connection, path)
        # A commit is on the disk when it returns.
        connection.execute("PRAGMA synchronous=FULL")
        yield connection


def _may_be_ours(path: Path) -> bool:
    """Return whether a file is new, or begins as SQLite's do; `_check` checks the rest."""
    if not path.exists():
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) in (b"", _MAGIC)


def _foreign(path: Path) -> str:
    return (
        f"{path.name} is a file of something else, or its beginning is damaged, so nothing was written to it; "
        "move it away, or name another file in TVM_WORKBENCH_STORE"
    )


def is_ours(path: Path) -> bool:
    """Return whether the first bytes of a file show that this workbench made it."""
    with path.open("rb") as file:
        head = file.read(100)
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
    """Rename a damaged file with a warning; do nothing if another notebook did it already.

    Parameters
    ----------
    which
        The `identity` of the file that was found damaged.
    """
    with _alone(path):
        if identity(path) != which:
            return
        aside = _free_name(path)
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
        if _asked(connection, "user_version") != 0:
            return
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(_foreign(path))
        # Switching to the write-ahead log needs exclusive access, and SQLite does not wait for that.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(
            f"BEGIN; {_TABLES} PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION}; COMMIT;"
        )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if _asked(connection, "application_id") != APPLICATION:
        raise StoreError(_foreign(path))
    version = _asked(connection, "user_version")
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


def _asked(connection: sqlite3.Connection, name: str) -> int:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold an exclusive lock for the file: SQLite's own, on a file next to it, which works on every system."""
    lock = path.with_name(path.name + ".lock")
    with closing(sqlite3.connect(lock, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


def _free_name(path: Path) -> Path:
    """Return NAME.damaged-DATE, numbered if that name is taken."""
    stem = f"{path.name}.damaged-{time.strftime('%Y-%m-%d-%H%M%S')}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    return next(name for name in map(path.with_name, names) if not name.exists())
