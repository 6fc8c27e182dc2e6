"""Plot of the progress of a search: every candidate, and the best so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from workbench.colours import LIGHT, Theme
from workbench.plots.style import axes, complete, dress, empty, say
from workbench.wording import byte_unit, counted, figures, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Objective(NamedTuple):
    """The words for a value that a search minimises."""

    noun: str
    better: str
    "for a candidate with a smaller value, which may be worse by other objectives"
    most: str
    "for the one with the smallest"
    unit: Callable[[float], tuple[float, str]] = lambda _: (1.0, "")


OBJECTIVES = {
    "median_us": Objective("time a run", "measured less", "lowest median", time_unit),
    "kernels": Objective("kernels", "has fewer", "fewest"),
    "handover_bytes": Objective("bytes between kernels", "hands over less", "least handed over", byte_unit),
    "peak_bytes": Objective("peak memory", "has a lower peak", "lowest peak", byte_unit),
    "build_seconds": Objective("build time", "was built in less", "shortest build", lambda _: (1.0, "s")),
}
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
        none = f"{counted(len(tried), 'candidate')} tried, none can win"
        return empty(ax, none if len(tried) else "nothing tried yet", theme)
    objective = OBJECTIVES.get(value) or Objective(value, f"has a smaller {value}", f"smallest {value}")
    factor, unit = objective.unit(float(right[value].min()))
    values = pd.Series(right[value], dtype=float).mul(factor)
    best = values.cummin()
    ends = [*right.index + 1, len(tried)]
    ax.plot(right.index + 1, values, "o", color=theme.bar, markersize=5, zorder=2)
    ax.step(ends, [*best, best.iloc[-1]], where="post", color=theme.accent, linewidth=2.2, zorder=3)
    out = tried.index[tried["status"] != "ok"] + 1
    # a candidate that cannot win has no value on the axis, so it is drawn at the edge
    ax.plot(out, [0.03] * len(out), "x", color=theme.bad, markersize=6, transform=ax.get_xaxis_transform(), zorder=2)
    first, last, default = float(values.iloc[0]), float(best.iloc[-1]), values.index[0] == 0
    say(ax, len(tried), last, figures(last), theme, color=theme.accent, fontweight="bold")
    if default and last < first:
        ax.axhline(first, color=theme.dim, linewidth=1, linestyle="--", zorder=1)
        aside = {"color": theme.dim, "ha": "right", "xytext": (0, 7)}
        say(ax, len(tried), first, f"default {figures(first)}", theme, **aside)
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
    ax.set_ylabel(f"{objective.noun}{unit and f' ({unit})'}")
    # the title compares by this value only, because there may be other objectives
    said = f"{figures(last)} {unit or ('kernel' if value == 'kernels' and last == 1 else objective.noun)}"
    if default and last >= first:
        # a candidate that is the same program as another has the other's value
        own = int(pd.isna(right["like"]).sum()) if "like" in right else len(right)
        left_out = f" ({len(tried):,} tried)" if own < len(tried) else ""
        none = f"none of {own:,} candidates {objective.better}{left_out}"
        return dress(ax, f"{said} by default; {none if len(tried) > 1 else 'nothing else was tried yet'}", theme)
    begun = f", from {figures(first)}" if default else ""
    when = int(best.index[(best == last).argmax()]) + 1
    raced = "; medians, not raced" if value == "median_us" else ""
    many = counted(len(tried), "candidate")
    return dress(ax, f"{said}{begun}: the {objective.most} of {many}, found at number {when}{raced}", theme)
