"""Shared parts of the plots: axes, bars and intervals in rows, labels, figures as SVG and PNG."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.colours import DARK, LIGHT, Theme
from workbench.errors import WorkbenchError
from workbench.wording import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH = 7.0
"width of a figure, in inches"


def _size(rows: int, width: float = WIDTH) -> tuple[float, float]:
    return width, 1.3 + 0.42 * max(rows, 1)


def complete(data: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows with a value in each of these columns; none where the table lacks a column (no data yet)."""
    return data.reindex(columns=[*data.columns.union(columns, sort=False)]).dropna(subset=list(columns))


def axes(ax: Axes | None, rows: int) -> Axes:
    """Return the given Axes, or new ones tall enough for `rows` bars."""
    if ax is not None:
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    figure, made = plt.subplots(figsize=_size(rows), layout="constrained")
    figure.set_gid(OWN)
    return made


def require_matplotlib() -> None:
    """Raise WorkbenchError where matplotlib is missing: a small wheelhouse leaves it out."""
    if importlib.util.find_spec("matplotlib") is None:
        raise WorkbenchError("a plot needs matplotlib, which is not installed here: pip install matplotlib")


OWN = "workbench"
"the gid of a figure that was made here, and may grow with the text below it"


class Part(NamedTuple):
    """A part of a bar."""

    width: float
    colour: str
    hatch: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar of a plot with rows."""

    name: str
    parts: Sequence[Part] = ()
    "from left to right"
    words: str = ""
    "right of it"
    start: float = 0.0
    ends: float | None = None
    "the place of the words, where it is not the end of the last part"
    how: Mapping[str, Any] = field(default_factory=dict)
    "options of the words"


def bars(ax: Axes, rows: Sequence[Bar], theme: Theme, right: float) -> None:
    """Draw bars in rows, the first on top, on an axis from 0 to `right`."""
    for place, bar in enumerate(rows):
        left = bar.start
        for width, colour, hatch in bar.parts:
            edge = 0.5 if len(bar.parts) > 1 and not hatch else 0
            ax.barh(
                place, width, left=left, color=colour, height=0.62, hatch=hatch, edgecolor=theme.page, linewidth=edge
            )
            left += width
        say(ax, left if bar.ends is None else bar.ends, place, bar.words, theme, **bar.how)
    label_rows(ax, [bar.name for bar in rows])
    ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    ax.set_xlim(0, right)


def interval(ax: Axes, place: float, low: float, high: float, colour: str, **how: Any) -> None:
    """Draw an interval of a row as a broad, pale line."""
    ax.plot([low, high], [place, place], color=colour, solid_capstyle="butt", **how)


def legend(ax: Axes, theme: Theme, **how: Any) -> None:
    """Draw a small legend without a frame."""
    ax.legend(frameon=False, fontsize="x-small", handlelength=1, labelcolor=theme.text, **how)


def label_rows(ax: Axes, names: Sequence[str]) -> None:
    """Label one row per name, the first on top; the passes that a configuration leaves out are on a separate line."""
    longest = int(LABEL_LENGTH * _width(ax))
    lines = [name.replace(" -", "\n-").splitlines()[:LABEL_LINES] for name in names]
    labels = ["\n".join(one_line(line, longest) for line in each) for each in lines]
    small = "small" if any("\n" in label for label in labels) else "medium"
    ax.set_yticks(range(len(names)), labels, parse_math=False, fontsize=small)


def _width(ax: Axes) -> float:
    """Return the width of the figure, in that of a plot of its own."""
    from matplotlib.figure import Figure

    return ax.figure.get_figwidth() / WIDTH if isinstance(ax.figure, Figure) else 1.0


LABEL_LINES, LABEL_LENGTH = 4, 40
"Most lines of a label, and characters of a line; the table has the full text of a long pipeline."


def dress(ax: Axes, finding: str, theme: Theme, *beneath: str, failures: Sequence[str] = ()) -> Axes:
    """Style the axes and return them: no frame, text in the theme's colour, the finding as title.

    Below the plot are the failures, messages of the rows without numbers, in full; then `beneath`, such as the conditions, in one line.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    wide = _width(ax)
    title = ax.set_title(
        "\n".join(wrap(finding, int(80 * wide), max_lines=TITLE_LINES, placeholder=" …")),
        loc="left",
        fontsize="medium",
        color=theme.text,
        parse_math=False,
    )
    alone = len(ax.figure.axes) == 1  # then the text has the figure's width, not only that of the bars
    if alone:
        title.set_x(EDGE)
        above = ScaledTranslation(0, ABOVE / 72, ax.figure.dpi_scale_trans)
        title.set_transform(blended_transform_factory(ax.figure.transSubfigure, ax.transAxes) + above)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(theme.faint)
    ax.tick_params(colors=theme.text, length=0, which="both")
    ax.xaxis.label.set_color(theme.text)
    ax.yaxis.label.set_color(theme.text)
    ax.set_facecolor("none")
    lines = [each for said in failures for each in wrap(said, int(96 * wide))]
    lines += wrap(" · ".join(filter(None, beneath)), int(109 * wide), max_lines=3, placeholder=" …")
    if lines:
        place = (ax.figure.transSubfigure, ax.transAxes) if alone else (ax.transAxes, ax.transAxes)
        below = {"xytext": (0, -40), "textcoords": "offset points", "va": "top", "annotation_clip": False}
        at = (EDGE if alone else 0, 0)
        ax.annotate("\n".join(lines), at, xycoords=place, color=theme.dim, fontsize=8, parse_math=False, **below)
    if isinstance(ax.figure, Figure) and ax.figure.get_gid() == OWN:
        ax.figure.set_figheight(ax.figure.get_figheight() + LINE * max(0, len(lines) - 3))
    return ax


TITLE_LINES = 6
"enough for a sentence about two pipelines, each with its whole text"
LINE = 0.13
"height of a line of text below a plot, in inches"
ABOVE = 6
"points between the axes and the title"
EDGE = 0.008
"distance of text from the figure's edge, as a part of its width"


def say(ax: Axes, x: float, y: float, words: str, theme: Theme, **how: Any) -> None:
    """Write text on the data without math markup, because names contain dollar signs and underscores."""
    how = {"color": theme.text, "fontsize": "small", "va": "center", "parse_math": False, **how}
    ax.annotate(words, (x, y), textcoords="offset points", **{"xytext": (5, 0), **how})


def empty(ax: Axes, finding: str, theme: Theme, failures: Sequence[str] = ()) -> Axes:
    """Return axes that show only the reason why there is no data."""
    ax.set_xticks([])
    ax.set_yticks([])
    dress(ax, finding, theme, failures=failures)
    ax.spines["bottom"].set_visible(False)
    return ax


def to_svg(plot: Callable[..., Any], data: Any, theme: Theme, rows: int, **options: Any) -> str:
    """Return a plot as SVG text with a transparent background, drawn off screen: safe in any thread."""
    return _svg(_figure(plot, data, theme, rows, **options)[0])


def to_both(plot: Callable[..., Any], data: Any, rows: int, **options: Any) -> tuple[str, str, str]:
    """Return a plot for light pages, the same for dark ones, and its title; it is drawn only once, to save time.

    `options` may include `width` in inches: text is larger on a narrow figure.
    """
    figure, ax = _figure(plot, data, _NEITHER, rows, **options)
    drawn = _svg(figure)
    colours = [
        {getattr(_NEITHER, each.name): getattr(theme, each.name).lower() for each in fields(Theme)}
        for theme in (LIGHT, DARK)
    ]
    light, dark = (re.sub("#01[0-9a-f]{2}fe", lambda found, known=known: known[found[0]], drawn) for known in colours)
    return light, dark, ax.get_title(loc="left")


_NEITHER = Theme(**{each.name: f"#01{place:02x}fe" for place, each in enumerate(fields(Theme))})
"placeholder colours for those of a theme, which nothing else uses"


def _svg(figure: Figure) -> str:
    figure.patch.set_alpha(0)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _figure(
    plot: Callable[..., Any], data: Any, theme: Theme, rows: int, width: float = WIDTH, **options: Any
) -> tuple[Figure, Axes]:
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size(rows, width), layout="constrained")
    figure.set_gid(OWN)
    ax = figure.subplots()
    plot(data, ax=ax, theme=theme, **options)
    return figure, ax
