"""Plot of the progress of a search: every candidate, and the best so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from workbench.colours import LIGHT, Theme
from workbench.measurement.columns import byte_unit, figures, time_unit
from workbench.plots.style import axes, complete, dress, empty, say
from workbench.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOUNS = {
    "median_us": "time a run",
    "kernels": "kernels",
    "handover_bytes": "bytes between kernels",
    "peak_bytes": "peak memory",
    "build_seconds": "build time",
}
WORDS = {
    "median_us": ("measured less", "lowest median"),
    "kernels": ("has fewer", "fewest"),
    "handover_bytes": ("hands over less", "least handed over"),
    "peak_bytes": ("has a lower peak", "lowest peak"),
    "build_seconds": ("was built in less", "shortest build"),
}
"words for a candidate with a smaller value, and for the one with the smallest; by other objectives it may be worse"
ROWS = 6
"height of the plot, in bars"
WIDE = 20
"multiple of the best value from which the axis is logarithmic"


def tuning_progress(
    data: pd.DataFrame, ax: Axes | None = None, *, value: str = "median_us", theme: Theme = LIGHT
) -> Axes:
    """Plot candidates in the order of trial: a dot may win, a cross may not, the line is the best so far.

    The dashed line is the compiler's default, which is tried first.

    Parameters
    ----------
    data
        The `table` of a result of `wb.tune`: columns `number`, `status` and the value's, of one target; or the `table` of
        a run of `wb.prepared_schedules`, of one function.
    value
        The value to minimise: `median_us` (microseconds), `kernels`, `handover_bytes` and `peak_bytes` (bytes) or `build_seconds`.
    """
    ax = axes(ax, ROWS)
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    tried = complete(data, "number", "status").sort_values("number").reset_index(drop=True)
    known = complete(tried, value)
    right = known[known["status"] == "ok"]
    if right.empty:
        return empty(
            ax, f"{counted(len(tried), 'candidate')} tried, none can win" if len(tried) else "nothing tried yet", theme
        )
    factor, unit = _unit(value, float(right[value].min()))
    values = pd.Series(right[value], dtype=float).mul(factor)
    best = values.cummin()
    ends = [*right.index + 1, len(tried)]
    ax.plot(right.index + 1, values, "o", color=theme.bar, markersize=5, zorder=2)
    ax.step(ends, [*best, best.iloc[-1]], where="post", color=theme.accent, linewidth=2.2, zorder=3)
    out = tried.index[tried["status"] != "ok"] + 1
    # a candidate that cannot win has no value on the axis, so it is drawn at the edge
    ax.plot(out, [0.03] * len(out), "x", color=theme.bad, markersize=6, transform=ax.get_xaxis_transform(), zorder=2)
    _words(ax, values, best, len(tried), theme)
    if values.max() > WIDE * values.min() > 0:
        # on a linear scale the best ones would be on one line
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda shown, _place: figures(shown)))
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=value == "kernels"))
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.set_xlim(0.3, max(len(tried), 2) * 1.12)
    ax.margins(y=0.2)
    ax.grid(axis="y", color=theme.faint, linewidth=0.5, alpha=0.6)
    crosses = f" (✗ {len(out)} failed or not built)" if len(out) else ""
    ax.set_xlabel(f"candidates tried{crosses}")
    ax.set_ylabel(f"{NOUNS.get(value, value)}{unit and f' ({unit})'}")
    # a candidate that is the same program as another has the other's value
    own = int(pd.isna(right["like"]).sum()) if "like" in right else len(right)
    dress(ax, _finding(values, best, (len(tried), own), value, unit), theme)
    return ax


def _unit(value: str, smallest: float) -> tuple[float, str]:
    if value == "median_us":
        return time_unit(smallest)
    if value in ("handover_bytes", "peak_bytes"):
        return byte_unit(smallest)
    return (1.0, "s") if value == "build_seconds" else (1.0, "")


def _words(ax: Axes, values: pd.Series, best: pd.Series, tried: int, theme: Theme) -> None:
    say(ax, tried, float(best.iloc[-1]), figures(float(best.iloc[-1])), theme, color=theme.accent, fontweight="bold")
    if values.index[0] == 0 and best.iloc[-1] < values.iloc[0]:
        ax.axhline(float(values.iloc[0]), color=theme.dim, linewidth=1, linestyle="--", zorder=1)
        said = f"default {figures(float(values.iloc[0]))}"
        say(ax, tried, float(values.iloc[0]), said, theme, color=theme.dim, ha="right", xytext=(0, 7))


def _finding(values: pd.Series, best: pd.Series, counts: tuple[int, int], value: str, unit: str) -> str:
    """Return the title, which compares by this value only, because there may be other objectives."""
    tried, own = counts
    last = float(best.iloc[-1])
    noun = NOUNS.get(value, value)
    better, most = WORDS.get(value, (f"has a smaller {noun}", f"smallest {noun}"))
    said = f"{figures(last)} {unit or ('kernel' if value == 'kernels' and last == 1 else noun)}"
    when = int(best.index[(best == last).argmax()]) + 1
    if values.index[0] == 0 and last >= values.iloc[0]:
        left_out = f" ({tried:,} tried)" if own < tried else ""
        others = f"none of {own:,} candidates {better}{left_out}" if tried > 1 else "nothing else was tried yet"
        return f"{said} by default; {others}"
    begun = f", from {figures(float(values.iloc[0]))}" if values.index[0] == 0 else ""
    raced = "; medians, not raced" if value == "median_us" else ""
    return f"{said}{begun}: the {most} of {counted(tried, 'candidate')}, found at number {when}{raced}"
