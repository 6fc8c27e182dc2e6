"""Plots with one bar per configuration: kernels, time with its spread, and time outside the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme
from workbench.measurement.columns import duration, figures, time_unit
from workbench.measurement.row import UNDER_WAY
from workbench.plots.rows import TIMED, Row, conditions, counted_failures, device, failed, failures, kind, row_names
from workbench.plots.style import axes, complete, dress, empty, label_rows, say
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workbench.measurement.race import Race


Rows = list[dict[str, Any]]
WIDE = 30
"ratio of slowest to fastest above which the axis is logarithmic, so that fast ones stay distinguishable"
MARK = {"CPU": "|", "CUDA": "D"}


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
    devices = list(dict.fromkeys(device(row) for row in everything))
    factor, unit = time_unit(float(timed["median_us"].min())) if rows else (1.0, "µs")
    wide = bool(rows) and max(row["q3_us"] for row in rows) > WIDE * min(row["q1_us"] for row in rows) > 0
    for row in everything:
        at = names.index(row["config"]) + _shift(devices, device(row))
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
    beneath = " · ".join(part for part in (conditions(timed), _often(rows)) if part)
    dress(ax, headline(everything, races), theme, beneath, failures(everything))
    return ax


def _often(rows: Rows) -> str:
    counts = sorted({len(row["samples"]) for row in rows})
    return f"{'-'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} samples each, after warm-up" if counts else ""


def _shift(devices: list[str], which: str) -> float:
    return (devices.index(which) - (len(devices) - 1) / 2) * 0.42


def _timed(ax: Axes, at: float, row: Row, factor: float, theme: Theme, wide: bool) -> None:
    low, middle, high = (row[key] * factor for key in ("q1_us", "median_us", "q3_us"))
    wrong = failed(row)
    colour = theme.bad if wrong else theme.gpu if device(row) == "CUDA" else theme.accent
    samples = [sample * 1e6 * factor for sample in row["samples"]]
    ax.plot(samples, [at] * len(samples), ".", color=theme.bar, markersize=4, alpha=0.6, zorder=1)
    ax.plot([low, high], [at, at], color=colour, linewidth=5, solid_capstyle="butt", alpha=0.5, zorder=2)
    ax.plot([middle], [at], MARK.get(device(row), "|"), color=colour, markersize=15 if MARK.get(device(row), "|") == "|" else 5,
            markeredgewidth=2.5, zorder=3)  # fmt: skip
    words = figures(middle) + (f" ! {wrong} result" if wrong else "")
    say(ax, middle, at, words, theme, xytext=(0, 11), ha="left" if wrong and not wide else "center")


def headline(rows: Sequence[Row], races: Sequence[Race] = ()) -> str:
    """Return the conclusion that rows of `wb.measure` allow, device by device.

    Parameters
    ----------
    races
        Races of pairs of these rows, the newest last.
    """
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
    said = _headline(right, raced) if any(map(_has_time, rows)) else "nothing timed"
    return "; ".join(part for part in (said, counted_failures(rows)) if part)


def _is_of(race: Race, rows: Sequence[Row]) -> bool:
    """Return whether a race compared two of these rows, on their target."""
    return {race.a, race.b} <= {row["config"] for row in rows if _ran_there(row, race.target)}


def _ran_there(row: Row, target: str) -> bool:
    row_names = {row.get("target"), row.get("asked_target")} - {None}
    return target in row_names if row_names else kind(target) == device(row)


def _headline(right: Sequence[Row], raced: Race | None) -> str:
    if raced is not None:
        return raced.outcome.sentence
    if len(right) > 2:
        return f"{len(right)} configurations timed; not raced, so no difference is claimed"
    times = ", ".join(f"{row['config']}: {duration(row['median_us'])}" for row in right)
    return f"{times}; not raced, so no difference is claimed" if len(right) == 2 else times


def _has_time(row: Row) -> bool:
    return isinstance(row.get("median_us"), (int, float)) and row["median_us"] == row["median_us"]


def launch_overhead(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the kernels' own time and the rest of the run's, one bar per configuration.

    Parameters
    ----------
    data
        The result of `wb.measure(..., per_kernel=True)`: `config`, `median_us`, `kernels_sum_us`, and `launches`. Where the
        sum is larger than the run, timing kernels alone cost more than the rest: a label reports this, and no overhead
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
        # in the layout, text beside a long name of a row leaves the bars no width
        say(ax, max(total, inside), place, _beyond_words(row), theme, in_layout=False)
        if inside > total:
            ax.plot([total, inside], [place, place], color=theme.accent, linewidth=1, linestyle=":")
    label_rows(ax, row_names(known))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, max(max(row["median_us"], row["kernels_sum_us"]) for row in rows) * factor * 2)
    ax.set_xlabel(f"{unit} a run: in kernels (solid), beyond them (hatched)")
    method = next((str(row["kernel_method"]) for row in rows if isinstance(row.get("kernel_method"), str)), "")
    dress(ax, _overhead_finding(rows), theme, " · ".join(part for part in (conditions(known), method) if part))
    return ax


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


def _overhead_finding(rows: list[dict[str, Any]]) -> str:
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


def kernel_count(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot the number of kernels, one labelled bar per configuration; the fewest is highlighted.

    Parameters
    ----------
    data
        The result of `wb.measure`: columns `config`, `kernels`, and `asked_target` where there are several. A row without a
        count shows its status instead. Rows that were counted and not timed are also drawn.
    """
    rows = complete(data, "config").to_dict("records")
    known = complete(data, "config", "kernels")
    names = row_names(complete(data, "config"))
    ax = axes(ax, len(names))
    from matplotlib.ticker import MaxNLocator

    counts = [int(n) for n in known["kernels"]]
    best = min(counts, default=0)
    for place, row in enumerate(rows):
        _bar(ax, place, row, best, theme)
    label_rows(ax, names)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.set_xlim(0, max([1, *counts]) * 1.12)
    ax.set_xlabel("kernels (calls in one run)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    known = known.drop(columns=["cpu", "gpu", "threads"], errors="ignore")  # a count is the same on every machine
    title = "; ".join(part for part in (_counts_finding(row_names(known), counts), counted_failures(rows)) if part)
    dress(ax, title, theme, conditions(known), failures(rows))
    return ax


def _bar(ax: Axes, place: int, row: Row, best: int, theme: Theme) -> None:
    count = row.get("kernels")
    if count is None or count != count:
        say(ax, 0, place, f"! {failed(row)}" if failed(row) else "not counted yet", theme, color=theme.bad)
        return
    bars = ax.barh(place, int(count), color=theme.accent if int(count) == best else theme.bar, height=0.62)
    ax.bar_label(bars, [str(int(count))], padding=4, color=theme.text)


def _counts_finding(names: list[str], counts: list[int]) -> str:
    if not counts:
        return "nothing counted yet"
    if len(set(counts)) == 1:
        return counted(counts[0], "kernel") + (" in every configuration" if len(counts) > 1 else "")
    fewest = min(range(len(counts)), key=counts.__getitem__)
    return f"{names[fewest]}: {counted(counts[fewest], 'kernel')}; others have up to {max(counts)}"
