"""Plot of the bytes that kernels pass to each other, by data type."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from workbench.colours import DTYPES, LIGHT, NEUTRAL, Theme
from workbench.measurement.columns import byte_unit, figures
from workbench.plots.style import axes, complete, cut, dress, empty, label_rows, say

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Sums = dict[str, dict[str, float]]
"configuration -> dtype -> bytes"
OUTSIDE = -1
"value of `producer` and `consumer` for the program's own inputs and outputs"


def handovers(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the bytes that one kernel writes and another reads, one bar per configuration, stacked by dtype.

    Parameters
    ----------
    data
        As in `Kernels.handovers`: `producer`, `consumer`, `dtype`, `bytes`, with a column `config` where there are
        several. Inputs and outputs of the program are left out.
    """
    rows = complete(data, "dtype", "bytes").to_dict("records")
    if not rows:
        return empty(axes(ax, 1), "nothing is handed from kernel to kernel", theme)
    sums: Sums = {}
    for row in rows:
        sums.setdefault(str(row.get("config", "between kernels")), defaultdict(float))
        if OUTSIDE not in (row.get("producer"), row.get("consumer")):
            sums[str(row.get("config", "between kernels"))][str(row["dtype"])] += float(row["bytes"])
    most = max(sum(each.values()) for each in sums.values())
    dtypes = sorted({d for each in sums.values() for d in each}, key=lambda d: -sum(each[d] for each in sums.values()))
    ax = axes(ax, len(sums))
    factor, unit = byte_unit(most)
    for place, each in enumerate(sums.values()):
        _stacked(ax, place, each, dtypes, factor, theme)
    label_rows(ax, list(sums))
    ax.set_ylim(len(sums) - 0.4, -0.6)
    ax.set_xlim(0, (most or 1) * factor * 1.45)
    ax.set_xlabel(f"{unit} handed from kernel to kernel in one run")
    _legend(ax, dtypes, theme)
    dress(ax, _finding(sums), theme)
    return ax


def _stacked(ax: Axes, place: int, sums: dict[str, float], dtypes: list[str], factor: float, theme: Theme) -> None:
    left, total = 0.0, sum(sums.values())
    for dtype in dtypes:
        width = sums[dtype] * factor
        colour = DTYPES.get(dtype, NEUTRAL).light
        ax.barh(place, width, left=left, height=0.62, color=colour, edgecolor=theme.page, linewidth=0.7)
        left += width
    shares = "".join(f"   {cut(dtype, 12)} {sums[dtype] / total:.0%}" for dtype in dtypes if sums[dtype])
    say(ax, left, place, figures(total * factor) + shares, theme)


def _legend(ax: Axes, dtypes: list[str], theme: Theme) -> None:
    if len(dtypes) < 2:
        return
    handles = [ax.barh(0, 0, color=DTYPES.get(dtype, NEUTRAL).light, label=cut(dtype, 12)) for dtype in dtypes]
    made = ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="x-small", handlelength=1
    )
    for text in made.get_texts():
        text.set_color(theme.text)


def _finding(sums: Sums) -> str:
    totals = [sum(each.values()) for each in sums.values()]
    factor, unit = byte_unit(max(totals))
    if not any(totals):
        return "nothing is handed from kernel to kernel"
    (first, *_), last = sums.values(), list(sums.values())[-1]
    if len(sums) == 1:
        return f"{figures(totals[0] * factor)} {unit} between kernels, most of it {max(first, key=lambda d: first[d])}"
    changed = "; ".join(
        f"{dtype} {figures(first[dtype] * factor)} to {figures(last[dtype] * factor)}"
        for dtype in sorted({*first, *last})
        if first[dtype] != last[dtype]
    )
    words = f"{figures(totals[0] * factor)} to {figures(totals[-1] * factor)} {unit} between kernels"
    return words + (f" ({changed})" if changed else "")
