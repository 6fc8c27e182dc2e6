"""What a run costs beyond its kernels: launches, and whatever else the executor does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.plots.rows import conditions, named
from workbench.plots.style import LIGHT, Theme, axes, complete, dress, empty, figures, label_rows, say, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def launch_overhead(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """The kernels' own time and what is left of the run's, a bar a configuration.

    Parameters
    ----------
    data
        As `wb.measure(..., per_kernel=True)` gives it: `config`, `median_us`, `kernels_sum_us`, and `launches`. Where the
        sum is larger than the run, timing kernels alone cost more than there was left: the bar says so, and no overhead
        is drawn.
    """
    known = complete(data, "config", "median_us", "kernels_sum_us")
    if not len(known):
        return empty(axes(ax, 1), "no kernel timed yet: measure with per_kernel=True", theme)
    rows: list[dict[str, Any]] = known.to_dict("records")
    ax = axes(ax, len(rows))
    factor, unit = time_unit(max(row["median_us"] for row in rows))
    for place, row in enumerate(rows):
        total, inside = row["median_us"] * factor, row["kernels_sum_us"] * factor
        ax.barh(place, min(total, inside), color=theme.accent, height=0.62)
        ax.barh(
            place,
            max(0.0, total - inside),
            left=inside,
            color=theme.gpu,
            height=0.62,
            hatch="///",
            edgecolor=theme.page,
            linewidth=0,
        )
        say(ax, max(total, inside), place, _words(row), theme)
        if inside > total:
            ax.plot([total, inside], [place, place], color=theme.accent, linewidth=1, linestyle=":")
    label_rows(ax, named(known))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, max(max(row["median_us"], row["kernels_sum_us"]) for row in rows) * factor * 1.8)
    ax.set_xlabel(f"{unit} a run: in kernels (solid), beyond them (hatched)")
    method = next((str(row["kernel_method"]) for row in rows if isinstance(row.get("kernel_method"), str)), "")
    dress(ax, _finding(rows), theme, " · ".join(part for part in (conditions(known), method) if part))
    return ax


def _words(row: dict[str, Any]) -> str:
    beyond = row["median_us"] - row["kernels_sum_us"]
    if beyond <= 0:
        return f"kernels timed alone sum to {row['kernels_sum_us'] / row['median_us']:.0%} of the run"
    launches = row.get("launches")
    each = ""
    if isinstance(launches, (int, float)) and launches > 0:
        by, small = time_unit(beyond / launches)
        each = f", {figures(beyond / launches * by)} {small} a launch"
    by, small = time_unit(beyond)
    return f"{figures(beyond * by)} {small} beyond, {beyond / row['median_us']:.0%}{each}"


def _finding(rows: list[dict[str, Any]]) -> str:
    shares = [(1 - row["kernels_sum_us"] / row["median_us"], row) for row in rows]
    share, most = max(shares, key=lambda pair: pair[0])
    if share <= 0:
        return "no overhead to be seen: the kernels timed alone take longer than the run"
    _, first = time_unit(1), most["config"]
    return f"{first}: {share:.0%} of a run is spent outside kernels" + (
        f"; least, {min(shares, key=lambda pair: pair[0])[1]['config']}, {max(0.0, min(shares, key=lambda pair: pair[0])[0]):.0%}"
        if len(rows) > 1
        else ""
    )
