"""Running a notebook as JupyterLab would, and what stays of it on a page that runs nothing."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

from workbench.widgets import still
from workbench.worker import progress

FOLDER = Path(__file__).parents[2] / "notebooks"
WORDS = ("Predict", "TunePanel")
"widgets of which words stay, as they are when all cells have run"
WIDGET = "application/vnd.jupyter.widget-view+json"
MEASURED = "measured"
"tag of a cell whose text differs from run to run"
PICTURE = "picture"
"tag of the cell whose picture stands for the notebook in the index"
TRANSIENT = {progress.OUTPUT, still.OUTPUT}
"keys in the metadata of outputs that are not kept"
COLOURS = 96

_STILL = """
def _still(model):
    import base64, ipywidgets, json, tempfile
    from pathlib import Path
    view = ipywidgets.widgets.widget._instances[model]
    if type(view).__name__ in {words!r}:
        return json.dumps({{"text/html": view._still_words(drawn=False)}})
    def drawn(view):
        getattr(view, "wait", lambda seconds: None)(60)
        with tempfile.TemporaryDirectory() as folder:
            return base64.b64encode(view.save(Path(folder) / "view.png").read_bytes()).decode()
    return json.dumps({{"pictures": [drawn(each) for each in getattr(view, "children", [view])]}})
print(_still({model!r}))
del _still
"""
"run in the notebook's kernel, leaving no name there: what stays of a widget"


def is_stored(path: Path) -> bool:
    """Whether a notebook is kept with its outputs: those that are read as a course, from 10 on."""
    return int(path.stem[:2]) >= 10


def run(path: Path, folder: Path, *, keep: bool = False) -> Any:
    """Execute a notebook in its own kernel; with `keep`, each widget becomes a picture of what it shows."""
    notebook = nbformat.read(path, as_version=4)
    # what a notebook reads is in the folder beside it
    shutil.copytree(FOLDER / "data", folder / "data", dirs_exist_ok=True)
    client = NotebookClient(notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(folder)}})
    if not keep:
        return client.execute()
    # Node.js, which draws the pictures, is beside the Python of this environment
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    code = [(place, cell) for place, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    with client.setup_kernel():
        for count, (place, cell) in enumerate(code, 1):
            client.execute_cell(cell, place, execution_count=count)
            cell.outputs = [_kept(client, output, asked=False) for output in _joined(cell.outputs)]
        # what a question hides is known only when the cells after it have run
        for _, cell in code:
            cell.outputs = [_kept(client, output, asked=True) for output in cell.outputs]
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = nbformat.from_dict({"name": "python"})
    return notebook


def _kept(client: NotebookClient, output: Any, *, asked: bool) -> Any:
    data = output.get("data", {})
    if WIDGET not in data:
        return output
    name = _class(output)
    if (name in WORDS) != asked:
        return output
    kept = json.loads(_ask(client, _STILL.format(model=data[WIDGET]["model_id"], words=WORDS)))
    metadata: dict[str, Any] = {"tvm-workbench": name}
    if "pictures" in kept:
        kept["image/png"], (width, height) = _few_colours(kept.pop("pictures"))
        metadata["image/png"] = {"width": width // 2, "height": height // 2}
    fields = {"data": {**kept, "text/plain": name}, "metadata": metadata}
    if output.output_type == "execute_result":
        fields["execution_count"] = output.execution_count
    return nbformat.v4.new_output(output.output_type, **fields)


def _ask(client: NotebookClient, code: str) -> str:
    """What code prints in the notebook's kernel."""
    hidden = nbformat.v4.new_code_cell(code)
    # the client writes a cell into the notebook before it runs it
    client.nb.cells.append(hidden)
    try:
        client.execute_cell(hidden, len(client.nb.cells) - 1, store_history=False)
    finally:
        client.nb.cells.pop()
    return "".join(output.text for output in hidden.outputs)


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs with neighbouring pieces of one stream as one, without progress and stills: these depend on the time."""
    found: list[Any] = []
    for output in outputs:
        if not TRANSIENT.isdisjoint(output.get("metadata", {})):
            continue
        if found and output.output_type == "stream" and output.get("name") == found[-1].get("name"):
            found[-1] = nbformat.v4.new_output("stream", name=output.name, text=found[-1].text + output.text)
        else:
            found.append(output)
    return found


def _few_colours(encoded: list[str]) -> tuple[str, tuple[int, int]]:
    """PNGs side by side, as one with a palette, a fourth of its size: it holds boxes and letters."""
    image = _beside([Image.open(io.BytesIO(base64.b64decode(each))).convert("RGB") for each in encoded])
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode(), image.size


def _beside(images: list[Image.Image]) -> Image.Image:
    """The pictures in a row, their tops in one line, as a box of widgets shows them."""
    row = Image.new("RGB", (sum(each.width for each in images), max(each.height for each in images)), "white")
    left = 0
    for each in images:
        row.paste(each, (left, 0))
        left += each.width
    return row


def _class(output: Any) -> str:
    """The class of a widget: "<workbench.widgets.predict.Predict object at ...>" or "Predict(...)"."""
    text = output.data["text/plain"]
    named = re.match(r"<[\w.]*?(\w+) object at", text)
    return output.metadata.get("tvm-workbench") or (named[1] if named else text.split("(")[0])


def said(cell: Any) -> list[str]:
    """What a cell shows, as text that is the same from run to run, live or kept; a widget is its class."""
    found = []
    for output in _joined(cell.outputs):
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type == "error":
            found.append(output.ename)
        elif WIDGET in output.data or "tvm-workbench" in output.metadata:
            found.append(_class(output))
        else:
            found.append(re.sub(r" at 0x[0-9a-f]+", "", output.data["text/plain"]))
    return found


def picture_of(notebook: Any) -> bytes:
    """The picture that stands for a stored notebook: of the cell with the tag, else the first one."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    tagged = [cell for cell in code if PICTURE in cell.metadata.get("tags", [])]
    images = [o.data["image/png"] for cell in tagged or code for o in cell.outputs if "image/png" in o.get("data", {})]
    return base64.b64decode(images[0])
