"""Join the compiler's memory plan with the graph of its kernels: names, nodes, deaths and live bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from workbench.analysis.tensors import Tensor
from workbench.analysis.units import Unit, linked
from workbench.dialects.compiler.planned import Block, Call, Planned
from workbench.graph.model import Graph
from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Step, Storage
from workbench.pipeline.config import Config
from workbench.terminal import visible


def compose(planned: Planned, graph: Graph, target: str, config: Config) -> MemoryPlan:
    """Return the plan of a build; `graph` is that of `planned.module`."""
    calls = planned.program.calls[: planned.steps]
    units = linked(graph, planned.program.rows(None)[: planned.steps])
    tensors = tuple(_tensors(planned, graph, units))
    steps = tuple(
        _step(call, unit, graph, held) for call, unit, held in zip(calls, units, planned.held_bytes, strict=True)
    )
    storages = tuple(_storage(block, tensors) for block in planned.blocks)
    return MemoryPlan(tensors, storages, steps, target, config, planned.notes, graph)


def _step(call: Call, unit: Unit | None, graph: Graph, held: int) -> Step:
    workspace = 0 if call.kind == "noop" else None
    if unit is None:
        return Step(visible(call.function), (), None, held, workspace)
    return Step(visible(unit.name(graph)), unit.nodes, unit.group, held, workspace)


def _tensors(planned: Planned, graph: Graph, units: Sequence[Unit | None]) -> Iterator[PlannedTensor]:
    given = {node.name or node.op: node.id for node in graph.nodes if node.kind == "param"}
    seen: Counter[str] = Counter()
    for value in planned.values:
        unit = units[value.born] if value.born >= 0 else None
        name = visible(value.name or (value.role if unit is None else unit.name(graph)))
        seen[name] += 1
        node = given.get(value.name) if unit is None else unit.output
        yield PlannedTensor(
            name if seen[name] == 1 else f"{name}#{seen[name]}",
            value.role,
            _shape(value.tensor),
            value.tensor.dtype,
            value.tensor.nbytes if value.bytes is None else value.bytes,
            visible(value.expression),
            value.born,
            planned.dies(value),
            value.storage,
            None if value.born < 0 else value.born,
            tuple(value.readers),
            () if node is None else (node,),
        )


def _shape(tensor: Tensor) -> str:
    tail = "," if len(tensor.shape) == 1 else ""
    return visible(f"({', '.join(map(str, tensor.shape))}{tail})")


def _storage(block: Block, tensors: Sequence[PlannedTensor]) -> Storage:
    places = [place for place, tensor in enumerate(tensors) if tensor.storage == block.id]
    places.sort(key=lambda place: tensors[place].born)
    expression = visible(block.expression)
    return Storage(block.id, block.bytes, expression, block.device, visible(block.scope), tuple(places), block.planned)
