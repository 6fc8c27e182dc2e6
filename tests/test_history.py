"""`wb.history`: what was measured is found again, and rows of elsewhere are not among them unless asked for."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

import workbench as wb
from workbench.measurement.row import COLUMNS, workload_hash
from workbench.measurement.store import VARIABLE, Store

pytestmark = pytest.mark.one_dialect


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "rows.sqlite"))
    return tmp_path / "rows.sqlite"


def measured(workload, **other):
    return wb.measure(workload, [0, 3], budget=0.01, check=False, **other)


def test_rows_come_back_as_they_were_measured(small, path):
    rows = measured(small)
    kept = wb.history(small)
    pd.testing.assert_frame_equal(kept, rows, check_dtype=False)
    assert list(kept.columns) == list(COLUMNS)
    assert kept.attrs["note"] == ""
    assert len(kept["samples"].iloc[0]) >= 10


def test_newest_last_and_of_every_workload_when_none_is_named(small, path):
    measured(small)
    other = wb.samples.load("mlp", layers=1, width=8)
    measured(other)
    assert list(wb.history()["workload_hash"]) == [workload_hash(small)] * 2 + [workload_hash(other)] * 2
    assert len(wb.history(other)) == 2


def test_what_fails_is_kept_too(small, path):
    wb.measure(small, ["Nothing"], budget=0.01)
    (status,) = wb.history(small)["status"]
    assert status == "failed"


def test_store_false_keeps_nothing(small, path):
    measured(small, store=False)
    assert wb.history(small).empty
    assert not path.exists()


def test_no_rows_is_an_empty_table_with_its_columns(small, path):
    assert list(wb.history(small).columns) == list(COLUMNS)


@pytest.mark.parametrize("apart", ["machine", "tvm"])
def test_rows_of_elsewhere_are_left_out_and_it_says_so(small, path, apart):
    rows = measured(small)
    elsewhere = {**rows.iloc[0].to_dict(), apart: "another"}
    Store(path).append(elsewhere)
    here = wb.history(small)
    assert len(here) == 2
    assert here.attrs["note"].startswith("1 row of other machines, devices or TVMs left out")
    everything = wb.history(small, everywhere=True)
    assert list(everything[apart])[-1] == "another"
    assert everything.attrs["note"].startswith("these rows are mixed")


def test_rows_are_on_the_disk_while_measure_goes_on(small, path):
    seen = []

    def look(what, fraction):
        seen.append(len(Store(path).rows()))

    measured(small, progress=look)
    assert seen[-1] == 1


def test_the_hash_is_the_same_in_another_process_and_does_not_count_the_name(small):
    code = """
import workbench as wb
from workbench.measurement.row import workload_hash
print(workload_hash(wb.samples.load("mlp", layers=1, width=4)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == workload_hash(small)
    assert workload_hash(wb.load(small.module, small.params, name="other")) == workload_hash(small)


def test_the_hash_tells_programs_and_shapes_apart(dialect):
    made = [wb.samples.load("mlp", layers=n, width=width) for n, width in [(1, 4), (2, 4), (1, 8)]]
    assert len({workload_hash(workload) for workload in made}) == 3
