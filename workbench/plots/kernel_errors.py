"""Plot of the errors of kernels, in the order of their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme
from workbench.plots.style import axes, complete, cut, dress, empty, say
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BARS = 6
"height of a new plot, as that of so many bars"
LEAST = 1e-9
"relative error at the bottom of the plot; a kernel without an error is drawn there"
Rows = list[dict[str, Any]]


def kernel_errors(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the error of each kernel by itself, and the error of its output in the run, on a logarithmic axis.

    Parameters
    ----------
    data
        The table of `wb.kernel_errors`: `index`, `kernel`, `own`, `inherited`, `whole`, `same`.
    """
    ax = axes(ax, BARS)
    rows: Rows = complete(data, "index", "own").to_dict("records")
    if not rows:
        return empty(ax, "no kernel was compared", theme)
    wrong = [row for row in rows if row["same"] is False]
    places = [row["index"] for row in rows]
    ax.vlines(places, LEAST, _heights(rows, "own"), color=theme.bar, linewidth=1.4)
    ax.plot(places, _heights(rows, "own"), "o", color=theme.bar, markersize=4, label="of the kernel itself")
    # a kernel of parameters alone, such as a transposed weight, is not on the path of the error
    later = [row for row in rows if _is_number(row.get("inherited"))]
    line = [row["index"] for row in later], _heights(later, "whole")
    ax.plot(*line, ".-", color=theme.dim, linewidth=1, markersize=4, label="in the run")
    if wrong:
        of_wrong = [row["index"] for row in wrong], _heights(wrong, "own")
        ax.plot(*of_wrong, "o", color=theme.bad, markersize=6, label="beyond the tolerance")
        _name(ax, max(wrong, key=lambda row: row["own"]), max(places), theme)
    ax.set_yscale("log")
    ax.set_ylim(LEAST / 2, max(1.0, *_heights(rows, "own"), *_heights(rows, "whole")) * 30)
    ax.set_xlabel("kernels, in the order of their calls")
    ax.set_ylabel("error, of the largest value")
    _legend(ax, theme)
    left_out = len(data) - len(rows)
    dress(ax, _finding(rows, wrong), theme, f"{counted(left_out, 'kernel')} not compared" if left_out else "")
    return ax


def _heights(rows: Rows, name: str) -> list[float]:
    """Return errors between LEAST and 1e9: a logarithmic axis has no zero and no infinity."""
    return [min(max(float(row[name]), LEAST), 1e9) for row in rows]


def _is_number(value: object) -> bool:
    return isinstance(value, float) and value == value


def _name(ax: Axes, row: dict[str, Any], last: float, theme: Theme) -> None:
    (height,) = _heights([row], "own")
    onto_left = row["index"] > last / 2
    aligned = {"ha": "right", "xytext": (-6, 8)} if onto_left else {"xytext": (6, 8)}
    say(ax, row["index"], height, cut(str(row["kernel"]), 34), theme, color=theme.bad, **aligned)


def _legend(ax: Axes, theme: Theme) -> None:
    made = ax.legend(loc="upper left", ncols=3, frameon=False, fontsize="x-small", handlelength=1)
    for text in made.get_texts():
        text.set_color(theme.text)


def _finding(rows: Rows, wrong: Rows) -> str:
    if not wrong:
        return f"no error beyond the tolerance in {counted(len(rows), 'kernel')}"
    return f"{len(wrong)} of {counted(len(rows), 'kernel')} with an error of its own, the first {wrong[0]['kernel']}"
