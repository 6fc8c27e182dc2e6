"""Plots of kernels: times, handovers, a roofline, CPU and GPU, errors.

The roofline is that of S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for multicore architectures.
Communications of the ACM 52(4), 2009. https://doi.org/10.1145/1498765.1498785
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.colours import DTYPES, LIGHT, NEUTRAL, Theme, family
from workbench.measurement.tables import kernel_name
from workbench.plots.rows import Rows, conditions, device, kernel_conditions, kernel_rows
from workbench.plots.style import Bar, Part, axes, bars, complete, dress, empty, legend, say
from workbench.wording import byte_unit, counted, duration, figures, one_line, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workbench.measurement.machine import Ceilings

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
    drawn = []
    for name, stack in shown:
        parts = [Part(row["median_us"] * factor, family(row.get("op"))[1]) for row in stack]
        drawn.append(Bar(name, parts, f"{figures(_sum(stack) * factor)}   {_sum(stack) / total:.0%}"))
    bars(ax, drawn, theme, max(_sum(stack) for _, stack in shown) * factor * 1.2)
    ax.set_xlabel(f"{unit} in one run, and its share of all kernels' time")
    families: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        families[family(row.get("op"))] += row["median_us"]
    if len(shown) > 3 and len(families) > 1:
        # in the space below sorted bars
        sorted_families = sorted(families, key=lambda key: -families[key])
        handles = [ax.barh(0, 0, color=colour, label=name) for name, colour in sorted_families]
        legend(ax, theme, handles=handles, loc="lower right")
    name, first = stacks[0][0].strip(), stacks[0][1]
    many = counted(len(rows), "kernel")
    where = f"; {many}" if by == "kernel" else f", in {len(first)} of {many}"
    name = name if by == "kernel" else name.split("  x")[0]
    return dress(
        ax, f"{name} takes {_sum(first) / total:.0%} of the kernels' time{where}", theme, kernel_conditions(table)
    )


def _stacks(rows: Rows, by: str) -> list[tuple[str, Rows]]:
    if by == "kernel":
        numbers = (row.get("index") for row in rows)
        heads = (f"{n:.0f}  " if isinstance(n, (int, float)) and n == n else "" for n in numbers)
        return [(head + one_line(kernel_name(row), 34), [row]) for head, row in zip(heads, rows, strict=True)]
    stacks: dict[str, Rows] = defaultdict(list)
    for row in rows:
        op = row.get("op")
        stacks[op if isinstance(op, str) and op else "not known"].append(row)
    return [
        (f"{op}  x{len(stack)}" if len(stack) > 1 else op, sorted(stack, key=lambda row: -row["median_us"]))
        for op, stack in stacks.items()
    ]


def _sum(rows: Rows) -> float:
    return sum(row["median_us"] for row in rows)


OUTSIDE = -1
"value of `producer` and `consumer` for the program's own inputs and outputs"


def handovers(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the bytes that one kernel writes and another reads, one bar per configuration, stacked by dtype.

    `data`: as in `Kernels.handovers`: `producer`, `consumer`, `dtype`, `bytes`, with a column `config` where there
    are several. Inputs and outputs of the program are left out.
    """
    rows = complete(data, "dtype", "bytes").to_dict("records")
    if not rows:
        return empty(axes(ax, 1), "nothing is handed from kernel to kernel", theme)
    sums: dict[str, dict[str, float]] = {}
    for row in rows:
        by_dtype = sums.setdefault(str(row.get("config", "between kernels")), defaultdict(float))
        if OUTSIDE not in (row.get("producer"), row.get("consumer")):
            by_dtype[str(row["dtype"])] += float(row["bytes"])
    most = max(sum(each.values()) for each in sums.values())
    dtypes = sorted({d for each in sums.values() for d in each}, key=lambda d: -sum(each[d] for each in sums.values()))
    ax = axes(ax, len(sums))
    factor, unit = byte_unit(most)
    drawn = []
    for name, each in sums.items():
        total = sum(each.values())
        parts = [Part(each[dtype] * factor, DTYPES.get(dtype, NEUTRAL).light) for dtype in dtypes]
        shares = "".join(f"   {one_line(dtype, 12)} {each[dtype] / total:.0%}" for dtype in dtypes if each[dtype])
        drawn.append(Bar(name, parts, figures(total * factor) + shares))
    bars(ax, drawn, theme, (most or 1) * factor * 1.45)
    ax.set_xlabel(f"{unit} handed from kernel to kernel in one run")
    if len(dtypes) > 1:
        handles = [ax.barh(0, 0, color=DTYPES.get(dtype, NEUTRAL).light, label=one_line(dtype, 12)) for dtype in dtypes]
        legend(ax, theme, handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return dress(ax, _change(list(sums.values())), theme)


def _change(sums: list[dict[str, float]]) -> str:
    """Return the bytes of one configuration, or the change from the first one to the last."""
    totals = [sum(each.values()) for each in sums]
    factor, unit = byte_unit(max(totals))
    first, last = sums[0], sums[-1]
    if not any(totals):
        return "nothing is handed from kernel to kernel"
    if len(sums) == 1:
        return f"{figures(totals[0] * factor)} {unit} between kernels, most of it {max(first, key=lambda d: first[d])}"
    changed = "; ".join(
        f"{dtype} {figures(first[dtype] * factor)} to {figures(last[dtype] * factor)}"
        for dtype in sorted({*first, *last})
        if first[dtype] != last[dtype]
    )
    words = f"{figures(totals[0] * factor)} to {figures(totals[-1] * factor)} {unit} between kernels"
    return words + (f" ({changed})" if changed else "")


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
    known = complete(table, "flops", "bytes_read", "bytes_written").to_dict("records")
    rows = [row for row in known if min(row["median_us"], row["flops"], row["bytes_read"] + row["bytes_written"]) > 0]
    if not rows:
        return empty(axes(ax, 1), "no kernel with known FLOPs was timed yet", theme)
    ax = axes(ax, 6)
    longest = max(row["median_us"] for row in rows)
    moved = [row["bytes_read"] + row["bytes_written"] for row in rows]
    points = [
        (row["flops"] / count, row["flops"] / row["median_us"] * 1e-3) for row, count in zip(rows, moved, strict=True)
    ]
    _dots(ax, rows, points, theme, s=[20 + 160 * row["median_us"] / longest for row in rows], alpha=0.8)
    named: dict[str, float] = {}
    for row, (x, y) in sorted(zip(rows, points, strict=True), key=lambda pair: -pair[0]["median_us"]):
        if len(named) < LONGEST and kernel_name(row) not in named:
            # a name next to another one's goes below its point
            beside = any(abs(math.log10(y / other)) < BESIDE for other in named.values())
            named[kernel_name(row)] = y
            say(ax, x, y, one_line(kernel_name(row), 30), theme, xytext=(7, -13 if beside else 7), fontsize="x-small")
    if ceilings:
        _roof(ax, points, ceilings, theme)
    ax.margins(0.15)
    ax.set_xlabel("FLOP for each byte read or written")
    ax.set_ylabel("GFLOP a second")
    left_out = len(table) - len(rows)
    said = f"not drawn: {counted(left_out, 'kernel')} with unknown or no FLOPs" if left_out else ""
    method = ceilings.method if ceilings else "no ceilings were measured"
    return dress(ax, _bounds(rows, points, ceilings), theme, said, method, kernel_conditions(table))


def _dots(ax: Axes, rows: Rows, points: Sequence[tuple[float, float]], theme: Theme, **how: Any) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    x, y = zip(*points, strict=True) if points else ((), ())
    colours = [family(row.get("op"))[1] for row in rows]
    ax.scatter(x, y, c=colours, edgecolor=theme.page, linewidth=0.7, zorder=3, **how)


def _roof(ax: Axes, points: list[tuple[float, float]], ceilings: Ceilings, theme: Theme) -> None:
    slope, top = ceilings.bytes_per_second * 1e-9, ceilings.flops_per_second * 1e-9
    ridge = top / slope
    low = min([ridge / 8, *(x for x, _ in points)]) / 1.5
    high = max([ridge * 8, *(x for x, _ in points)]) * 1.5
    ax.plot([low, ridge, high], [low * slope, top, top], color=theme.text, linewidth=1.4)
    say(ax, low, low * slope, f"{figures(slope)} GB/s", theme, xytext=(6, 12), fontsize="x-small", color=theme.dim)
    say(ax, ridge, top, f"{figures(top)} GFLOP/s", theme, xytext=(0, 8), fontsize="x-small", color=theme.dim)


def _bounds(rows: Rows, points: list[tuple[float, float]], ceilings: Ceilings | None) -> str:
    if not ceilings:
        return f"{counted(len(rows), 'kernel')}; the machine's ceilings were not measured"
    slope, top = ceilings.bytes_per_second * 1e-9, ceilings.flops_per_second * 1e-9
    total = sum(row["median_us"] for row in rows)
    shares = [(row, y / min(top, x * slope), x * slope < top) for row, (x, y) in zip(rows, points, strict=True)]
    bound = sum(row["median_us"] for row, _, memory in shares if memory) / total
    row, share, _ = max(shares, key=lambda found: found[0]["median_us"])
    cached = "" if share <= 1 else ": its data stays in the cache"
    reached = f"reaches {share:.0%} of its ceiling{cached}"
    return f"{one_line(kernel_name(row), 30)} {reached}; {bound:.0%} of the time is in kernels that memory limits"


LONGEST, FARTHEST = 4, 5
"number of kernels with a name: those that take longest in a roofline; those farthest from the line of equal times"


def cpu_gpu(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot each kernel's time on the CPU and on CUDA as a dot. Below the line CUDA's median is lower.

    Kernels are paired by what they compute: the n-th kernel of an operator on one side is the n-th on the other. Where fusion
    gives the sides different numbers of an operator's kernels, the rest is counted below the plot.

    `data`: rows of `wb.measure(..., targets=["llvm", "cuda"], per_kernel=True)`. For a side that was not timed, the
    plot shows the reason.
    """
    sides = {name: _timed(data, name) for name in ("CPU", "CUDA")}
    missing = [f"{name}: {found}" for name, found in sides.items() if isinstance(found, str)]
    if missing:
        return empty(axes(ax, 2), "; ".join(missing), theme)
    by_op: dict[object, tuple[Rows, Rows]] = defaultdict(lambda: ([], []))
    for place, kernels in enumerate(sides.values()):
        for kernel in kernels if not isinstance(kernels, str) else ():
            by_op[kernel.get("op")][place].append(kernel)
    pairs = [pair for a, b in by_op.values() if len(a) == len(b) for pair in zip(a, b, strict=True)]
    alone = sum(len(a) + len(b) for a, b in by_op.values() if len(a) != len(b))
    ax = axes(ax, 6)
    times = [kernel["median_us"] for pair in pairs for kernel in pair] or [1.0]
    factor, unit = time_unit(max(times))
    ends = [min(times) / 1.6 * factor, max(times) * 1.6 * factor]
    ax.plot(ends, ends, color=theme.faint, linewidth=1)
    points = [(cpu["median_us"] * factor, gpu["median_us"] * factor) for cpu, gpu in pairs]
    _dots(ax, [cpu for cpu, _ in pairs], points, theme, s=36, alpha=0.85)
    ratios = [cpu["median_us"] / gpu["median_us"] for cpu, gpu in pairs]
    by_distance = sorted(range(len(pairs)), key=lambda place: -max(ratios[place], 1 / ratios[place]))
    for place in by_distance[:FARTHEST]:
        say(ax, *points[place], one_line(kernel_name(pairs[place][0]), 30), theme, fontsize="x-small", xytext=(6, 5))
    ax.set_xlabel(f"{unit} on the CPU")
    ax.set_ylabel(f"{unit} on CUDA")
    finding = "no kernel is the same on both sides"
    if pairs:
        cpu, gpu = pairs[max(range(len(pairs)), key=ratios.__getitem__)]
        each = f"{duration(cpu['median_us'])} on the CPU, {duration(gpu['median_us'])} on CUDA"
        finding = f"{one_line(kernel_name(cpu), 30)}: {each}; devices are not raced, so no difference is claimed"
    said = f"not drawn: {counted(alone, 'kernel')} fused otherwise on the other side" if alone else ""
    return dress(ax, finding, theme, said, conditions(data))


def _timed(data: pd.DataFrame, which: str) -> Rows | str:
    """Return the timed kernels of a device, or the reason why there are none."""
    rows = [row for row in complete(data, "config").to_dict("records") if device(row) == which]
    for row in rows:
        kernels = row.get("per_kernel")
        if isinstance(kernels, list) and (timed := [each for each in kernels if (each.get("median_us") or 0) > 0]):
            return timed
    message = rows[0].get("message") if rows else "not measured"
    return message if isinstance(message, str) and message else "its kernels were not timed"


BARS = 6
"height of a new plot, as that of so many bars"
LEAST = 1e-9
"relative error at the bottom of the plot; a kernel without an error is drawn there"


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
    later = complete(data, "index", "own", "inherited").to_dict("records")
    line = [row["index"] for row in later], _heights(later, "whole")
    ax.plot(*line, ".-", color=theme.dim, linewidth=1, markersize=4, label="in the run")
    if wrong:
        of_wrong = [row["index"] for row in wrong], _heights(wrong, "own")
        ax.plot(*of_wrong, "o", color=theme.bad, markersize=6, label="beyond the tolerance")
        worst = max(wrong, key=lambda row: row["own"])
        onto_left = worst["index"] > max(places) / 2
        aligned = {"ha": "right", "xytext": (-6, 8)} if onto_left else {"xytext": (6, 8)}
        (height,) = _heights([worst], "own")
        say(ax, worst["index"], height, one_line(str(worst["kernel"]), 34), theme, color=theme.bad, **aligned)
    ax.set_yscale("log")
    ax.set_ylim(LEAST / 2, max(1.0, *_heights(rows, "own"), *_heights(rows, "whole")) * 30)
    ax.set_xlabel("kernels, in the order of their calls")
    ax.set_ylabel("error, of the largest value")
    legend(ax, theme, loc="upper left", ncols=3)
    left_out, many = len(data) - len(rows), counted(len(rows), "kernel")
    finding = f"no error beyond the tolerance in {many}"
    if wrong:
        finding = f"{len(wrong)} of {many} with an error of its own, the first {wrong[0]['kernel']}"
    return dress(ax, finding, theme, f"{counted(left_out, 'kernel')} not compared" if left_out else "")


def _heights(rows: Rows, name: str) -> list[float]:
    """Return errors between LEAST and 1e9: a logarithmic axis has no zero and no infinity."""
    return [min(max(float(row[name]), LEAST), 1e9) for row in rows]
