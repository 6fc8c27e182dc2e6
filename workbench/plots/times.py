"""Time of each configuration, with its spread; CPU and CUDA beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.measure.status import UNDER_WAY
from workbench.plots.rows import TIMED, Row, conditions, counted_failures, device, failed, failures, kind
from workbench.plots.style import LIGHT, Theme, axes, complete, dress, figures, label_rows, say, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workbench.measure.timing.race import Race

Rows = list[dict[str, Any]]
WIDE = 30
"slowest to fastest: beyond this the axis is logarithmic, or the fast ones could not be told apart"
MARK = {"CPU": "|", "CUDA": "D"}


def runtime(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT, races: Sequence[Race] = ()) -> Axes:
    """Every sample as a faint dot, the interquartile range as a line, the median as a mark with its number.

    A row a configuration; CPU and CUDA are in the same row, each with its own mark. Rows are timed one after the other, so
    the title claims no difference unless a race of two of them is given.

    Parameters
    ----------
    data
        As `wb.measure` gives it: columns `config`, `median_us`, `q1_us`, `q3_us`, `samples` (seconds), and `device` where
        there are several. A row that was not timed has its status in its place, and its sentence beneath the plot.
    races
        What `wb.race` gave for pairs of these configurations; the title is the newest one's sentence.
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
    ax.set_xlabel(f"{unit} a run{', logarithmic' if wide else ''} (median, quartiles, every sample){marks}")
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
    """Return what may be said of rows of `wb.measure`, device by device.

    Parameters
    ----------
    races
        Of pairs of these rows, the newest last.
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
    said = _said(right, raced) if any(map(_has_time, rows)) else "nothing timed"
    return "; ".join(part for part in (said, counted_failures(rows)) if part)


def _is_of(race: Race, rows: Sequence[Row]) -> bool:
    """Whether a race was one of two of these rows, on their target."""
    return {race.a, race.b} <= {row["config"] for row in rows if _ran_there(row, race.target)}


def _ran_there(row: Row, target: str) -> bool:
    named = {row.get("target"), row.get("asked_target")} - {None}
    return target in named if named else kind(target) == device(row)


def _said(right: Sequence[Row], raced: Race | None) -> str:
    if raced is not None:
        return raced.outcome.sentence
    if len(right) > 2:
        return f"{len(right)} configurations timed; not raced, so no difference is claimed"
    times = ", ".join(f"{row['config']}: {spoken(row['median_us'])}" for row in right)
    return f"{times}; not raced, so no difference is claimed" if len(right) == 2 else times


def _has_time(row: Row) -> bool:
    return isinstance(row.get("median_us"), (int, float)) and row["median_us"] == row["median_us"]


def spoken(microseconds: float) -> str:
    """A time in the unit in which it reads well: `5.1 µs`."""
    factor, unit = time_unit(microseconds)
    return f"{figures(microseconds * factor)} {unit}"
