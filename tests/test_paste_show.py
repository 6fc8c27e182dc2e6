"""A pasted file is drawn, and a before and an after are compared, whichever TVM is here."""

from __future__ import annotations

from pathlib import Path

import pytest
from pastes import paste

import workbench as wb
from workbench.cli import main


@pytest.mark.one_dialect
def test_show_draws_a_paste_and_tells_what_was_assumed(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text(paste("attention"), encoding="utf-8")
    assert main(["show", str(dump), "-o", str(tmp_path / "dump.html")]) == 0
    assert "note: what nothing binds became parameters: %6, %mask" in capsys.readouterr().err
    assert "nn.softmax" in (tmp_path / "dump.html").read_text(encoding="utf-8")


@pytest.mark.one_dialect
def test_show_compares_two_modules_of_one_paste(dialect: str, tmp_path: Path) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text(paste("adds"), encoding="utf-8")
    assert main(["show", str(dump), "-o", str(tmp_path / "dump.html")]) == 0
    page = (tmp_path / "dump.html").read_text(encoding="utf-8")
    assert "nn.batch_norm" in page
    assert "nn.bias_add" in page


@pytest.mark.one_dialect
def test_show_names_the_place_of_what_cannot_be_read(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text("I get\n\n def @main(%x: int8) { exp(%x }\n", encoding="utf-8")
    assert main(["show", str(dump), "-o", str(tmp_path / "dump.html")]) == 1
    assert "line 3, column 31: expected `,`" in capsys.readouterr().err


@pytest.mark.one_dialect
def test_a_pair_out_of_a_paste_is_compared(dialect: str) -> None:
    view = wb.CompareView(*wb.load_all(paste("adds")))
    assert view.changes.added
    assert wb.GraphView(wb.load(paste("casts"))).model.kernel_count == 3
