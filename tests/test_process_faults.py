"""A job that forks gives one answer; the child process ends with all that it started, and with the notebook."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from jobs_that_fail import parent

import workbench as wb
from workbench.errors import MeasureError, WorkerLost
from workbench.worker import launch
from workbench.worker.launch import Child
from workbench.worker.parent import LOADS, UNASKED, Worker, counting_worker, unasked
from workbench.worker.parent import worker as role

pytestmark = [pytest.mark.one_dialect, pytest.mark.usefixtures("jobs")]

NOTEBOOK = """
import os, sys
import workbench as wb
from jobs_that_fail import parent
from workbench.worker.parent import worker
def show(what, fraction):
    if what.startswith("started"):
        child = worker()._child.pid
        print(child, parent(child), parent(parent(child)), what.split()[1], flush=True)
job = {"how": sys.argv[1], "then": "wait"}
worker().run("jobs_that_fail:start_and_wait", wb.samples.load("mlp", layers=1, width=4), job, progress=show)
"""
FORKED = """
import os, sys
import workbench as wb
from workbench.worker.parent import worker
w = wb.samples.load("mlp", layers=1, width=4)
worker().run("jobs_that_fail:name", w, {})
if os.fork() == 0:
    print(worker().run("jobs_that_fail:name", w, {}), flush=True)
    sys.exit()
os.wait()
before = worker()._child.pid
print(worker().run("jobs_that_fail:name", w, {}), worker()._child.pid == before)
"""


@pytest.fixture
def worker(child: Worker, dialect: str) -> Worker:
    return child


@pytest.fixture
def w(dialect: str) -> wb.Workload:
    return wb.samples.load("mlp", layers=1, width=4)


def runs(pid: int) -> bool:
    """Return whether a process runs; one that ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("then", ["return", "raise", "leave", "report"])
def test_forking_job_gives_one_answer(worker: Worker, w: wb.Workload, then: str) -> None:
    seen: list[str] = []
    arguments = {"then": then}
    answer = worker.run("jobs_that_fail:fork", w, arguments, progress=lambda what, _fraction: seen.append(what))
    assert answer == "mlp"
    with pytest.raises(MeasureError, match="the reason"):
        worker.run("jobs_that_fail:fail", w, {})
    assert worker.run("jobs_that_fail:name", w, {}) == "mlp"
    assert "the copy" not in seen


def test_automatic_job_is_stopped_during_those_of_the_user(w: wb.Workload) -> None:
    over, answers = threading.Event(), []
    for each in (role(), role(UNASKED)):  # one that started earlier does not find the jobs of this test
        each.stop()

    def automatic() -> None:
        with unasked():
            answers.append(role().run("jobs_that_fail:wait", w, {"seconds": 0.3}, timeout=20))

    def state() -> str:
        pid = getattr(role(UNASKED)._child, "pid", None)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if pid else ""

    def seen(_what: str, _fraction: float | None) -> None:
        if wait_for(lambda: state() == "T"):
            over.set()

    thread = threading.Thread(target=automatic)
    thread.start()
    assert wait_for(lambda: state() == "S", 60)
    with pytest.raises(WorkerLost, match="cancelled"):
        role().run("jobs_that_fail:wait", w, {}, progress=seen, cancelled=over.is_set)
    thread.join(30)
    assert answers == ["mlp"]
    assert over.is_set()


def test_count_of_the_user_runs_in_the_child_of_automatic_work_if_that_is_idle(w: wb.Workload) -> None:
    role().stop()
    with unasked():
        found = wb.count(w)
    assert (wb.count(w), role()._child) == (found, None)
    with role(UNASKED)._free:
        assert counting_worker() is role()
    role(UNASKED).stop()
    assert counting_worker() is role()


@pytest.mark.parametrize("isolated", [True, False])
def test_forking_pass_leaves_one_process(dialect: str, tmp_path: Path, isolated: bool) -> None:
    w = wb.samples.load("mlp", dialect=dialect, layers=1, width=4)
    here = tmp_path / "pids"

    def forks(module: Any) -> Any:
        import os

        os.fork()
        with here.open("a") as file:
            print(os.getpid(), file=file)
        return module

    def fails(module: Any) -> Any:
        raise ValueError("this one fails")

    steps = wb.trace(w, [forks, fails, forks], isolated=isolated).steps
    assert [step.status for step in steps] == ["same", "error", "same"]
    pids = [int(line) for line in here.read_text().split()]
    mine = role("trials")._child
    kept = mine.pid if isolated and mine is not None else os.getpid()
    assert wait_for(lambda: not any(runs(pid) for pid in pids if pid != kept))


@pytest.mark.parametrize("stamp", ["pid", "_number"])
def test_answer_of_another_process_or_job_is_refused(worker: Worker, w: wb.Workload, stamp: str) -> None:
    worker.run("jobs_that_fail:name", w, {})
    child = worker._child
    assert child is not None
    ask = child.ask

    def ask_as_another(message: dict[str, Any]) -> None:
        ask(message)
        setattr(child, stamp, getattr(child, stamp) + 1)

    child.ask = ask_as_another  # pyright: ignore[reportAttributeAccessIssue]  the answer then seems to be another's
    with pytest.raises(WorkerLost, match="no result"):
        worker.run("jobs_that_fail:name", w, {}, timeout=1)


def test_job_that_exits_fails_and_the_child_lives(worker: Worker, w: wb.Workload) -> None:
    with pytest.raises(MeasureError, match="SystemExit: 3"):
        worker.run("jobs_that_fail:exit_early", w, {})
    assert worker.run("jobs_that_fail:name", w, {}) == "mlp"


def test_job_that_closes_the_line_is_a_crash(worker: Worker, w: wb.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    # the child still runs, so nothing is gained by waiting for its exit code as long as usual
    monkeypatch.setattr(launch, "END_SECONDS", 0.5)
    with pytest.raises(WorkerLost, match="closed its line"):
        worker.run("jobs_that_fail:hang_up", w, {})
    assert worker.run("jobs_that_fail:name", w, {}) == "mlp"


@pytest.mark.parametrize(
    ("how", "then"), [("plain", "wait"), ("session", "wait"), ("orphan", "wait"), ("orphan", "crash")]
)
def test_started_processes_end_with_the_job(worker: Worker, w: wb.Workload, how: str, then: str) -> None:
    seen: list[str] = []
    words = "SIGSEGV" if then == "crash" else "cancelled"
    arguments = {"how": how, "then": then}
    with pytest.raises(WorkerLost, match=words):
        worker.run(
            "jobs_that_fail:start_and_wait",
            w,
            arguments,
            progress=lambda what, _fraction: seen.append(what),
            cancelled=lambda: then == "wait" and "started" in seen[-1],
        )
    assert not runs(int(seen[-1].split()[1]))


@pytest.mark.parametrize("who", ["supervisor", "fork server"])
def test_killed_parent_takes_the_child_with_it(worker: Worker, w: wb.Workload, who: str) -> None:
    worker.run("jobs_that_fail:name", w, {})
    child = worker._child
    assert child is not None
    supervisor = parent(child.pid)
    os.kill(supervisor if who == "supervisor" else parent(supervisor), signal.SIGKILL)
    assert wait_for(lambda: not runs(child.pid))
    assert worker.run("jobs_that_fail:name", w, {}) == "mlp"


@pytest.mark.parametrize("how", ["plain", "orphan"])
def test_killed_notebook_takes_all_processes_with_it(dialect: str, how: str) -> None:
    notebook = subprocess.Popen([sys.executable, "-c", NOTEBOOK, how], stdout=subprocess.PIPE, text=True)
    try:
        assert notebook.stdout is not None
        pids = [int(pid) for pid in notebook.stdout.readline().split()]
        assert len(set(pids)) == 4
        assert all(runs(pid) for pid in pids)
    finally:
        notebook.kill()
        notebook.communicate()
    assert wait_for(lambda: not any(runs(pid) for pid in pids)), "each of them is gone within seconds"


@pytest.mark.long
def test_forked_notebook_has_a_child_of_its_own(dialect: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["mlp", "mlp", "True"]


def test_interrupt_of_the_start_leaves_no_child(
    worker: Worker, w: wb.Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Child] = []
    worker.stop()

    def interrupted(child: Child, seconds: float) -> bool:
        started.append(child)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Child, "greeted", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.run("jobs_that_fail:name", w, {})
    assert [child.alive() for child in started] == [False]
    assert worker.run("jobs_that_fail:name", w, {}) == w.name


def test_child_is_forked_with_tvm_and_under_the_present_variables(
    jobs: None, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = set()
    # TVM reads the last one when it is loaded: it needs another fork server
    for name in ("ANY_NAME", "ANY_NAME", "TVM_NUM_THREADS"):
        monkeypatch.setenv(name, f"{len(servers)}")
        with closing(Worker()) as mine:
            assert mine.run("jobs_that_fail:seen", None, {"variable": name}) == [True, 1, f"{len(servers)}"]
            assert mine._child is not None
            servers.add(parent(parent(mine._child.pid)))
    assert len(servers) == 2


@pytest.mark.parametrize("imports", ["fail", "leave a thread"])
def test_server_that_may_not_be_forked_leaves_the_imports_to_the_child(
    jobs: None, dialect: str, monkeypatch: pytest.MonkeyPatch, imports: str
) -> None:
    monkeypatch.setattr(launch, "PROGRAM", "jobs_of_a_cold_server")
    monkeypatch.setenv("PYTHON_IMPORTS", imports)
    with closing(Worker()) as mine:
        seen = mine.run("jobs_that_fail:seen", None, {"variable": "PYTHON_IMPORTS"})
    assert seen == [imports == "leave a thread", 1, imports]


def test_start_can_be_cancelled(jobs: None, dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_ANY_NAME", "a server of its own, which imports TVM first")
    seen: list[str] = []
    with closing(Worker()) as mine, pytest.raises(WorkerLost, match="cancelled") as lost:
        mine.run(
            "jobs_that_fail:seen", None, {}, progress=lambda what, _: seen.append(what), cancelled=lambda: bool(seen)
        )
    assert (lost.value.status, seen) == ("cancelled", ["Starting TVM"])


def test_loads_share_no_child(jobs: None, dialect: str) -> None:
    first, second = (role(LOADS).run("jobs_that_fail:own_id", None, {}) for _ in range(2))
    assert first != second
    assert role(LOADS)._child is None
    assert not runs(first)
