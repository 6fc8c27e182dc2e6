"""What goes wrong around traces: a killed child, a full disk. Each is an error in words, and what was there stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import MeasureError, WorkerLost
from workbench.worker.parent import worker

pytestmark = pytest.mark.one_dialect

# The file may not grow beyond what is given: the system then refuses the write, as a full disk does.
SAVE_ON_A_FULL_DISK = """
import resource, signal, sys
import workbench as wb
from workbench.errors import LoadError
trace = wb.Trace.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
try:
    trace.save(sys.argv[2])
except LoadError as error:
    print(error)
"""


def small(dialect: str) -> wb.Workload:
    return wb.samples.load("mlp", dialect=dialect, layers=1, width=4)


def kill() -> None:
    child = worker()._child
    assert child is not None
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL


def test_a_child_killed_while_it_builds_is_an_error_and_the_next_build_works(dialect: str) -> None:
    w = small(dialect)

    def killing(what: str, fraction: float | None) -> None:
        if what == "Compiling":
            kill()

    with pytest.raises(WorkerLost, match="SIGKILL"):
        wb.trace_build(w, progress=killing)
    assert wb.trace_build(w).steps


def test_what_a_killed_child_held_is_refused_and_what_was_looked_at_stays(dialect: str) -> None:
    t = wb.trace_build(small(dialect))
    changed = [step for step in t.steps if step.changed]
    seen = changed[0].after
    kill()
    assert changed[0].after is seen
    with pytest.raises(MeasureError, match="run trace_build again"):
        _ = changed[-1].after
    assert t.start.graph.nodes, "the notebook has the start itself"


def test_a_check_of_a_killed_child_says_what_it_could_not_run(dialect: str) -> None:
    t = wb.trace_build(small(dialect))
    place = next(place for place, step in enumerate(t.steps) if step.changed)
    kill()
    (row,) = t.check(place)
    assert row.status == "unknown"
    assert "run trace_build again" in row.message


def test_a_full_disk_leaves_the_trace_that_was_there(dialect: str, tmp_path: Path) -> None:
    first = wb.trace(small(dialect), "")
    path, other = tmp_path / "t.wbtrace", tmp_path / "other.wbtrace"
    first.save(path)
    wb.trace(wb.samples.load("branches", dialect=dialect), "").save(other)
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", SAVE_ON_A_FULL_DISK, str(other), str(path)], capture_output=True, text=True, check=True
    )
    assert "cannot be written" in done.stdout
    assert "untouched" in done.stdout
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other.wbtrace", "t.wbtrace"], (
        "nothing half written is left"
    )


def test_a_timeout_stops_the_build(dialect: str) -> None:
    with pytest.raises(WorkerLost, match="longer timeout"):
        wb.trace_build(wb.samples.load("resnet18", dialect=dialect), timeout=0.001)
