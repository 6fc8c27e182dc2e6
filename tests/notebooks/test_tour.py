"""The blocks of the tour, pasted into a notebook, show their pictures."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from running import PICTURE, WIDGET
from stored_notebooks import FOLDER

TOUR = FOLDER.parent / "docs/start/tour.md"


def test_blocks_of_the_tour_show_pictures(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", TOUR.read_text(encoding="utf-8"), re.M | re.S)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block) for block in blocks])
    ran = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output
        for cell in ran.cells
        for output in cell.outputs
        if not {WIDGET, PICTURE}.isdisjoint(output.get("data", {}))
    ]
    assert len(shown) == 6
