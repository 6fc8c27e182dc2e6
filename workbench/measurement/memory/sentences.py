"""Sentences about memory plans for views and plots."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.measurement.columns import size
from workbench.measurement.memory.plan import MemoryPlan
from workbench.measurement.memory.rows import OUTSIDE, rows_of
from workbench.wording import counted


def fullest(plan: MemoryPlan) -> int | None:
    """Return the first step with the most live bytes; None without steps."""
    needed = plan.needed_bytes
    return max(range(len(needed)), key=needed.__getitem__, default=None)


def finding(plan: MemoryPlan) -> str:
    """Return the sizes of a plan in one sentence; a row of the picture that is not a storage is named."""
    step = fullest(plan)
    if step is None:
        return "The plan has no kernels."
    others = sum(row.label == OUTSIDE for row in rows_of(plan))
    outside = f" and {counted(others, 'row')} of tensors {OUTSIDE}" if others else ""
    return (
        f"{size(plan.peak_bytes)} held at the peak, {size(plan.planned_bytes)} planned in "
        f"{counted(len(plan.storages), 'storage')}{outside}; at most {size(plan.lower_bound_bytes)} live, in kernel {step} "
        f"({plan.steps[step].name})."
    )


def compared(plans: Sequence[MemoryPlan], titles: Sequence[str]) -> str:
    """Return the peaks and the planned bytes of plans in one sentence each."""

    def each(sizes: Sequence[int]) -> str:
        return ", ".join(f"{size(count)} {title}" for count, title in zip(sizes, titles, strict=True))

    peaks, planned = [plan.peak_bytes for plan in plans], [plan.planned_bytes for plan in plans]
    return f"Held at the peak: {each(peaks)}. Planned: {each(planned)}."
