"""A MemoryPlan as a picture: a row for each storage, the largest first, then tensors that have none; and sentences about plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Storage
from workbench.wording import counted, size

OUTSIDE = "outside of the plan"
"the label of a row of tensors without a storage"
CALLERS = ("input", "parameter", "constant")
"roles of tensors whose memory the caller or the build holds, unless the plan has a storage for them"


@dataclass(frozen=True)
class Row:
    """Tensors that are drawn in one row."""

    label: str
    bytes: int
    tensors: tuple[int, ...]
    "places in `MemoryPlan.tensors`"


def rows_of(plan: MemoryPlan) -> list[Row]:
    """Return the rows of a plan: its storages, then the tensors outside of them in as few rows as their lives allow."""
    storages = sorted(plan.storages, key=lambda storage: (-storage.bytes, storage.id))
    planned = [Row(_label(storage), storage.bytes, storage.tensors) for storage in storages]
    outside = [i for i, each in enumerate(plan.tensors) if each.storage is None and each.role not in CALLERS]
    lanes = _lanes([(i, plan.tensors[i]) for i in outside])
    sizes = [max(plan.tensors[i].bytes for i in lane) for lane in lanes]
    return [*planned, *(Row(OUTSIDE, size, lane) for size, lane in zip(sizes, lanes, strict=True))]


def _label(storage: Storage) -> str:
    own = "" if storage.planned else "allocated by itself"
    return ", ".join(filter(None, (f"storage {storage.id}", storage.expression, storage.scope, storage.device, own)))


def _lanes(tensors: Iterable[tuple[int, PlannedTensor]]) -> list[tuple[int, ...]]:
    """Return tensors in rows: each goes to the first row whose last tensor is dead at its birth."""
    lanes: list[list[int]] = []
    ends: list[int] = []
    for place, tensor in sorted(tensors, key=lambda item: (item[1].born, item[0])):
        free = next((n for n, end in enumerate(ends) if end < tensor.born), len(lanes))
        if free == len(lanes):
            lanes.append([])
            ends.append(tensor.dies)
        lanes[free].append(place)
        ends[free] = tensor.dies
    return [tuple(lane) for lane in lanes]


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
