"""The child process: it may crash, hang or be cancelled, and the notebook goes on."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import pytest

import workbench as wb
from workbench.errors import WorkerLost
from workbench.worker.parent import Worker

KERNELS = "kernels"


def job(target="llvm", opt_level=0):
    return {"target": target, "config": {"opt_level": opt_level, "disabled": [], "required": [], "options": {}}}


def works(child, workload):
    return len(child.run(KERNELS, workload, job())["calls"]) > 0


def test_a_job_gives_its_result_and_tells_how_it_goes_on(child, small):
    seen = []
    assert child.run(KERNELS, small, job(), progress=lambda what, fraction: seen.append(what))["calls"]
    assert seen[-1] == "Compiling"


def test_one_process_does_many_jobs(child, small):
    works(child, small)
    first = child._child.pid
    works(child, small)
    assert child._child.pid == first


def test_a_process_that_is_killed_between_jobs_is_replaced(child, small):
    works(child, small)
    os.kill(child._child.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert works(child, small)


def test_an_interrupt_leaves_no_stale_answer_for_the_next_job(child, small):
    """Ctrl-C arrives in the notebook's thread while the child works."""

    def interrupted(what, fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.run(KERNELS, wb.samples.load("branches", image=8), job(), progress=interrupted)
    assert child.run(KERNELS, small, job())["calls"] == child.run(KERNELS, small, job())["calls"]


def test_the_child_does_not_get_the_notebooks_ctrl_c(child, small):
    works(child, small)
    assert os.getsid(child._child.pid) != os.getsid(0)


def test_two_threads_are_served_one_after_the_other(child):
    workloads = [wb.samples.load("mlp", layers=n, width=4) for n in (1, 2, 3, 1)]
    counts = [None] * len(workloads)

    def ask(place):
        counts[place] = len(child.run(KERNELS, workloads[place], job())["calls"])

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(workloads))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == [3, 6, 9, 3]


def test_what_was_written_for_the_child_goes_with_the_workload(child):
    workload = wb.samples.load("mlp", layers=1, width=4)
    child.run(KERNELS, workload, job())
    folder = child._folders[workload]
    assert (folder / "module.json").exists()
    del workload
    gc.collect()
    assert not folder.exists()


def test_closing_ends_the_process_and_removes_the_folder(small):
    mine = Worker()
    works(mine, small)
    process, root = mine._child, mine._root
    mine.close()
    assert not process.alive()
    assert not root.exists()


@pytest.mark.parametrize("poll", [0.0, 0.1])
def test_the_end_of_the_notebook_cancels_the_job_under_way_and_begins_no_other(small, poll, monkeypatch):
    # with 0 the notebook ends while the child starts
    monkeypatch.setattr("workbench.worker.parent.POLL_SECONDS", poll)
    mine = Worker()
    for _ in range(2):
        with pytest.raises(WorkerLost, match="the notebook has ended") as lost:
            mine.run(KERNELS, small, job(), progress=lambda what, fraction: mine.close())
        # not `crashed`: a tuning log must not hold it against the candidate
        assert lost.value.status == "cancelled"
    assert not mine._root.exists()
