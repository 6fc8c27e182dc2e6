"""What a guided search costs beside its builds and measurements."""

from __future__ import annotations

import pytest

import workbench as wb


@pytest.mark.long
def test_choosing_and_keeping_take_less_than_a_twentieth_of_a_run(dialect, tmp_path, tell):
    workload = wb.samples.load("mlp")
    how = {"method": "guided", "race": 0, "prune": None, "budget": 600, "store": False}
    timed = wb.tune(workload, each=0.1, trials=60, log=tmp_path / "timed", **how)
    assert len(timed.trials) == 60
    counted = wb.tune(workload, objective="kernels", trials=60, check=False, log=tmp_path / "counted", **how)
    parts = (
        f"{timed.overhead:.1%} of a run that builds and times, {counted.overhead:.1%} of one that only counts kernels"
    )
    tell(f"{dialect}, guided search of mlp: choosing and keeping took {parts}")
    assert timed.overhead < 0.05
