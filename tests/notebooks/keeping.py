"""Run a notebook for storing: each view saves its page, each widget of words becomes HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from running import STORED, WIDGET, class_of, client_of, code_of, joined

PAGES = "pages"
"key in the metadata of an output: the files that its views saved, each with its height"
WORDS = ("Predict", "TunePanel")
"widgets of words; they are stored as they are when all cells have run"

_ASK = """
def _kept(model):
    import ipywidgets, json
    view = ipywidgets.widgets.widget._instances[model]
    if type(view).__name__ in {words!r}:
        return json.dumps({{"text/html": view._still_words(drawn=False)}})
    views = getattr(view, "children", [view])
    for each in views:
        getattr(each, "wait", lambda seconds: None)(60)
    return json.dumps({{"pages": [[str(each.save(f".{{each.model_id}}-{place}.html")), each.height] for each in views]}})
print(_kept({model!r}))
del _kept
"""
"run in the notebook's kernel, leaving no name there"


def run_and_keep(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run; those of views have the key PAGES."""
    client = client_of(path, folder)
    code = [(place, cell) for place, cell in enumerate(client.nb.cells) if cell.cell_type == "code"]
    with client.setup_kernel():
        for count, (place, cell) in enumerate(code, 1):
            client.execute_cell(cell, place, execution_count=count)
            cell.outputs = [_kept(client, output, place, words=False) for output in joined(cell.outputs)]
        # the answer of a question is known only when the cells after it have run
        for place, cell in code:
            cell.outputs = [_kept(client, output, place, words=True) for output in cell.outputs]
    client.nb.metadata.pop("widgets", None)
    client.nb.metadata.language_info = nbformat.from_dict({"name": "python"})
    return client.nb


def _kept(client: NotebookClient, output: Any, place: int, *, words: bool) -> Any:
    if WIDGET not in output.get("data", {}):
        return output
    name = class_of(output)
    if (name in WORDS) != words:
        return output
    kept = json.loads(_printed(client, _ASK.format(model=output.data[WIDGET]["model_id"], words=WORDS, place=place)))
    pages = {PAGES: kept.pop("pages")} if "pages" in kept else {}
    fields = {"data": {**kept, "text/plain": name}, "metadata": {STORED: name, **pages}}
    if output.output_type == "execute_result":
        fields["execution_count"] = output.execution_count
    return nbformat.v4.new_output(output.output_type, **fields)


def _printed(client: NotebookClient, code: str) -> str:
    hidden = nbformat.v4.new_code_cell(code)
    # the client writes a cell into the notebook before it runs it
    client.nb.cells.append(hidden)
    try:
        client.execute_cell(hidden, len(client.nb.cells) - 1, store_history=False)
    finally:
        client.nb.cells.pop()
    return "".join(output.text for output in hidden.outputs)


def outputs_with_pages(notebook: Any) -> list[Any]:
    """Return the outputs whose views saved pages."""
    return [output for cell in code_of(notebook) for output in cell.outputs if PAGES in output.get("metadata", {})]
