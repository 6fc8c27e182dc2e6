"""Plot of a memory plan: storages over the calls of the kernels, and the live bytes of each call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.colours import LIGHT, Theme
from workbench.errors import WorkbenchError
from workbench.measurement.memory.plan import MemoryPlan, Row, finding, fullest, rows_of
from workbench.plots.style import WIDTH, axes, dress, empty, legend, require_matplotlib, say
from workbench.wording import byte_unit, figures, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 8
"height of a new plot, as that of so many bars"
HEIGHT = 4.5
"inches of a plan in a figure"
LABELLED = 0.04
"least part of the height of a row with a label"


def memory(plan: MemoryPlan, ax: Axes | None = None, *, theme: Theme = LIGHT) -> Axes:
    """Plot storages as bands with their tensors, to scale, and live and held bytes as lines on the same axis.

    Parameters
    ----------
    plan
        The result of `wb.memory`.
    """
    if not isinstance(plan, MemoryPlan):
        raise WorkbenchError(
            f"memory takes a memory plan, not {type(plan).__name__}: wb.plots.memory(wb.memory(workload))"
        )
    ax = axes(ax, BARS)
    rows = rows_of(plan)
    if not plan.steps or not rows:
        return empty(ax, "the plan has no kernels", theme, plan.notes)
    total = sum(row.bytes for row in rows)
    factor, unit = byte_unit(max(total, plan.peak_bytes))
    _bands(ax, plan, rows, factor, theme)
    edges = range(len(plan.steps) + 1)
    held = [step.live_bytes * factor for step in plan.steps]
    ax.stairs(held, edges, baseline=None, color=theme.dim, linestyle="--", linewidth=1, label="held")
    needed = [count * factor for count in plan.needed_bytes]
    ax.stairs(needed, edges, baseline=None, color=theme.text, linewidth=1.4, label="live")
    _peak(ax, plan, factor, theme)
    ax.set_xlim(min(0, *(tensor.born for tensor in plan.tensors), 0), len(plan.steps))
    ax.set_ylim(0, max(total, plan.peak_bytes) * factor * 1.12 or 1)
    ax.set_xlabel("kernels, in the order of their calls")
    ax.set_ylabel(f"storages, in {unit}")
    from matplotlib.patches import Patch

    lines, names = ax.get_legend_handles_labels()
    patches = [Patch(color=colour, label=name) for name, colour in role_colours(theme).items()]
    legend(ax, theme, handles=[*lines, *patches], labels=[*names, *role_colours(theme)], loc="upper right", ncols=6)
    return dress(ax, finding(plan), theme, plan.target, plan.config.label, *plan.notes)


def memory_figure(plans: Sequence[MemoryPlan]) -> Figure:
    """Return a figure of plans, one above the other on one scale; it is not pyplot's."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT * len(plans)), layout="constrained")
    shared = figure.subplots(len(plans), 1, sharex=True, sharey=True, squeeze=False)
    for plan, ax in zip(plans, shared[:, 0], strict=True):
        memory(plan, ax)
    return figure


def role_colours(theme: Theme) -> dict[str, str]:
    """Return the colour of each kind of tensor."""
    return {"input": theme.accent, "output": theme.good, "intermediate": theme.bar, "workspace": theme.gpu}


def _bands(ax: Axes, plan: MemoryPlan, rows: list[Row], factor: float, theme: Theme) -> None:
    colours = role_colours(theme)
    total = sum(row.bytes for row in rows) * factor
    bottom, ticks, labels = 0.0, [], []
    for row in rows:
        height = row.bytes * factor
        tensors = [plan.tensors[place] for place in row.tensors]
        spans = [(tensor.born, tensor.dies - tensor.born + 1) for tensor in tensors]
        faces = [colours.get(tensor.role, theme.accent) for tensor in tensors]
        ax.broken_barh(spans, (bottom, height), facecolors=faces, edgecolors=theme.page, linewidth=0.4, alpha=0.75)
        if height > total * LABELLED:
            ticks.append(bottom + height / 2)
            labels.append(figures(height))
        bottom += height
    ax.set_yticks(ticks, labels)


def _peak(ax: Axes, plan: MemoryPlan, factor: float, theme: Theme) -> None:
    needed, place = plan.needed_bytes, fullest(plan) or 0
    ax.plot([place + 0.5], [needed[place] * factor], "o", color=theme.bad, markersize=5, zorder=4)
    onto_left = place > len(needed) / 2
    aligned = {"ha": "right", "xytext": (-6, 6)} if onto_left else {"ha": "left", "xytext": (6, 6)}
    say(ax, place + 0.5, needed[place] * factor, size(needed[place]), theme, color=theme.bad, **aligned)
