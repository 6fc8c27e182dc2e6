"""Every notebook, run from top to bottom in its own kernel; its last cell asserts its claim."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_its_claim_holds(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(last.source))), (
        "its last cell asserts nothing"
    )
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
