"""Every notebook, run from top to bottom in its own kernel; its last cell asserts its claim."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from running import FOLDER, MEASURED, WIDGET, is_stored, run, said

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
STORED = [path for path in NOTEBOOKS if is_stored(path)]
MOST_BYTES = 600_000
"of a stored notebook: a clone brings all of them"


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
    assert STORED


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_its_claim_holds(path: Path, tmp_path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    last = code_of(stored)[-1]
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(last.source))), (
        "its last cell asserts nothing"
    )
    ran = run(path, tmp_path)
    if not is_stored(path):
        return
    for kept, made in zip(code_of(stored), code_of(ran), strict=True):
        if MEASURED not in kept.metadata.get("tags", []):
            assert said(kept) == said(made), "its outputs are not today's: run tests/notebooks/store.py"


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if not is_stored(path)], ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_it_reads_well_where_nothing_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    widgets = [output for output in outputs if "tvm-workbench" in output.get("metadata", {})]
    assert any("image/png" in output.data for output in widgets), "it shows no picture"
    words = ("<details>", "<table>")
    assert all("image/png" in o.data or any(each in o.data["text/html"] for each in words) for o in widgets)
    assert not any(WIDGET in output.get("data", {}) or output.get("name") == "stderr" for output in outputs)
    assert (FOLDER / "pictures" / f"{path.stem}.png").exists()
    assert path.stat().st_size < MOST_BYTES
    assert "widgets" not in notebook.metadata
    # nothing of the machine that it was run on
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(/home/|/root/|/tmp/|/work/|site-packages)", text)
