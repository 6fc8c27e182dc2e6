"""Builds on executors: a process pool's and Dask's; what fails there is a row, and what works is measured as if built here."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import workbench as wb

CRASHES = "llvm -mtriple=foo-bar"
SAME = ["kernels", "functions", "launches", "traffic_bytes", "check", "target", "status"]


@pytest.fixture(scope="module")
def pool():
    # `fork` would copy what the test process holds, locks too
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as made:
        yield made


@pytest.mark.one_dialect
def test_a_process_pools_builds_are_counted_checked_and_timed_as_ours(small, pool):
    there = wb.measure(small, [0, 3], budget=0.02, per_kernel=True, executor=pool)
    here = wb.measure(small, [0, 3], budget=0.02)
    assert list(there["status"]) == ["ok", "ok"], list(there["message"])
    assert there[SAME].equals(here[SAME])
    assert (there["median_us"] > 0).all()
    assert list(there["machine"]) == list(here["machine"])
    assert [len(kernels) for kernels in there["per_kernel"]] == list(there["kernels"] - there["noops"])


@pytest.mark.long
def test_a_build_that_crashes_there_is_a_row_and_the_pool_goes_on(small, pool, facts):
    rows = wb.measure(small, [0], [CRASHES, "nosuchtarget", "llvm"], budget=0.02, check=False, executor=pool)
    assert list(rows["status"]) == [facts.bad_triple, "failed", "ok"]
    assert rows["message"].iloc[0]


@pytest.mark.one_dialect
def test_a_pipeline_is_run_there_and_one_that_fails_is_a_row(small, pool):
    rows = wb.measure(small, ["DeadCodeElimination", "Nothing"], budget=0.02, executor=pool)
    assert list(rows["status"]) == ["ok", "failed"], list(rows["message"])


@pytest.mark.long
def test_threads_build_in_a_process_too(small):
    with ThreadPoolExecutor(2) as threads:
        rows = wb.measure(small, [0, 3], budget=0.02, check=False, executor=threads)
    assert list(rows["status"]) == ["ok", "ok"], list(rows["message"])


@pytest.mark.one_dialect
def test_a_cancel_does_not_wait_for_the_executor(small, pool):
    rows = wb.measure(small, [0, 3], budget=0.02, executor=pool, cancelled=lambda: True)
    assert list(rows["status"]) == ["cancelled", "cancelled"]


@pytest.mark.one_dialect
def test_a_cancel_during_a_build_on_the_executor_is_in_the_rows(small, pool):
    asked = iter(range(1000))
    rows = wb.measure(small, [0, 3], budget=0.02, executor=pool, cancelled=lambda: next(asked) > 4)
    assert list(rows["status"]) == ["cancelled", "cancelled"]


@pytest.mark.one_dialect
def test_an_interrupt_in_a_pass_before_the_builds_gives_rows(small):
    def interrupted(module):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as threads:
        rows = wb.measure(small, [0, wb.Pipeline([interrupted])], budget=0.02, executor=threads)
    assert list(rows["status"]) == ["interrupted", "interrupted"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed.*", "ignore::DeprecationWarning:dask.*")
def test_builds_on_dask(small):
    distributed = pytest.importorskip("distributed", reason="Dask is in the main environment only (the extra `dev`)")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        rows = wb.measure(small, [0, 3], budget=0.02, executor=client.get_executor())
    assert list(rows["status"]) == ["ok", "ok"], list(rows["message"])
    assert list(rows["check"]) == ["ok", "ok"]


def test_files_of_a_build_stay_in_their_folder(tmp_path: Path) -> None:
    from workbench.measurement.remote.executor import _packed, _unpack

    folder = tmp_path / "in" / "folder"
    folder.parent.mkdir()
    _unpack({"../../out": b"1", "/root": b"2", "a/b": b"3", "c": b"4"}, folder)
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()) == [
        Path("in/folder") / name for name in ("a/b", "c", "out", "root")
    ]
    assert _packed(folder) == {"out": b"1", "root": b"2", "a/b": b"3", "c": b"4"}
