"""The tab with the costs of boundaries: the dearest ones, the selected one, and a race of its two parts."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.measurement.boundaries.costs import BoundaryCost, BoundaryCosts, cells
from workbench.widgets.blocks import Block, Line, action, heading, row, rows, signed, words
from workbench.widgets.fusion.program import Fused
from workbench.widgets.fusion.wording import joined
from workbench.widgets.page_types import EdgeValues, Marks
from workbench.wording import counted, size


def selected(costs: BoundaryCosts, selection: Sequence[int]) -> BoundaryCost | None:
    """Return the boundary between the two selected nodes; None for another selection."""
    return costs.at(*sorted(selection)) if len(selection) == 2 else None


def untriable(fused: Fused, chosen: BoundaryCost | None) -> str:
    """Return the reason why a boundary cannot be tried; empty if it can."""
    if fused.program.workload is None:
        return "a graph alone cannot be run; give the inspector the workload"
    if chosen is None:
        return "select a boundary of the list, or an edge between two nodes of one box"
    return chosen.boundary.refusal


def blocks(fused: Fused, costs: BoundaryCosts | None, selection: Sequence[int]) -> list[Block]:
    """Return the selected boundary with its action, and the dearest boundaries."""
    if fused.report.failure:
        return [words(fused.report.failure, name="costs")]
    if costs is None:
        return [words("Finding the costs of the boundaries …", "small")]
    chosen, listed = selected(costs, selection), costs.dearest()
    label = "Try the cut" if chosen is not None and chosen.boundary.joined else "Try the merge"
    title = "Take the two parts out of the program and race them, as two kernels and as one"
    made = [action(label, "try", title=title, off=untriable(fused, chosen)), *_selected(chosen)]
    if not listed:
        return [*made, words("No kernel reads a value of another one.", name="costs")]
    apart = sum(not each.boundary.joined for each in costs)
    shown = (
        f"The {len(listed)} most costly of {counted(apart, 'boundary')}"
        if apart > len(listed)
        else counted(apart, "boundary")
    )
    made += [heading(shown), rows((_line(each, place) for place, each in enumerate(listed)), "costs")]
    if not any(each.predicted for each in costs):
        made.append(
            words("Bytes and launches only: the calibration supports no prediction here.", "small", "unpredicted")
        )
    return made


def marks(costs: BoundaryCosts | None) -> Marks:
    """Return the colours of the edges between kernels, by predicted time where there is one and else by bytes."""
    apart = [each for each in costs or () if not each.boundary.joined]
    timed = any(each.predicted for each in apart)
    # a colour is of one scale: where times are shown, boundaries without one keep the plain colour
    found = [(each, each.dearness[1] * 1e6 if timed else each.dearness[2]) for each in apart]
    edges = [
        (each.boundary.source, target, value)
        for each, value in sorted(found, key=lambda pair: -pair[1])
        if value > 0
        for target in each.boundary.targets
    ]
    if not edges:
        return {}
    title, unit = ("One kernel would save", "µs") if timed else ("Written and read", "bytes")
    values: EdgeValues = {"title": title, "unit": unit, "edges": edges}
    return {"edges": values}


def _selected(chosen: BoundaryCost | None) -> list[Block]:
    if chosen is None:
        return []
    moved, launches, predicted, measured = cells(chosen)
    verb = "A cut here costs" if chosen.boundary.joined else "The boundary costs"
    made = [words(f"{verb} {moved} written and read, and {counted(int(launches), 'launch')}.", "strong", "boundary")]
    if predicted:
        made.append(words(f"Predicted: one kernel saves {predicted}; {chosen.note}.", name="predicted"))
    elif chosen.note:
        made.append(words(f"{chosen.note[0].upper()}{chosen.note[1:]}.", "small", "predicted"))
    if chosen.trial is not None:
        said = f"Measured: one kernel saves {measured}; {chosen.trial.race}." if measured else f"{chosen.trial.race}."
        made.append(words(said, name="measured-boundary"))
    if chosen.peak_bytes is not None:
        change = signed(chosen.peak_bytes, size(abs(chosen.peak_bytes)))
        made.append(words(f"Peak memory of the program with one kernel instead of two: {change}.", name="peak"))
    return made


def _line(cost: BoundaryCost, place: int) -> Line:
    moved, launches, predicted, measured = cells(cost)
    found = cost.boundary
    facts = [moved, counted(int(launches), "launch")]
    facts += [f"predicted {predicted}"] if predicted else []
    facts += [f"measured {measured}"] if measured else []
    # the button has the reason, once the line is selected
    facts += ["cannot be one kernel"] if found.refusal else []
    text = " → ".join(map(joined, found.operators))
    look = "near" if found.refusal else "branch"
    return row(text, [found.source, found.targets[0]], small=" · ".join(facts), sign=str(place + 1), look=look)
