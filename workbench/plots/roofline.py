"""Roofline plot: each kernel against the limits of this machine.

S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for multicore architectures.
Communications of the ACM 52(4), 2009. https://doi.org/10.1145/1498765.1498785
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme, family
from workbench.measurement.columns import figures, kernel_name
from workbench.plots.rows import kernel_conditions, kernel_rows
from workbench.plots.style import axes, cut, dress, empty, say
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workbench.measurement.machine import Ceilings

TOLD = 4
"number of kernels with a name: those that take longest"
BESIDE = 0.2
"distance of two points, in decades of GFLOP/s, below which their names would overlap"


def roofline(
    data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT, ceilings: Ceilings | None = None
) -> Axes:
    """Plot each kernel by operations per byte and operations per second; larger dots take longer.

    Parameters
    ----------
    data
        A table of kernels with `name`, `op`, `median_us`, `flops`, `bytes_read`, `bytes_written`. Kernels whose FLOPs are
        unknown or 0 are counted below the plot and not drawn.
    ceilings
        This machine's limits, from `workbench.measurement.machine.ceilings()`. Without them no roof is drawn.
    """
    table = kernel_rows(data)
    needed = ("flops", "bytes_read", "bytes_written")
    rows = [
        row for row in table.to_dict("records") if row["median_us"] > 0 and all(_number(row.get(key)) for key in needed)
    ]
    rows = [row for row in rows if row["flops"] > 0 and row["bytes_read"] + row["bytes_written"] > 0]
    if not rows:
        return empty(axes(ax, 1), "no kernel with known FLOPs was timed yet", theme)
    ax = axes(ax, 6)
    longest = max(row["median_us"] for row in rows)
    points = [(_intensity(row), row["flops"] / row["median_us"] * 1e-3) for row in rows]
    ax.set_xscale("log")
    ax.set_yscale("log")
    for row, (x, y) in zip(rows, points, strict=True):
        size = 20 + 160 * row["median_us"] / longest
        ax.scatter(
            [x], [y], s=size, color=family(row.get("op"))[1], alpha=0.8, edgecolor=theme.page, linewidth=0.7, zorder=3
        )
    named: dict[str, float] = {}
    for row, (x, y) in sorted(zip(rows, points, strict=True), key=lambda pair: -pair[0]["median_us"]):
        if len(named) < TOLD and kernel_name(row) not in named:
            # a name next to another one's goes below its point
            beside = any(abs(math.log10(y / other)) < BESIDE for other in named.values())
            named[kernel_name(row)] = y
            say(ax, x, y, cut(kernel_name(row), 30), theme, xytext=(7, -13 if beside else 7), fontsize="x-small")
    if ceilings:
        _roof(ax, points, ceilings, theme)
    ax.margins(0.15)
    ax.set_xlabel("FLOP for each byte read or written")
    ax.set_ylabel("GFLOP a second")
    left_out = len(table) - len(rows)
    said = f"not drawn: {counted(left_out, 'kernel')} with unknown or no FLOPs" if left_out else ""
    method = ceilings.method if ceilings else "no ceilings were measured"
    dress(
        ax,
        _finding(rows, points, ceilings),
        theme,
        " · ".join(part for part in (said, method, kernel_conditions(table)) if part),
    )
    return ax


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and value == value


def _intensity(row: dict[str, Any]) -> float:
    return row["flops"] / (row["bytes_read"] + row["bytes_written"])


def _roof(ax: Axes, points: list[tuple[float, float]], ceilings: Ceilings, theme: Theme) -> None:
    slope, top = ceilings.bytes_per_second * 1e-9, ceilings.flops_per_second * 1e-9
    ridge = top / slope
    low = min([ridge / 8, *(x for x, _ in points)]) / 1.5
    high = max([ridge * 8, *(x for x, _ in points)]) * 1.5
    ax.plot([low, ridge, high], [low * slope, top, top], color=theme.text, linewidth=1.4)
    say(ax, low, low * slope, f"{figures(slope)} GB/s", theme, xytext=(6, 12), fontsize="x-small", color=theme.dim)
    say(ax, ridge, top, f"{figures(top)} GFLOP/s", theme, xytext=(0, 8), fontsize="x-small", color=theme.dim)


def _finding(rows: list[dict[str, Any]], points: list[tuple[float, float]], ceilings: Ceilings | None) -> str:
    if not ceilings:
        return f"{counted(len(rows), 'kernel')}; the machine's ceilings were not measured"
    slope, top = ceilings.bytes_per_second * 1e-9, ceilings.flops_per_second * 1e-9
    total = sum(row["median_us"] for row in rows)
    shares = [(row, y / min(top, x * slope), x * slope < top) for row, (x, y) in zip(rows, points, strict=True)]
    bound = sum(row["median_us"] for row, _, memory in shares if memory) / total
    row, share, _ = max(shares, key=lambda found: found[0]["median_us"])
    reached = (
        f"reaches {share:.0%} of its ceiling"
        if share <= 1
        else f"reaches {share:.0%} of its ceiling: its data stays in the cache"
    )
    return f"{cut(kernel_name(row), 30)} {reached}; {bound:.0%} of the time is in kernels that memory limits"
