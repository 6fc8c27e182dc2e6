"""wb.report, in both dialects: one HTML file that loads nothing, and the numbers beside it."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.plots.report import Files

pytestmark = pytest.mark.one_dialect

HOSTILE = '<script>alert(1)</script>"&'


@pytest.fixture(scope="module")
def cast():
    made = wb.samples.load("parallel_cast")
    return wb.Workload(made.module, made.params, HOSTILE, made.dialect)


def test_a_report_is_one_page_with_its_numbers_beside_it(cast, dialect, tmp_path):
    path = wb.report(cast, [3], ["llvm", "cuda"], path=tmp_path / "card.html", budget=0.02)
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    assert not re.findall(r'(?:src|srcset|href)="(?!data:image/svg\+xml;base64,|card\.)', text)
    assert "&lt;script&gt;alert(1)" in text
    assert "opt 3, CUDA: not measured: " in text
    assert "CUDA: nothing timed; 1 not measured" in text
    rows = pd.read_csv(tmp_path / "card.rows.csv")
    assert list(rows["asked_target"]) == ["llvm", "cuda"]
    assert list(rows["status"]) == ["ok", "not measured"]
    assert rows["kernels"].notna().all()
    kernels = pd.read_csv(tmp_path / "card.kernels.csv")
    assert (kernels["asked_target"] == "llvm").sum() == rows["kernels"][0]
    assert len(pd.read_csv(tmp_path / "card.samples.csv")) >= 10
    assert (tmp_path / "card.waterfall.CPU.csv").exists()


@pytest.mark.parametrize("path", ["report.pdf", "no/such/folder/report.html"])
def test_a_place_that_is_none_is_refused_before_anything_is_measured(cast, dialect, tmp_path, path):
    with pytest.raises(WorkbenchError, match=r"\.html"):
        wb.report(cast, path=tmp_path / path)


def test_a_spreadsheet_takes_no_name_for_a_formula(tmp_path):
    Files(tmp_path / "a.html").csv("t", pd.DataFrame({"name": ["=1+1", "-x", "add"], "n": [-1.5, 2, 3]}))
    read = pd.read_csv(tmp_path / "a.t.csv")
    assert list(read["name"]) == ["'=1+1", "'-x", "add"]
    assert list(read["n"]) == [-1.5, 2, 3]
