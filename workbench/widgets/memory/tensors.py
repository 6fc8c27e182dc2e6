"""The tensors of a memory plan as a list: for readers who do not see the chart."""

from __future__ import annotations

from workbench.measurement.columns import size
from workbench.measurement.memory.picture import rows_of
from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor
from workbench.widgets.blocks import Block, Line, row, rows
from workbench.wording import counted

MOST = 200
"tensors of a list; the smaller ones are counted"


def tensor_list(plan: MemoryPlan) -> Block:
    """Return the largest tensors of a plan, each with its storage and its life; a click selects its nodes."""
    placed = [(plan.tensors[place], each.label) for each in rows_of(plan) for place in each.tensors]
    placed.sort(key=lambda item: -item[0].bytes)
    lines = [_line(tensor, label) for tensor, label in placed[:MOST]]
    left_out = len(placed) - MOST
    return rows([*lines, *([row(f"and {counted(left_out, 'smaller tensor')}")] if left_out > 0 else [])], "tensors")


def _line(tensor: PlannedTensor, label: str) -> Line:
    life = f"kernels {max(tensor.born, 0)} to {tensor.dies}"
    words = f"{tensor.name}: {tensor.role}, {size(tensor.bytes)}, {tensor.shape} {tensor.dtype}; {life}; {label}"
    return row(words, tensor.nodes)
