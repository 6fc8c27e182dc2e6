"""Kernels of each configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from workbench.plots.rows import Row, conditions, counted_failures, failed, failures, named
from workbench.plots.style import LIGHT, Theme, axes, complete, dress, label_rows, say

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def kernel_count(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """A bar a configuration, labelled with its number; the fewest stands out.

    Parameters
    ----------
    data
        As `wb.measure` gives it: columns `config`, `kernels`, and `asked_target` where there are several. A row without a
        count has its status in its place. What was counted and not timed is drawn all the same.
    """
    rows = complete(data, "config").to_dict("records")
    known = complete(data, "config", "kernels")
    names = named(complete(data, "config"))
    ax = axes(ax, len(names))
    counts = [int(n) for n in known["kernels"]]
    best = min(counts, default=0)
    for place, row in enumerate(rows):
        _bar(ax, place, row, best, theme)
    label_rows(ax, names)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.set_xlim(0, max([1, *counts]) * 1.12)
    ax.set_xlabel("kernels (calls in one run)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    counted = known.drop(columns=["cpu", "gpu", "threads"], errors="ignore")  # a count is the same on every machine
    title = "; ".join(part for part in (_finding(named(known), counts), counted_failures(rows)) if part)
    dress(ax, title, theme, conditions(counted), failures(rows))
    return ax


def _bar(ax: Axes, place: int, row: Row, best: int, theme: Theme) -> None:
    count = row.get("kernels")
    if count is None or count != count:
        say(ax, 0, place, f"! {failed(row)}" if failed(row) else "not counted yet", theme, color=theme.bad)
        return
    bars = ax.barh(place, int(count), color=theme.accent if int(count) == best else theme.bar, height=0.62)
    ax.bar_label(bars, [str(int(count))], padding=4, color=theme.text)


def _finding(names: list[str], counts: list[int]) -> str:
    if not counts:
        return "nothing counted yet"
    if len(set(counts)) == 1:
        return f"{counts[0]} kernels" + (" in every configuration" if len(counts) > 1 else "")
    fewest = min(range(len(counts)), key=counts.__getitem__)
    return f"{names[fewest]}: {counts[fewest]} kernels; at most {max(counts)}"
