"""Plot of an ablation: the program without each pass, or with it alone, compared with all passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme
from workbench.measurement.columns import byte_unit
from workbench.measurement.verdict import NO, NOISE, YES, Outcome, Row, is_under_way, judge_row, ratio_of, times
from workbench.plots.rows import conditions, counted_failures, failed, failures
from workbench.plots.style import axes, complete, dress, empty, label_rows, say
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Rows = list[dict[str, Any]]
CONTROL = "control"
"the direction of the row that races the whole pipeline against itself: its interval is the noise"


def ablation(data: pd.DataFrame, ax: Axes | None = None, *, theme: Theme = LIGHT, finished: bool = True) -> Axes:
    """Plot the time without each pass over the time with all of them, with its 95 % interval; 1 means no difference.

    A row is coloured where `workbench.measurement.verdict` allows an answer, and grey otherwise. The band is the pipeline
    against itself, measured the same way: where it excludes 1, the title reports only that. Right of each row: the
    change in kernels and bytes.

    Parameters
    ----------
    data
        The result of `wb.ablate`: `pass`, `direction`, `kernels`, `traffic_bytes`, `ratio`, `low`, `high`. A row without a
        ratio shows its status instead, and its message below the plot.
    finished
        Whether all rows are there; before that, the title gives their number.
    """
    everything: Rows = complete(data, "pass", "direction").to_dict("records")
    rows = everything
    controls = [row for row in rows if row["direction"] == CONTROL]
    rows = [row for row in rows if row["direction"] != CONTROL]
    if not rows:
        return empty(axes(ax, 1), "no pass left out yet", theme)
    ax = axes(ax, len(rows))
    raced = [row for row in rows if _has_ratio(row)]
    for row in controls:
        if _has_ratio(row):
            ax.axvspan(row["low"], row["high"], color=theme.band, linewidth=0, zorder=0)
    ax.axvline(1, color=theme.faint, linewidth=1, zorder=0)
    for place, row in enumerate(rows):
        _draw_row(ax, place, row, judge_row(row, controls[0] if controls else None), theme)
    ends = [row[key] for row in [*raced, *controls] if _has_ratio(row) for key in ("low", "high")] or [1.0]
    low, high = min([0.9, *ends]), max([1.1, *ends])
    room = (high - low) * 0.08
    ax.set_xlim(low - room, high + room)
    for place, row in enumerate(rows):
        _delta(ax, place, row, controls, theme)
    label_rows(
        ax, [("" if row["direction"] == "without" else f"{row['direction']} ") + str(row["pass"]) for row in rows]
    )
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_xlabel("time without it / time with all (above 1: slower)")
    said = "band: the pipeline against itself" if any(map(_has_ratio, controls)) else ""
    title = "; ".join(part for part in (headline(everything, finished=finished), counted_failures(everything)) if part)
    beneath = " · ".join(part for part in (said, conditions(data)) if part)
    dress(ax, title, theme, beneath, failures(everything, "pass"))
    return ax


def _has_ratio(row: Row) -> bool:
    return ratio_of(row) is not None


def _draw_row(ax: Axes, place: int, row: Row, found: Outcome, theme: Theme) -> None:
    if not _has_ratio(row):
        say(ax, 1, place, f"! {failed(row)}" if failed(row) else "not timed", theme, color=theme.dim)
        return
    colour = {YES: theme.good, NO: theme.bad}.get(found.answer, theme.bar)
    ax.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=4, solid_capstyle="butt", alpha=0.55)
    ax.plot([row["ratio"]], [place], "o", color=colour, markersize=6)
    words = "too noisy" if found.reason == NOISE else f"{row['ratio']:.3g}"
    say(ax, row["ratio"], place, words, theme, xytext=(0, 10), ha="center")


def _delta(ax: Axes, place: int, row: dict[str, object], controls: list[dict[str, object]], theme: Theme) -> None:
    """Write the change of the counts, which have no noise, next to the row."""
    base = controls[0] if controls else {}
    said = [_change(row, base, "kernels", lambda n: counted(n, "kernel"))]
    said.append(_change(row, base, "traffic_bytes", lambda n: f"{n * byte_unit(n)[0]:.3g} {byte_unit(n)[1]}"))
    words = "\n".join(part for part in said if part) or (
        "same kernels" if base.get("kernels") == row.get("kernels") else ""
    )
    ax.annotate(
        words, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize="small", color=theme.dim
    )


def _change(row: dict[str, Any], base: dict[str, Any], column: str, words: Any) -> str:
    now, then = row.get(column), base.get(column)
    if now is None or then is None or now != now or now == then:
        return ""
    return ("+" if now > then else "-") + words(abs(now - then))


def headline(rows: Sequence[Row], *, finished: bool = True) -> str:
    """Return the conclusion that all rows of an ablation allow, including the control."""
    controls = [row for row in rows if row.get("direction") == CONTROL]
    rows = [row for row in rows if row.get("direction") != CONTROL]
    done = [row for row in (*rows, *controls) if _has_ratio(row) or failed(row)]
    if is_under_way((*rows, *controls)):
        return f"{len(done)} of {len(rows) + len(controls)} raced so far"
    if not finished:
        return f"{len(rows) + len(controls)} counted so far"
    if not any(_has_ratio(row) for row in rows):
        return _counted(rows, controls)
    judged = [
        (row, judge_row(row, controls[0] if controls else None, again="race again")) for row in (*controls, *rows)
    ]
    noisy = next((found for row, found in judged if _has_ratio(row) and found.reason == NOISE), None)
    return noisy.sentence if noisy else _worth([(row, found.answer) for row, found in judged if _has_ratio(row)])


def _worth(answers: Sequence[tuple[Row, str]]) -> str:
    without = [(row, answer) for row, answer in answers if row["direction"] == "without"]
    worth = [row for row, answer in without if answer == YES]
    harm = [row for row, answer in without if answer == NO]
    if worth:
        best = max(worth, key=lambda row: row["ratio"])
        said = f"without {best['pass']} it is {times(1 / best['ratio'])}"
        return said + (f"; without {harm[0]['pass']}, {times(1 / harm[0]['ratio'])}" if harm else "")
    if harm:
        worst = min(harm, key=lambda row: row["ratio"])
        return f"without {worst['pass']} it is {times(1 / worst['ratio'])}"
    if not without:
        return ""
    return f"{counted(len(without), 'pass')} raced; no difference shown"


def _counted(rows: Sequence[Row], controls: Sequence[Row]) -> str:
    base = controls[0].get("kernels") if controls else None
    counts = [row for row in rows if isinstance(row.get("kernels"), (int, float)) and row["kernels"] == row["kernels"]]
    most = max(counts, key=lambda row: row["kernels"], default=None)
    if base is not None and most is not None and most["kernels"] > base:
        return f"without {most['pass']}: {counted(most['kernels'], 'kernel')} instead of {base:.0f}; not timed"
    return "counted, not timed"
