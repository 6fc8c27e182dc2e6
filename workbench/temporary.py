"""Temporary folders of this process, in one folder that a later process removes if this one is killed.

The folder is locked while its process runs. The system frees the lock at any end of the process, and programs that clean up
temporary files leave a locked folder alone.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from contextlib import suppress
from multiprocessing import util
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: what a killed process left stays
    fcntl = None

PREFIX = "tvm-workbench-process-"
_OURS = re.compile(f"{PREFIX}[a-z0-9_]{{8}}")
_made: dict[int, Path] = {}
"by process id: a forked copy has a folder of its own"
_making = threading.Lock()


def new_folder() -> Path:
    """Make an empty folder, which is removed with this process."""
    return Path(tempfile.mkdtemp(dir=_own_folder()))


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return an empty folder for a `with` statement, which removes it at its end."""
    return tempfile.TemporaryDirectory(dir=_own_folder())


def _own_folder() -> Path:
    with _making:
        folder = _made.get(os.getpid())
        if folder is None or not folder.is_dir():
            _remove_left()
            folder = _made[os.getpid()] = _locked_folder()
            # also in a process of multiprocessing, which ends without atexit; after the workers, whose priority is 10
            util.Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=5)
        return folder


def _locked_folder() -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        if fcntl is None:
            return folder
        with suppress(FileNotFoundError):  # a process that starts too removed it before it was locked
            opened = os.open(folder, os.O_RDONLY)
            fcntl.flock(opened, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(opened), folder.stat()):
                return folder


def _remove_left() -> None:
    """Remove the folders that killed processes of this user left."""
    if fcntl is None:
        return
    for found in os.scandir(tempfile.gettempdir()):
        with suppress(OSError):  # its process runs and has it locked, or it is not a folder, or it is gone
            if _OURS.fullmatch(found.name) and found.stat(follow_symlinks=False).st_uid == os.getuid():
                opened = os.open(found.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(found.path)
                finally:
                    os.close(opened)
