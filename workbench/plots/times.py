"""Time of each configuration, with its spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.plots.style import LIGHT, Theme, axes, complete, dress, label_rows, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def runtime(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Every sample as a faint dot, the interquartile range as a line, the median as a mark with its number.

    Parameters
    ----------
    data
        As `wb.measure` gives it: columns `config`, `median_us`, `q1_us`, `q3_us`, `samples` (seconds); rows that were
        not timed are left out.
    """
    timed = complete(data, "config", "median_us", "q1_us", "q3_us", "samples")
    ax = axes(ax, len(timed))
    factor, unit = time_unit(float(timed["median_us"].min())) if len(timed) else (1.0, "µs")
    for place, row in enumerate(timed.to_dict("records")):
        low, middle, high = (row[key] * factor for key in ("q1_us", "median_us", "q3_us"))
        samples = [sample * 1e6 * factor for sample in row["samples"]]
        ax.plot(samples, [place] * len(samples), ".", color=theme.bar, markersize=4, alpha=0.6, zorder=1)
        ax.plot(
            [low, high], [place, place], color=theme.accent, linewidth=5, solid_capstyle="butt", alpha=0.5, zorder=2
        )
        ax.plot([middle], [place], "|", color=theme.accent, markersize=15, markeredgewidth=2.5, zorder=3)
        ax.annotate(
            f"{middle:.3g}",
            (middle, place),
            xytext=(0, 10),
            textcoords="offset points",
            ha="center",
            color=theme.text,
            fontsize="small",
        )
    label_rows(ax, list(timed["config"]))
    ax.set_ylim(len(timed) - 0.5, -0.7)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"{unit} a run (median, quartiles, every sample)")
    dress(ax, _finding(timed), theme)
    return ax


def _finding(timed: pd.DataFrame) -> str:
    """Which is fastest, unless its quartiles overlap the next one's."""
    if len(timed) == 0:
        return "nothing timed yet"
    ordered = timed.sort_values("median_us").to_dict("records")
    best = ordered[0]
    if len(ordered) == 1:
        factor, unit = time_unit(best["median_us"])
        return f"{best['config']}: {best['median_us'] * factor:.3g} {unit}"
    if best["q3_us"] >= ordered[1]["q1_us"]:
        return f"{best['config']} and {ordered[1]['config']}: no difference beyond the noise"
    return f"{best['config']} is fastest"
