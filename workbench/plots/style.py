"""What the plots share: colours safe for colour-blind readers, units that people can read, figures that can be sent."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Okabe and Ito's palette
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"


@dataclass(frozen=True)
class Theme:
    """Colours of text and lines."""

    text: str
    faint: str
    bar: str
    accent: str


LIGHT = Theme(text="#333333", faint="#CCCCCC", bar="#9DB8CC", accent=BLUE)
DARK = Theme(text="#DDDDDD", faint="#555555", bar="#47657C", accent="#56B4E9")


def time_unit(microseconds: float) -> tuple[float, str]:
    """The factor from microseconds, and the unit, in which a time reads well.

    >>> time_unit(0.25)
    (1000.0, 'ns')
    >>> time_unit(2500)
    (0.001, 'ms')
    """
    if microseconds < 1:
        return 1e3, "ns"
    if microseconds < 1e3:
        return 1.0, "µs"
    return (1e-3, "ms") if microseconds < 1e6 else (1e-6, "s")


def _size(rows: int) -> tuple[float, float]:
    return 7.0, 1.2 + 0.42 * max(rows, 1)


def complete(data: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows that have a value in each of these columns; none where the table lacks a column (nothing came so far)."""
    return data.reindex(columns=[*data.columns.union(columns, sort=False)]).dropna(subset=list(columns))


def axes(ax: Axes | None, rows: int) -> Axes:
    """The Axes given, or new ones tall enough for so many bars."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, made = plt.subplots(figsize=_size(rows), layout="constrained")
    return made


def label_rows(ax: Axes, names: list[str]) -> None:
    """One row a configuration, the first on top; what it leaves out stands on a line of its own."""
    labels = ["\n".join(_cut(line) for line in name.replace(" -", "\n-").splitlines()[:LABEL_LINES]) for name in names]
    ax.set_yticks(range(len(names)), labels, parse_math=False)


LABEL_LINES, LABEL_LENGTH = 4, 40
"A pipeline's text can be longer than the figure is wide; what is cut off is in the table."


def _cut(line: str) -> str:
    return line if len(line) <= LABEL_LENGTH else line[: LABEL_LENGTH - 1] + "…"


def dress(ax: Axes, finding: str, theme: Theme) -> None:
    """Quiet axes: no frame, text in the theme's colour, the finding as the title."""
    ax.set_title(
        "\n".join(wrap(finding, 64, max_lines=2, placeholder=" …")),
        loc="left",
        fontsize="medium",
        color=theme.text,
        parse_math=False,
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(theme.faint)
    ax.tick_params(colors=theme.text, length=0)
    ax.xaxis.label.set_color(theme.text)
    ax.set_facecolor("none")


def to_svg(plot: Callable[..., Any], data: Any, theme: Theme, rows: int) -> str:
    """A plot as SVG text, drawn off screen: safe in any thread."""
    figure = Figure(figsize=_size(rows), layout="constrained")
    figure.patch.set_alpha(0)
    plot(data, ax=figure.subplots(), theme=theme)
    out = io.StringIO()
    figure.savefig(out, format="svg")
    return out.getvalue()
