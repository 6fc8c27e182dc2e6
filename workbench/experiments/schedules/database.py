"""The folder of a database of schedules: its path, its lock, and its repair after a killed run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.dialects.scheduling import RECORDS, WORKLOADS
from workbench.errors import StoreError
from workbench.graph.received import contents
from workbench.measurement.store import place, read_object, write_object

ABOUT, DONE = "about.json", "done.json"
LARGEST = 1 << 30
"bytes of a file of the database"
SAME = ("dialect", "tvm", "machine", "target")
"fields that must match for schedules to apply; TVM itself checks neither the target nor the machine of a database"


def folder_for(about: Mapping[str, object]) -> Path | None:
    """Return the folder for one TVM, machine and target (SAME), next to the file of measurements; None if nothing is kept."""
    store = place()
    if store is None:
        return None
    named = hashlib.sha256(json.dumps([about[key] for key in SAME]).encode()).hexdigest()[:12]
    return store.parent / f"{store.stem}-schedules" / named


def begun(folder: Path, about: Mapping[str, Any]) -> None:
    """Make the folder, with a file that names its TVM, machine and target; StoreError if it belongs to another one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = folder / ABOUT
        if written.exists():
            before = read_object(written, LARGEST)
            if not before:
                raise StoreError(f"{ABOUT} in the folder of schedules {folder.name!r} is damaged; give another folder")
            other = [key for key in SAME if before.get(key) != about[key]]
            if other:
                raise StoreError(
                    f"the schedules in {folder.name!r} are for another {' and '.join(other)}; give another folder"
                )
        else:
            write_object(written, {key: about[key] for key in SAME})
    except OSError as error:
        raise StoreError(
            f"the folder of schedules {folder.name!r} cannot be used ({error.strerror}); give another one"
        ) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the database for writing: TVM numbers entries as it finds them, and two writers would mix them up."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                "another run tunes with these schedules; wait for it, stop it, or give a folder of its own"
            ) from None
        yield


def mend(folder: Path) -> None:
    """Cut off a half-written end that a killed run left, for which TVM would reject the whole database."""
    for name in (WORKLOADS, RECORDS):
        path = folder / name
        data = contents(path, LARGEST) if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(path, len(whole))


def trials_done(folder: Path, key: str) -> int:
    """Return the trials with which a search for this kernel ended; some kernels have fewer schedules than that."""
    trials = read_object(folder / DONE, LARGEST).get(key)
    return trials if type(trials) is int else 0


def note_done(folder: Path, key: str, trials: int) -> None:
    """Record that a search ended."""
    write_object(folder / DONE, {**read_object(folder / DONE, LARGEST), key: trials})
