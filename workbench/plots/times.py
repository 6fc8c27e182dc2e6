"""Time of each configuration, with its spread; CPU and CUDA beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.plots.rows import TIMED, conditions, device
from workbench.plots.style import LIGHT, Theme, axes, complete, cut, dress, figures, label_rows, say, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Rows = list[dict[str, Any]]
WIDE = 30
"slowest to fastest: beyond this the axis is logarithmic, or the fast ones could not be told apart"
MARK = {"CPU": "|", "CUDA": "D"}


def runtime(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Every sample as a faint dot, the interquartile range as a line, the median as a mark with its number.

    A row a configuration; CPU and CUDA stand in the same row, each with its own mark. The shaded band is the fastest's
    interquartile range: what reaches into it cannot be told from the fastest, and is drawn grey.

    Parameters
    ----------
    data
        As `wb.measure` gives it: columns `config`, `median_us`, `q1_us`, `q3_us`, `samples` (seconds), and `device` where
        there are several. A row that was not timed says why, in its place.
    """
    timed = complete(data, *TIMED, "samples")
    rows: Rows = timed.to_dict("records")
    everything: Rows = complete(data, "config").to_dict("records")
    names = list(dict.fromkeys(row["config"] for row in everything))
    ax = axes(ax, len(names))
    devices = list(dict.fromkeys(device(row) for row in everything))
    factor, unit = time_unit(float(timed["median_us"].min())) if rows else (1.0, "µs")
    wide = bool(rows) and max(row["q3_us"] for row in rows) > WIDE * min(row["q1_us"] for row in rows) > 0
    for each in devices if rows else ():
        _band(ax, [row for row in rows if device(row) == each], factor, theme)
    for row in everything:
        at = names.index(row["config"]) + _shift(devices, device(row))
        best = _best([other for other in rows if device(other) == device(row)])
        if row in rows:
            _timed(ax, at, row, best, factor, theme, wide)
        else:
            words = f"{device(row)}: " if len(devices) > 1 else ""
            x = 0 if not wide else min(row["q1_us"] for row in rows) * factor * 0.7
            say(
                ax,
                x,
                at,
                words + cut(str(row.get("message") or row.get("status") or "not timed"), 52),
                theme,
                color=theme.dim,
            )
    label_rows(ax, names)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.7)
    if wide:
        ax.set_xscale("log")
    else:
        ax.set_xlim(left=0)
    marks = " · | CPU  ◆ CUDA" if len({device(row) for row in rows}) > 1 else ""
    ax.set_xlabel(f"{unit} a run{', logarithmic' if wide else ''} (median, quartiles, every sample){marks}")
    dress(ax, _finding(rows, devices), theme, " · ".join(part for part in (conditions(timed), _often(rows)) if part))
    return ax


def _often(rows: Rows) -> str:
    counts = sorted({len(row["samples"]) for row in rows})
    return f"{'-'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} samples each, after warm-up" if counts else ""


def _shift(devices: list[str], which: str) -> float:
    return (devices.index(which) - (len(devices) - 1) / 2) * 0.42


def _best(rows: Rows) -> dict[str, Any] | None:
    right = [row for row in rows if row.get("status", "ok") == "ok"]
    return min(right, key=lambda row: row["median_us"], default=None)


def _band(ax: Axes, rows: Rows, factor: float, theme: Theme) -> None:
    best = _best(rows)
    if best is not None and len(rows) > 1:
        ax.axvspan(best["q1_us"] * factor, best["q3_us"] * factor, color=theme.band, zorder=0, linewidth=0)


def _timed(
    ax: Axes, at: float, row: dict[str, Any], best: dict[str, Any] | None, factor: float, theme: Theme, wide: bool
) -> None:
    low, middle, high = (row[key] * factor for key in ("q1_us", "median_us", "q3_us"))
    noise = (
        best is not None and row is not best and row["median_us"] != best["median_us"] and row["q1_us"] <= best["q3_us"]
    )
    wrong = row.get("status", "ok") == "wrong"
    own = theme.gpu if device(row) == "CUDA" else theme.accent
    colour = theme.bad if wrong else theme.bar if noise else own
    samples = [sample * 1e6 * factor for sample in row["samples"]]
    ax.plot(samples, [at] * len(samples), ".", color=theme.bar, markersize=4, alpha=0.6, zorder=1)
    ax.plot([low, high], [at, at], color=colour, linewidth=5, solid_capstyle="butt", alpha=0.5, zorder=2)
    ax.plot([middle], [at], MARK.get(device(row), "|"), color=colour, markersize=15 if MARK.get(device(row), "|") == "|" else 5,
            markeredgewidth=2.5, zorder=3)  # fmt: skip
    words = figures(middle) + (" ! wrong result" if wrong else "")
    say(ax, middle, at, words, theme, xytext=(0, 11), ha="left" if wrong and not wide else "center")


def _finding(rows: Rows, devices: list[str]) -> str:
    """Which is fastest, unless its quartiles overlap the next one's; and the devices, where both were timed."""
    if not rows:
        return "nothing timed yet"
    said = []
    for each in devices:
        mine = [row for row in rows if device(row) == each and row.get("status", "ok") == "ok"]
        if mine:
            said.append((f"{each}: " if len(devices) > 1 else "") + _fastest(mine))
        elif len(devices) > 1:
            said.append(f"{each}: not measured")
    return "; ".join(said) or "no right answer among them"


def _fastest(rows: Rows) -> str:
    ordered = sorted(rows, key=lambda row: row["median_us"])
    best = ordered[0]
    if len(ordered) == 1:
        factor, unit = time_unit(best["median_us"])
        return f"{best['config']}: {figures(best['median_us'] * factor)} {unit}"
    if best["q3_us"] >= ordered[1]["q1_us"]:
        return f"{best['config']} and {ordered[1]['config']}: no difference beyond the noise"
    return (
        f"{best['config']} is fastest, {ordered[-1]['median_us'] / best['median_us']:.2g} times as fast as the slowest"
    )
