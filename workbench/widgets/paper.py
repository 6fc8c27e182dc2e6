"""Strokes that the page's painter made, drawn into PDF and PNG by matplotlib in the font it brings along."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from workbench.errors import WorkbenchError

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
