"""Memory plans by hand, for views and plots of them: no TVM."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.graph.model import GraphBuilder
from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Step, Storage
from workbench.pipeline.config import Config

TYPE = "Tensor[(1, 16), float32]"


def tensor(
    name: str, role: str, born: int, dies: int, size: int, storage: int | None, nodes: Sequence[int]
) -> PlannedTensor:
    producer = None if born < 0 else born
    readers = tuple(range(max(born, -1) + 1, dies + 1))
    return PlannedTensor(
        name, role, "(1, 16)", "float32", size, "", born, dies, storage, producer, readers, tuple(nodes)
    )


def chain(count: int = 5, size: int = 1000, names: Sequence[str] = ()) -> MemoryPlan:
    """Return the plan of a chain of operators, of which each reads the one before: two storages take turns.

    The input has a storage of its own; the workspace of the second kernel has none. Each tensor is larger than the one before.
    """
    b = GraphBuilder("chain", "relay")
    at = b.node("param", "x", name="x", type=TYPE)
    weight = b.node("constant", "w", name="w", type=TYPE)
    ops = []
    for i in range(count):
        at = b.node("op", "add", [at, weight], name=names[i] if i < len(names) else f"add{i}", type=TYPE)
        ops.append(at)
    b.outputs = [at]
    graph = b.build()
    tensors = [tensor("x", "input", -1, 0, size, 0, [0]), tensor("w", "constant", -1, count - 1, size, None, [1])]
    for i, node in enumerate(ops):
        last = i == count - 1
        name = names[i] if i < len(names) else f"t{i}"
        dies = i if last else i + 1
        tensors.append(tensor(name, "output" if last else "intermediate", i, dies, size * (i + 1), 1 + i % 2, [node]))
    if count > 1:
        tensors.append(tensor("scratch", "workspace", 1, 1, size // 2, None, []))
    storages = []
    for id in range(3):
        places = tuple(place for place, each in enumerate(tensors) if each.storage == id)
        if places:
            bytes = max(tensors[place].bytes for place in places)
            storages.append(Storage(id, bytes, "", "cpu", "global", places))
    held = sum(storage.bytes for storage in storages)
    steps = tuple(
        Step(names[i] if i < len(names) else f"fused_add_{i}", (node,), None, held, size // 2 if i == 1 else None)
        for i, node in enumerate(ops)
    )
    return MemoryPlan(
        tuple(tensors), tuple(storages), steps, "llvm", Config(), ("One sentence about the plan.",), graph
    )
