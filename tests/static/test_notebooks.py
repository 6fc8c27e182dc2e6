"""The notebooks are short, use public names only, and are stored with outputs and pictures; their claims are collapsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from stored_notebooks import FOLDER, PATHS

import workbench

NOTEBOOKS = {path.stem: nbformat.read(path, as_version=4) for path in PATHS}
MOST_CELLS = 15
"of code, besides the claims"
MOST_BYTES = 600_000
"of a notebook: a clone brings all of them"
LIVE = "application/vnd.jupyter.widget-view+json"
WORDS = ("<details>", "<table>")
"a stored widget of words has one of these"


def code_of(name: str) -> list[Any]:
    return [cell for cell in NOTEBOOKS[name].cells if cell.cell_type == "code"]


def below(tree: ast.AST) -> Iterator[str]:
    """Yield the names of workbench that a program uses and that are not public."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.startswith("workbench."))
            case ast.ImportFrom(module=str(module)) if module.startswith("workbench."):
                yield module
            case ast.ImportFrom(module="workbench", names=names):
                yield from (each.name for each in names if each.name not in workbench.__all__)
            case ast.Attribute(value=ast.Name(id="wb"), attr=name) if name not in workbench.__all__:
                yield f"wb.{name}"


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) > 20


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_few_cells(name: str) -> None:
    assert len(code_of(name)) - 1 <= MOST_CELLS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_public_names_only(name: str) -> None:
    assert [used for cell in code_of(name) for used in below(ast.parse(cell.source))] == []


@pytest.mark.parametrize(
    "program",
    ["import workbench.graph", "from workbench.errors import X", "from workbench import graph", "wb.graph.model"],
)
def test_a_name_below_is_found(program: str) -> None:
    assert list(below(ast.parse(program)))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_claims_are_the_last_cell_and_collapsed(name: str) -> None:
    *others, last = code_of(name)
    assert any(isinstance(node, ast.Assert) for node in ast.parse(last.source).body)
    assert last.metadata == {"jupyter": {"source_hidden": True}, "tags": ["claims", "hide-input"]}
    assert not any("claims" in cell.metadata.get("tags", []) for cell in others)
    assert any("## What this notebook claims" in cell.source for cell in NOTEBOOKS[name].cells[-2:])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs_are_stored_as_pictures(name: str) -> None:
    assert [cell.execution_count for cell in code_of(name)] == list(range(1, len(code_of(name)) + 1))
    outputs = [output for cell in code_of(name) for output in cell.outputs]
    widgets = [output for output in outputs if "tvm-workbench" in output.get("metadata", {})]
    assert any("image/png" in output.data for output in widgets)
    assert all("image/png" in o.data or any(each in o.data["text/html"] for each in WORDS) for o in widgets)
    assert not any(LIVE in output.get("data", {}) or output.get("name") == "stderr" for output in outputs)
    assert "widgets" not in NOTEBOOKS[name].metadata


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_file_is_small_and_names_no_machine(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert not re.search(r"(/home/|/root/|/tmp/|/work/|site-packages)", text)
