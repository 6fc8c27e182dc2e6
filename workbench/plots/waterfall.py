"""Plot of a pipeline pass by pass: the change that each pass makes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from workbench.colours import LIGHT, Theme
from workbench.errors import MeasureError
from workbench.experiments.waterfall import waterfall as rows_of
from workbench.measurement.columns import byte_unit, figures, time_unit
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.trace import Trace
from workbench.plots.rows import conditions, counted_failures, failures
from workbench.plots.style import axes, complete, dress, empty, label_rows, say
from workbench.target_text import TargetLike
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NOT_RUN = ("off", "skipped")
"statuses of a trace's steps"
WORDS = {
    "kernels": "kernels",
    "traffic_bytes": "read and written by kernels",
    "peak_bytes": "held at the peak",
    "median_us": "a run",
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
        title = f"no stage {_done(what)} yet"
        title = "; ".join(part for part in (title, counted_failures(everything)) if part)
        return empty(axes(ax, 1), title, theme, failures(everything, "pass"))
    shown = [i for i, row in enumerate(known) if quiet or i == 0 or row[what] != known[i - 1][what]]
    ax = axes(ax, len(shown) + 1)
    from matplotlib.ticker import MaxNLocator

    factor, unit = _unit(what, max(row[what] for row in known))
    names = [str(known[i]["pass"]) for i in shown]
    ax.barh(0, known[0][what] * factor, color=theme.bar, height=0.62)
    say(ax, known[0][what] * factor, 0, figures(known[0][what] * factor), theme)
    for place, i in enumerate(shown[1:], 1):
        _step(ax, place, known[i - 1], known[i], what, factor, theme)
    last = known[-1]
    ax.barh(len(shown), last[what] * factor, color=theme.accent, height=0.62)
    say(ax, last[what] * factor, len(shown), figures(last[what] * factor), theme, fontweight="bold")
    label_rows(ax, [*names, "result"])
    ax.set_ylim(len(shown) + 0.5, -0.6)
    ax.set_xlim(0, max(row[what] for row in known) * factor * 1.16 or 1)
    ax.set_xlabel(f"{unit} {WORDS[what]}".strip() if unit else WORDS[what])
    if what == "kernels":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    left_out = len(known) - len(shown)
    said = f"passes left out that leave this as it is: {left_out}" if left_out else ""
    title = _finding(known, what) if finished else f"{counted(len(known), 'stage')} {_done(what)} so far"
    title = "; ".join(part for part in (title, counted_failures(everything)) if part)
    beneath = " · ".join(part for part in (said, conditions(data)) if part)
    dress(ax, title, theme, beneath, failures(everything, "pass"))
    return ax


def _step(
    ax: Axes, place: int, before: dict[str, Any], after: dict[str, Any], what: str, factor: float, theme: Theme
) -> None:
    low, high = sorted((before[what] * factor, after[what] * factor))
    fewer = after[what] < before[what]
    timed = what == "median_us"
    colour = theme.bar if timed else theme.good if fewer else theme.bad
    ax.barh(place, high - low, left=low, color=colour, height=0.62)
    ax.plot([before[what] * factor] * 2, [place - 1.31, place + 0.31], color=theme.faint, linewidth=0.8, zorder=0)
    words = figures(after[what] * factor) if timed else f"{'-' if fewer else '+'}{figures(high - low)}"
    say(ax, high, place, words, theme, color=theme.dim if timed else colour)


def _done(what: str) -> str:
    return {"median_us": "timed", "peak_bytes": "planned"}.get(what, "counted")


def _unit(what: str, most: float) -> tuple[float, str]:
    if what == "kernels":
        return 1, ""
    return byte_unit(most) if what.endswith("_bytes") else time_unit(most)


def _finding(rows: list[dict[str, Any]], what: str) -> str:
    first, last = rows[0], rows[-1]
    steps = [(after[what] - before[what], after) for before, after in pairwise(rows)]
    noun = {"kernels": "kernels", "traffic_bytes": "traffic", "peak_bytes": "peak", "median_us": "time"}[what]
    if len(rows) == 1:
        return f"{_ends(first[what], last[what], what).partition(' to ')[2]} as given"
    if first[what] == last[what] and not any(delta for delta, _ in steps):
        return f"no pass changed the {noun}"
    ends = _ends(first[what], last[what], what)
    if what == "median_us":
        return f"{ends}; not raced, so no difference is claimed"
    delta, most = max(steps, key=lambda step: abs(step[0]))
    return f"{ends}; {most['pass']} changes most ({'+' if delta > 0 else '-'}{_ends_delta(abs(delta), what)})"


def _ends(first: float, last: float, what: str) -> str:
    if what == "kernels":
        return f"{first:.0f} to {counted(last, 'kernel')}"
    factor, unit = _unit(what, max(first, last))
    return f"{figures(first * factor)} to {figures(last * factor)} {unit}"


def _ends_delta(delta: float, what: str) -> str:
    factor, unit = _unit(what, delta)
    return f"{figures(delta * factor)} {unit}".strip()
