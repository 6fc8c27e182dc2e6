"""Plots of passes: the change that each pass of a pipeline makes, and an ablation, the program without each pass or with it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workbench.colours import LIGHT, Theme
from workbench.errors import MeasureError
from workbench.experiments.waterfall import waterfall as rows_of
from workbench.measurement.verdict import NO, NOISE, YES, Outcome, Row, is_under_way, judge_row, ratio_of, times
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.trace import Trace
from workbench.plots.rows import Rows, conditions, failed, failures, with_failures
from workbench.plots.style import Bar, Part, axes, bars, complete, dress, empty, interval, label_rows, say
from workbench.target_text import TargetLike
from workbench.wording import byte_unit, counted, figures, size, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

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
    controls = [row for row in everything if row["direction"] == CONTROL]
    control = controls[0] if controls else None
    rows = [row for row in everything if row["direction"] != CONTROL]
    if not rows:
        return empty(axes(ax, 1), "no pass left out yet", theme)
    ax = axes(ax, len(rows))
    raced = [row for row in everything if _has_ratio(row)]
    band = [row for row in raced if row["direction"] == CONTROL]
    for row in band:
        ax.axvspan(row["low"], row["high"], color=theme.band, linewidth=0, zorder=0)
    ax.axvline(1, color=theme.faint, linewidth=1, zorder=0)
    beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": "small", "color": theme.dim}
    for place, row in enumerate(rows):
        _draw_ratio(ax, place, row, judge_row(row, control), theme)
        ax.annotate(_changes(row, control or {}), (1.01, place), **beside)
    ends = [row[key] for row in raced for key in ("low", "high")] or [1.0]
    low, high = min([0.9, *ends]), max([1.1, *ends])
    room = (high - low) * 0.08
    ax.set_xlim(low - room, high + room)
    directions = ("" if row["direction"] == "without" else f"{row['direction']} " for row in rows)
    label_rows(ax, [f"{direction}{row['pass']}" for direction, row in zip(directions, rows, strict=True)])
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_xlabel("time without it / time with all (above 1: slower)")
    said = "band: the pipeline against itself" if band else ""
    title = with_failures(headline(everything, finished=finished), everything)
    return dress(ax, title, theme, said, conditions(data), failures=failures(everything, "pass"))


def _has_ratio(row: Row) -> bool:
    return ratio_of(row) is not None


def _draw_ratio(ax: Axes, place: int, row: Row, found: Outcome, theme: Theme) -> None:
    if not _has_ratio(row):
        say(ax, 1, place, f"! {failed(row)}" if failed(row) else "not timed", theme, color=theme.dim)
        return
    colour = {YES: theme.good, NO: theme.bad}.get(found.answer, theme.bar)
    interval(ax, place, row["low"], row["high"], colour, linewidth=4, alpha=0.55)
    ax.plot([row["ratio"]], [place], "o", color=colour, markersize=6)
    words = "too noisy" if found.reason == NOISE else f"{row['ratio']:.3g}"
    say(ax, row["ratio"], place, words, theme, xytext=(0, 10), ha="center")


def _changes(row: Row, base: Row) -> str:
    """Return the change of the counts, which have no noise."""
    said = []
    for column, words in (("kernels", lambda count: counted(count, "kernel")), ("traffic_bytes", size)):
        now, then = row.get(column), base.get(column)
        if now is not None and then is not None and now == now and now != then:
            said.append(("+" if now > then else "-") + words(abs(now - then)))
    return "\n".join(said) or ("same kernels" if base.get("kernels") == row.get("kernels") else "")


def headline(rows: Sequence[Row], *, finished: bool = True) -> str:
    """Return the conclusion that all rows of an ablation allow, including the control."""
    if is_under_way(rows):
        return f"{sum(_has_ratio(row) or bool(failed(row)) for row in rows)} of {len(rows)} raced so far"
    if not finished:
        return f"{len(rows)} counted so far"
    controls = [row for row in rows if row.get("direction") == CONTROL]
    rows = [row for row in rows if row.get("direction") != CONTROL]
    control = controls[0] if controls else None
    if not any(map(_has_ratio, rows)):
        return _counted(rows, control or {})
    judged = [(row, judge_row(row, control, again="race again")) for row in (*controls, *rows) if _has_ratio(row)]
    noisy = next((found for _, found in judged if found.reason == NOISE), None)
    return noisy.sentence if noisy else _worth([(row, found.answer) for row, found in judged])


def _worth(answers: Sequence[tuple[Row, str]]) -> str:
    without = [(row, answer) for row, answer in answers if row["direction"] == "without"]
    worth = sorted((row for row, answer in without if answer == YES), key=lambda row: -row["ratio"])
    harm = [row for row, answer in without if answer == NO]
    if worth:
        more = f"; without {harm[0]['pass']}, {times(1 / harm[0]['ratio'])}" if harm else ""
        return f"without {worth[0]['pass']} it is {times(1 / worth[0]['ratio'])}{more}"
    if harm:
        worst = min(harm, key=lambda row: row["ratio"])
        return f"without {worst['pass']} it is {times(1 / worst['ratio'])}"
    return f"{counted(len(without), 'pass')} raced; no difference shown" if without else ""


def _counted(rows: Sequence[Row], control: Row) -> str:
    base = control.get("kernels")
    counts = [row for row in rows if isinstance(row.get("kernels"), (int, float)) and row["kernels"] == row["kernels"]]
    most = max(counts, key=lambda row: row["kernels"], default=None)
    if base is not None and most is not None and most["kernels"] > base:
        return f"without {most['pass']}: {counted(most['kernels'], 'kernel')} instead of {base:.0f}; not timed"
    return "counted, not timed"


NOT_RUN = ("off", "skipped")
"statuses of a trace's steps"


class Measure(NamedTuple):
    """A number of each stage, and its words."""

    noun: str
    words: str
    done: str
    unit: Callable[[float], tuple[float, str]]


MEASURES = {
    "kernels": Measure("kernels", "kernels", "counted", lambda _: (1.0, "")),
    "traffic_bytes": Measure("traffic", "read and written by kernels", "counted", byte_unit),
    "peak_bytes": Measure("peak", "held at the peak", "planned", byte_unit),
    "median_us": Measure("time", "a run", "timed", time_unit),
}


def peak_by_pass(
    trace: Trace, ax: Axes | None = None, *, theme: Theme = LIGHT, target: TargetLike = "llvm", quiet: bool = False
) -> Axes:
    """Plot the bytes held at the peak after each pass of a trace; a state that cannot be planned is a note.

    Parameters
    ----------
    trace
        The result of `wb.trace`.
    target
        The target of the builds that are planned.
    quiet
        Whether to draw passes that do not change the peak.

    Raises
    ------
    MeasureError
        The trace has no modules, because it was opened from a file; or it is of the compiler's own build.
    """
    if not isinstance(trace, Trace):
        raise MeasureError(
            f"peak_by_pass takes a trace, not {type(trace).__name__}: wb.plots.peak_by_pass(wb.trace(workload, passes))"
        )
    if trace.workload is None or trace.build:
        raise MeasureError("the memory after each pass needs a trace of wb.trace, made in this session")
    ran = Pipeline.parse(",".join(step.name for step in trace.steps if step.status not in NOT_RUN))
    rows = rows_of(trace.workload, ran, target, opt_level=trace.opt_level, timed=False)
    return waterfall(rows, ax, theme=theme, what="peak_bytes", quiet=quiet)


def waterfall(
    data: pd.DataFrame,
    ax: Axes | None = None,
    *,
    theme: Theme = LIGHT,
    what: str = "kernels",
    quiet: bool = False,
    finished: bool = True,
) -> Axes:
    """Plot one bar per pass, from the number before it to the number after it, the first pass on top.

    Parameters
    ----------
    data
        The result of `wb.waterfall`, with columns `pass` (the first row is the input), `kernels`, `traffic_bytes`, `peak_bytes`, and
        `median_us`, `q1_us`, `q3_us` where times were measured.
    what
        The column to plot. Stages are timed one after the other and not raced, so no change of `median_us` is reported:
        each stage shows its time.
    quiet
        Whether to draw passes that do not change the number.
    finished
        Whether all rows are there; before that, the title gives their number.
    """
    everything = complete(data, "pass").to_dict("records")
    known = complete(data, "pass", what).to_dict("records")
    if not known:
        title = with_failures(f"no stage {MEASURES[what].done} yet", everything)
        return empty(axes(ax, 1), title, theme, failures(everything, "pass"))
    shown = [i for i, row in enumerate(known) if quiet or i == 0 or row[what] != known[i - 1][what]]
    ax = axes(ax, len(shown) + 1)
    from matplotlib.ticker import MaxNLocator

    measure, top = MEASURES[what], max(row[what] for row in known)
    factor, unit = measure.unit(top)
    ends = [row[what] * factor for row in known]
    drawn = [Bar(str(known[0]["pass"]), (Part(ends[0], theme.bar),), figures(ends[0]))]
    for place, i in enumerate(shown[1:], 1):
        before, after = ends[i - 1], ends[i]
        if what == "median_us":
            colour, shade, words = theme.bar, theme.dim, figures(after)
        else:
            colour = shade = theme.good if after < before else theme.bad
            words = f"{'-' if after < before else '+'}{figures(abs(after - before))}"
        part = Part(abs(after - before), colour)
        drawn.append(Bar(str(known[i]["pass"]), (part,), words, min(before, after), how={"color": shade}))
        ax.plot([before, before], [place - 1.31, place + 0.31], color=theme.faint, linewidth=0.8, zorder=0)
    drawn.append(Bar("result", (Part(ends[-1], theme.accent),), figures(ends[-1]), how={"fontweight": "bold"}))
    bars(ax, drawn, theme, top * factor * 1.16 or 1)
    ax.set_xlabel(f"{unit} {measure.words}".strip())
    if what == "kernels":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    left_out = len(known) - len(shown)
    said = f"passes left out that leave this as it is: {left_out}" if left_out else ""
    title = _finding(known, what) if finished else f"{counted(len(known), 'stage')} {measure.done} so far"
    title = with_failures(title, everything)
    return dress(ax, title, theme, said, conditions(data), failures=failures(everything, "pass"))


def _finding(rows: Rows, what: str) -> str:
    first, last, measure = rows[0][what], rows[-1][what], MEASURES[what]
    steps = [(after[what] - before[what], after["pass"]) for before, after in pairwise(rows)]
    factor, unit = measure.unit(max(first, last))
    ends = f"{figures(first * factor)} to {figures(last * factor)} {unit}"
    if what == "kernels":
        ends = f"{first:.0f} to {counted(last, 'kernel')}"
    if len(rows) == 1:
        return f"{ends.partition(' to ')[2]} as given"
    if first == last and not any(delta for delta, _ in steps):
        return f"no pass changed the {measure.noun}"
    if what == "median_us":
        return f"{ends}; not raced, so no difference is claimed"
    delta, name = max(steps, key=lambda step: abs(step[0]))
    factor, unit = measure.unit(abs(delta))
    change = f"{'+' if delta > 0 else '-'}{figures(abs(delta) * factor)} {unit}".strip()
    return f"{ends}; {name} changes most ({change})"
