"""Temporary folders: those that a killed process left go at the next start, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import workbench

START = "from workbench.temporary import new_folder; print(new_folder().parent, flush=True); input()"


@contextmanager
def process(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a process that makes a folder and waits; yield it with the folder."""
    path = str(Path(workbench.__file__).parents[1])
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path}
    with subprocess.Popen(
        [sys.executable, "-c", START], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        yield started, Path(started.stdout.readline().strip())
        started.communicate("\n", timeout=30)


def test_killed_process_leaves_nothing_after_the_next_start(tmp_path: Path) -> None:
    temporary, outside = tmp_path / "tmp", tmp_path / "outside"
    for folder in (temporary / "tvm-workbench-process-of-mine", outside):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    (temporary / "tvm-workbench-process-abcdefgh").symlink_to(outside)
    with process(temporary) as (_, running), process(temporary) as (killed, left):
        (left / "link").symlink_to(outside)
        killed.send_signal(signal.SIGKILL)
        killed.wait(30)
        assert left.exists()
        with process(temporary) as (_, own):
            assert not left.exists()
            assert running.exists()
            assert own.exists()
        assert running.exists()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "tvm-workbench-process-abcdefgh",
        "tvm-workbench-process-of-mine",
    ]
    assert (outside / "file").exists()
