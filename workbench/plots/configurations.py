"""Plots with one bar per configuration: kernels, time with its spread, and time outside the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme
from workbench.measurement.row import UNDER_WAY
from workbench.plots.rows import TIMED, Row, Rows, conditions, device, failed, failures, kind, row_names, with_failures
from workbench.plots.style import Bar, Part, axes, bars, complete, dress, empty, interval, label_rows, say
from workbench.wording import counted, duration, figures, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workbench.measurement.race import Race


WIDE = 30
"ratio of slowest to fastest above which the axis is logarithmic, so that fast ones stay distinguishable"


def runtime(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT, races: Sequence[Race] = ()) -> Axes:
    """Plot every sample as a faint dot, the interquartile range as a line, the median as a mark with its number.

    One row per configuration; CPU and CUDA are in the same row, each with its own mark. Rows are timed one after the other, so
    the title claims no difference unless a race of two of them is given.

    Parameters
    ----------
    data
        The result of `wb.measure`: columns `config`, `median_us`, `q1_us`, `q3_us`, `samples` (seconds), and `device` where
        there are several. A row that was not timed shows its status instead, and its message below the plot.
    races
        Results of `wb.race` for pairs of these configurations; the title is the sentence of the newest.
    """
    timed = complete(data, *TIMED, "samples")
    rows: Rows = timed.to_dict("records")
    everything: Rows = complete(data, "config").to_dict("records")
    names = list(dict.fromkeys(row["config"] for row in everything))
    ax = axes(ax, len(names))
    devices = list(dict.fromkeys(map(device, everything)))
    factor, unit = time_unit(float(timed["median_us"].min())) if rows else (1.0, "µs")
    wide = bool(rows) and max(row["q3_us"] for row in rows) > WIDE * min(row["q1_us"] for row in rows) > 0
    for row in everything:
        at = names.index(row["config"]) + (devices.index(device(row)) - (len(devices) - 1) / 2) * 0.42
        if row in rows:
            _timed(ax, at, row, factor, theme, wide)
        else:
            x = 0 if not wide else min(row["q1_us"] for row in rows) * factor * 0.7
            mark = f"! {failed(row)}" if failed(row) else str(row.get("status") or "not timed")
            say(ax, x, at, f"{device(row)}: {mark}" if len(devices) > 1 else mark, theme, color=theme.bad)
    label_rows(ax, names)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.7)
    if wide:
        ax.set_xscale("log")
    else:
        ax.set_xlim(left=0)
    marks = " · | CPU  ◆ CUDA" if len({device(row) for row in rows}) > 1 else ""
    ax.set_xlabel(f"{unit} a run{', logarithmic' if wide else ''} (median, quartiles, samples){marks}")
    counts = sorted({len(row["samples"]) for row in rows})
    often = "-".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else ""
    often = f"{often} samples each, after warm-up" if often else ""
    return dress(ax, headline(everything, races), theme, conditions(timed), often, failures=failures(everything))


def _timed(ax: Axes, at: float, row: Row, factor: float, theme: Theme, wide: bool) -> None:
    low, middle, high = (row[key] * factor for key in ("q1_us", "median_us", "q3_us"))
    wrong = failed(row)
    colour = theme.bad if wrong else theme.gpu if device(row) == "CUDA" else theme.accent
    samples = [sample * 1e6 * factor for sample in row["samples"]]
    ax.plot(samples, [at] * len(samples), ".", color=theme.bar, markersize=4, alpha=0.6, zorder=1)
    interval(ax, at, low, high, colour, linewidth=5, alpha=0.5, zorder=2)
    mark, size = ("D", 5) if device(row) == "CUDA" else ("|", 15)
    ax.plot([middle], [at], mark, color=colour, markersize=size, markeredgewidth=2.5, zorder=3)
    words = figures(middle) + (f" ! {wrong} result" if wrong else "")
    say(ax, middle, at, words, theme, xytext=(0, 11), ha="left" if wrong and not wide else "center")


def headline(rows: Sequence[Row], races: Sequence[Race] = ()) -> str:
    """Return the conclusion that rows of `wb.measure`, and races of pairs of them, allow, device by device."""
    waiting = [str(row["config"]) for row in rows if row.get("status") in UNDER_WAY]
    if waiting:
        return f"{', '.join(waiting)}: not finished"
    if not any(_has_time(row) or failed(row) for row in rows):
        return "nothing timed yet"
    devices = list(dict.fromkeys(device(row) for row in rows))
    parts = [(each, _of_device([row for row in rows if device(row) == each], races)) for each in devices]
    return "; ".join(f"{each}: {said}" if len(devices) > 1 else said for each, said in parts)


def _of_device(rows: Sequence[Row], races: Sequence[Race]) -> str:
    right = [row for row in rows if _has_time(row) and not failed(row)]
    raced = next((race for race in reversed(races) if _is_of(race, right)), None)
    times = ", ".join(f"{row['config']}: {duration(row['median_us'])}" for row in right)
    if not any(map(_has_time, rows)):
        said = "nothing timed"
    elif raced is not None:
        said = raced.outcome.sentence
    elif len(right) > 2:
        said = f"{len(right)} configurations timed; not raced, so no difference is claimed"
    else:
        said = f"{times}; not raced, so no difference is claimed" if len(right) == 2 else times
    return with_failures(said, rows)


def _is_of(race: Race, rows: Sequence[Row]) -> bool:
    """Return whether a race compared two of these rows, on their target."""

    def is_there(row: Row) -> bool:
        targets = {row.get("target"), row.get("asked_target")} - {None}
        return race.target in targets if targets else kind(race.target) == device(row)

    return {race.a, race.b} <= {row["config"] for row in rows if is_there(row)}


def _has_time(row: Row) -> bool:
    return isinstance(row.get("median_us"), (int, float)) and row["median_us"] == row["median_us"]


def launch_overhead(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the kernels' own time and the rest of the run's, one bar per configuration.

    `data`: the result of `wb.measure(..., per_kernel=True)`: `config`, `median_us`, `kernels_sum_us`, and `launches`.
    Where the sum is larger than the run, timing kernels alone cost more than the rest: a label reports this, and no
    overhead is drawn.
    """
    known = complete(data, "config", "median_us", "kernels_sum_us")
    if not len(known):
        return empty(axes(ax, 1), "no kernel timed yet: measure with per_kernel=True", theme)
    rows: Rows = known.to_dict("records")
    ax = axes(ax, len(rows))
    factor, unit = time_unit(max(row["median_us"] for row in rows))
    drawn = []
    for place, (name, row) in enumerate(zip(row_names(known), rows, strict=True)):
        total, inside = row["median_us"] * factor, row["kernels_sum_us"] * factor
        parts = Part(min(total, inside), theme.accent), Part(max(0.0, total - inside), theme.gpu, "///")
        # in the layout, text beside a long name of a row leaves the bars no width
        drawn.append(Bar(name, parts, _beyond_words(row), ends=max(total, inside), how={"in_layout": False}))
        if inside > total:
            ax.plot([total, inside], [place, place], color=theme.accent, linewidth=1, linestyle=":")
    bars(ax, drawn, theme, max(each.ends or 0 for each in drawn) * 2)
    ax.set_xlabel(f"{unit} a run: in kernels (solid), beyond them (hatched)")
    method = next((str(row["kernel_method"]) for row in rows if isinstance(row.get("kernel_method"), str)), "")
    return dress(ax, _overhead_finding(rows), theme, conditions(known), method)


def _beyond_words(row: dict[str, Any]) -> str:
    beyond = row["median_us"] - row["kernels_sum_us"]
    if beyond <= 0:
        return f"timed alone:\n{row['kernels_sum_us'] / row['median_us']:.0%} of the run"
    launches = row.get("launches")
    each = ""
    if isinstance(launches, (int, float)) and launches > 0:
        by, small = time_unit(beyond / launches)
        each = f"\n{figures(beyond / launches * by)} {small} a launch"
    by, small = time_unit(beyond)
    return f"{figures(beyond * by)} {small} beyond, {beyond / row['median_us']:.0%}{each}"


def _overhead_finding(rows: Rows) -> str:
    shares = [(1 - row["kernels_sum_us"] / row["median_us"], str(row["config"])) for row in rows]
    share, most = max(shares, key=lambda pair: pair[0])
    low, least = min(shares, key=lambda pair: pair[0])
    if share <= 0:
        return "no overhead to be seen: the kernels timed alone take longer than the run"
    rest = f"; least, {least}, {max(0.0, low):.0%}" if len(rows) > 1 else ""
    return f"{most}: {share:.0%} of a run is spent outside kernels{rest}"


def kernel_count(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the number of kernels, one labelled bar per configuration; the fewest is highlighted.

    `data`: the result of `wb.measure`: columns `config`, `kernels`, and `asked_target` where there are several. A row
    without a count shows its status instead. Rows that were counted and not timed are also drawn.
    """
    whole, known = complete(data, "config"), complete(data, "config", "kernels")
    rows: Rows = whole.to_dict("records")
    ax = axes(ax, len(rows))
    from matplotlib.ticker import MaxNLocator

    counts = [int(n) for n in known["kernels"]]
    drawn = []
    for name, row in zip(row_names(whole), rows, strict=True):
        if row.get("kernels") is None or row["kernels"] != row["kernels"]:
            words = f"! {failed(row)}" if failed(row) else "not counted yet"
            drawn.append(Bar(name, words=words, how={"color": theme.bad}))
        else:
            count = int(row["kernels"])
            part = Part(count, theme.accent if count == min(counts) else theme.bar)
            drawn.append(Bar(name, (part,), str(count), how={"fontsize": "medium"}))
    bars(ax, drawn, theme, max([1, *counts]) * 1.12)
    ax.set_xlabel("kernels (calls in one run)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    known = known.drop(columns=["cpu", "gpu", "threads"], errors="ignore")  # a count is the same on every machine
    title = with_failures(_counts_finding(row_names(known), counts), rows)
    return dress(ax, title, theme, conditions(known), failures=failures(rows))


def _counts_finding(names: list[str], counts: list[int]) -> str:
    if not counts:
        return "nothing counted yet"
    if len(set(counts)) == 1:
        return counted(counts[0], "kernel") + (" in every configuration" if len(counts) > 1 else "")
    fewest = min(range(len(counts)), key=counts.__getitem__)
    return f"{names[fewest]}: {counted(counts[fewest], 'kernel')}; others have up to {max(counts)}"
