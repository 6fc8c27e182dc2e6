"""What a guided search costs beside its builds and measurements."""

from __future__ import annotations

import time

import pytest

import workbench as wb


@pytest.mark.long
def test_choosing_and_keeping_take_less_than_a_twentieth_of_a_run(dialect, tmp_path, tell):
    """Two upper bounds: the clock is stretched by others on this machine; the processor time of the run's own thread is not,
    and has in it what asking the child takes."""
    workload = wb.samples.load("mlp")

    def tuned(**how):
        begun, used = time.perf_counter(), time.thread_time()
        how |= {"method": "guided", "race": 0, "prune": None, "budget": 600, "store": False, "trials": 30}
        found = wb.tune(workload, **how)
        assert len(found.trials) == 30
        return (time.thread_time() - used) / (time.perf_counter() - begun), found.overhead

    tuned(objective="kernels", check=False)  # the child and Optuna are there from now on
    timed, counted = tuned(each=0.1, log=tmp_path / "timed"), tuned(objective="kernels", check=False)
    for share, what in ((timed, "that builds and times"), (counted, "that only counts kernels")):
        tell(
            f"{dialect}, guided search of mlp {what}: {share[0]:.1%} processor beside the child, {share[1]:.1%} of the clock"
        )
    assert min(timed) < 0.05
