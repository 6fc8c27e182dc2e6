"""Kernels of each configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from workbench.plots.rows import conditions, named
from workbench.plots.style import LIGHT, Theme, axes, complete, dress, label_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def kernel_count(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """A bar a configuration, labelled with its number; the fewest stands out.

    Parameters
    ----------
    data
        As `wb.measure` gives it: columns `config`, `kernels`, and `asked_target` where there are several; rows without a
        count are left out. What was counted and not timed is drawn all the same.
    """
    known = complete(data, "config", "kernels")
    ax = axes(ax, len(known))
    counts = [int(n) for n in known["kernels"]]
    names = named(known)
    best = min(counts, default=0)
    colours = [theme.accent if n == best else theme.bar for n in counts]
    bars = ax.barh(range(len(counts)), counts, color=colours, height=0.62)
    ax.bar_label(bars, [str(n) for n in counts], padding=4, color=theme.text)
    label_rows(ax, names)
    ax.invert_yaxis()
    ax.set_xlim(0, max([1, *counts]) * 1.12)
    ax.set_xlabel("kernels (calls in one run)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    counted = known.drop(columns=["cpu", "gpu", "threads"], errors="ignore")  # a count is the same on every machine
    dress(ax, _finding(names, counts), theme, conditions(counted))
    return ax


def _finding(names: list[str], counts: list[int]) -> str:
    if not counts:
        return "nothing counted yet"
    if len(set(counts)) == 1:
        return f"{counts[0]} kernels" + (" in every configuration" if len(counts) > 1 else "")
    fewest = min(range(len(counts)), key=counts.__getitem__)
    return f"{names[fewest]}: {counts[fewest]} kernels; at most {max(counts)}"
