"""The small pictures of notebooks/README.md: a picture of each notebook, cut to one size."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image
from running import FOLDER, code_of

SIZE = (720, 480)
"pixels: twice the size in the index"
COLOURS = 128
PICTURES = FOLDER / "pictures"
PICTURE = "picture"
"tag of the cell whose picture is in the index"


def keep(name: str, notebook: Any) -> None:
    """Write the small picture of a stored notebook."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.png").write_bytes(small(picture_of(notebook)))


def picture_of(notebook: Any) -> bytes:
    """Return the picture of the cell with the tag, else the first one."""
    tagged = [cell for cell in code_of(notebook) if PICTURE in cell.metadata.get("tags", [])]
    cells = tagged or code_of(notebook)
    images = [o.data["image/png"] for cell in cells for o in cell.outputs if "image/png" in o.get("data", {})]
    return base64.b64decode(images[0])


def small(png: bytes) -> bytes:
    """Return a picture at the width of the index, on white, cut below."""
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    shown = whole.resize((SIZE[0], round(whole.height * SIZE[0] / whole.width)), Image.Resampling.LANCZOS)
    page = Image.new("RGB", SIZE, "white")
    page.paste(shown, (0, max(0, (SIZE[1] - shown.height) // 2)))
    out = io.BytesIO()
    page.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE).save(
        out, "PNG", optimize=True
    )
    return out.getvalue()
