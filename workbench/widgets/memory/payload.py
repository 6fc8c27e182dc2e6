"""Memory plans as columns of bytes; js/render/memory/plan.ts reads them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypedDict

from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, rows_of
from workbench.widgets.payload import Strings, column, sendable_text

ROLES = ("input", "output", "intermediate", "workspace")
"the column `role` holds indices of these; a parameter or a constant with a storage is drawn as an input"
UNKNOWN = -1


class TensorColumns(TypedDict):
    """A value for each tensor with a row; `*_end` is the end of each tensor's part of a list."""

    name_s: bytes
    type_s: bytes
    role: bytes
    bytes: bytes
    born: bytes
    dies: bytes
    row: bytes
    producer: bytes
    reader_end: bytes
    readers: bytes
    node_end: bytes
    nodes: bytes


class StepColumns(TypedDict):
    """A value for each kernel."""

    name_s: bytes
    live: bytes
    held: bytes
    workspace: bytes
    node_end: bytes
    nodes: bytes


class RowColumns(TypedDict):
    """A value for each storage."""

    bytes: bytes
    label_s: bytes


class PlanPayload(TypedDict, total=False):
    """A memory plan as columns; names that end in `_s` are columns of numbers of strings."""

    title: str
    tensor: TensorColumns
    step: StepColumns
    row: RowColumns
    strings: list[str]


def encode_plan(plan: MemoryPlan, title: str = "", onto: Mapping[int, Sequence[int]] | None = None) -> PlanPayload:
    """Return a plan for the page; tensors that no row shows are left out.

    `onto` has the nodes of the graph on the page for each node of the plan's, if that is another one.
    """
    strings = Strings()
    rows = rows_of(plan)
    placed = [(number, plan.tensors[place]) for number, row in enumerate(rows) for place in row.tensors]
    step_nodes = [moved(step.nodes, onto) for step in plan.steps]
    return {
        "title": sendable_text(title),
        "tensor": _tensor_columns(placed, strings, onto),
        "step": {
            "name_s": column("I", (strings[step.name] for step in plan.steps)),
            "live": _sizes(plan.needed_bytes),
            "held": _sizes(step.live_bytes for step in plan.steps),
            "workspace": _sizes(UNKNOWN if s.workspace_bytes is None else s.workspace_bytes for s in plan.steps),
            "node_end": _ends(step_nodes),
            "nodes": column("I", (node for nodes in step_nodes for node in nodes)),
        },
        "row": {
            "bytes": _sizes(row.bytes for row in rows),
            "label_s": column("I", (strings[row.label] for row in rows)),
        },
        # last, because every string must have its number
        "strings": [sendable_text(text) for text in strings],
    }


def _tensor_columns(
    placed: Sequence[tuple[int, PlannedTensor]], strings: Strings, onto: Mapping[int, Sequence[int]] | None
) -> TensorColumns:
    tensors = [tensor for _, tensor in placed]
    nodes = [moved(tensor.nodes, onto) for tensor in tensors]
    return {
        "name_s": column("I", (strings[t.name] for t in tensors)),
        "type_s": column(
            "I", (strings[f"{t.shape} {t.dtype}{f', {t.expression} bytes' if t.expression else ''}"] for t in tensors)
        ),
        "role": column("I", (ROLES.index(t.role) if t.role in ROLES else 0 for t in tensors)),
        "bytes": _sizes(t.bytes for t in tensors),
        "born": column("i", (t.born for t in tensors)),
        "dies": column("i", (t.dies for t in tensors)),
        "row": column("I", (row for row, _ in placed)),
        "producer": column("i", (UNKNOWN if t.producer is None else t.producer for t in tensors)),
        "reader_end": _ends([t.readers for t in tensors]),
        "readers": column("I", (step for t in tensors for step in t.readers)),
        "node_end": _ends(nodes),
        "nodes": column("I", (node for each in nodes for node in each)),
    }


def moved(nodes: Sequence[int], onto: Mapping[int, Sequence[int]] | None) -> list[int]:
    """Return nodes of a plan's graph in another graph."""
    return list(nodes) if onto is None else sorted({there for node in nodes for there in onto.get(node, ())})


def _sizes(values: Iterable[int]) -> bytes:
    # doubles: whole numbers to 2 ** 53, as JavaScript has them
    return array("d", values).tobytes()


def _ends(lists: Sequence[Sequence[int]]) -> bytes:
    return column("I", accumulate(map(len, lists)))
