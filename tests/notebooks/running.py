"""Run a notebook as JupyterLab does, and compare its outputs with the stored ones."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from stored_notebooks import FOLDER

from workbench.widgets import still
from workbench.worker import progress

WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURE = "image/png"
STORED = "tvm-workbench"
"key in the metadata of a stored widget's output: its class"
MEASURED = "measured"
"tag of a cell whose text differs from run to run"
TRANSIENT = {progress.OUTPUT, still.OUTPUT}
"keys in the metadata of outputs that are not stored"


def client_of(path: Path, folder: Path) -> NotebookClient:
    """Return a client that runs a notebook in a folder with the data that notebooks read."""
    notebook = nbformat.read(path, as_version=4)
    shutil.copytree(FOLDER / "data", folder / "data", dirs_exist_ok=True)
    return NotebookClient(notebook, timeout=900, record_timing=False, resources={"metadata": {"path": str(folder)}})


def code_of(notebook: Any) -> list[Any]:
    """Return the cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with neighbouring pieces of one stream as one, without progress and stills: these depend on the time."""
    found: list[Any] = []
    for output in outputs:
        if not TRANSIENT.isdisjoint(output.get("metadata", {})):
            continue
        if found and output.output_type == "stream" and output.get("name") == found[-1].get("name"):
            found[-1] = nbformat.v4.new_output("stream", name=output.name, text=found[-1].text + output.text)
        else:
            found.append(output)
    return found


def class_of(output: Any) -> str:
    """Return the class of a widget: "<workbench.widgets.predict.Predict object at ...>" or "Predict(...)"."""
    text = output.data["text/plain"]
    named = re.match(r"<[\w.]*?(\w+) object at", text)
    return output.metadata.get(STORED) or (named[1] if named else text.split("(")[0])


def texts_of(cell: Any) -> list[str]:
    """Return what a cell shows, as text that is the same from run to run, live or stored; a widget is its class."""
    found = []
    for output in joined(cell.outputs):
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type == "error":
            found.append(output.ename)
        elif WIDGET in output.data or STORED in output.metadata:
            found.append(class_of(output))
        else:
            found.append(re.sub(r" at 0x[0-9a-f]+", "", output.data["text/plain"]))
    return found
