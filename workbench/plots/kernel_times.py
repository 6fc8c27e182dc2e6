"""Plot of the time of one run, kernel by kernel."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme, family
from workbench.measurement.columns import figures, kernel_name, time_unit
from workbench.plots.rows import kernel_conditions, kernel_rows
from workbench.plots.style import axes, cut, dress, empty, label_rows, say
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Rows = list[dict[str, Any]]
MOST = 16
"most single bars; the rest is one bar, `others`"


def kernel_times(
    data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT, by: str = "op", most: int = MOST
) -> Axes:
    """Plot the time per kernel, sorted and stacked by op type, or with one bar per kernel.

    Parameters
    ----------
    data
        A table of kernels with `name`, `op`, `median_us`; or rows of `wb.measure(..., per_kernel=True)`, of which the first
        with kernel times is drawn.
    by
        "op": one row per op type, its kernels stacked in it, the longest first. "kernel": one row per kernel.
    most
        Most rows to draw.
    """
    table = kernel_rows(data)
    rows: Rows = [row for row in table.to_dict("records") if row["median_us"] > 0]
    if not rows:
        return empty(axes(ax, 1), "no kernel timed yet", theme)
    total = sum(row["median_us"] for row in rows)
    stacks = sorted(_stacks(rows, by), key=lambda stack: -_sum(stack[1]))
    shown, rest = stacks[:most], [row for _, stack in stacks[most:] for row in stack]
    if rest:
        shown.append((counted(len(stacks) - most, "other"), sorted(rest, key=lambda row: -row["median_us"])))
    ax = axes(ax, len(shown))
    factor, unit = time_unit(_sum(shown[0][1]))
    for place, (_, stack) in enumerate(shown):
        _stacked(ax, place, stack, factor, theme)
        time = _sum(stack)
        say(ax, time * factor, place, f"{figures(time * factor)}   {time / total:.0%}", theme)
    label_rows(ax, [name for name, _ in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, max(_sum(stack) for _, stack in shown) * factor * 1.2)
    ax.set_xlabel(f"{unit} in one run, and its share of all kernels' time")
    if len(shown) > 3:
        _legend(ax, rows, theme)
    dress(ax, _finding(stacks, rows, total, by), theme, kernel_conditions(table))
    return ax


def _stacks(rows: Rows, by: str) -> list[tuple[str, Rows]]:
    if by == "kernel":
        return [(_label(row), [row]) for row in rows]
    stacks: dict[str, Rows] = defaultdict(list)
    for row in rows:
        op = row.get("op")
        stacks[op if isinstance(op, str) and op else "not known"].append(row)
    return [
        (f"{op}  x{len(stack)}" if len(stack) > 1 else op, sorted(stack, key=lambda row: -row["median_us"]))
        for op, stack in stacks.items()
    ]


def _label(row: dict[str, Any]) -> str:
    index = row.get("index")
    return (f"{index:.0f}  " if isinstance(index, (int, float)) and index == index else "") + cut(kernel_name(row), 34)


def _stacked(ax: Axes, place: int, stack: Rows, factor: float, theme: Theme) -> None:
    left = 0.0
    for row in stack:
        width = row["median_us"] * factor
        colour = family(row.get("op"))[1]
        ax.barh(place, width, left=left, color=colour, height=0.62, edgecolor=theme.page, linewidth=0.5)
        left += width


def _sum(rows: Rows) -> float:
    return sum(row["median_us"] for row in rows)


def _legend(ax: Axes, rows: Rows, theme: Theme) -> None:
    """Draw the legend of the families that occur, in the space below sorted bars."""
    found: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        found[family(row.get("op"))] += row["median_us"]
    if len(found) < 2:
        return
    handles = [ax.barh(0, 0, color=colour, label=name) for name, colour in sorted(found, key=lambda key: -found[key])]
    made = ax.legend(handles=handles, loc="lower right", frameon=False, fontsize="x-small", handlelength=1)
    for text in made.get_texts():
        text.set_color(theme.text)


def _finding(stacks: list[tuple[str, Rows]], rows: Rows, total: float, by: str) -> str:
    name, first = stacks[0]
    share = _sum(first) / total
    if by == "kernel":
        return f"{name.strip()} takes {share:.0%} of the kernels' time; {counted(len(rows), 'kernel')}"
    op = name.split("  x")[0]
    return f"{op} takes {share:.0%} of the kernels' time, in {len(first)} of {counted(len(rows), 'kernel')}"
