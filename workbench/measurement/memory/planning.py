"""`wb.memory`: the memory plan of a build, from the passes alone; the child process joins TVM's plan with the graph of its kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.units import Unit, linked
from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.dialects.compiler.results import Planned
from workbench.graph.model import Graph
from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Step, Storage
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.terminal import visible
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, counting_worker, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    from typing_extensions import Unpack


def memory(
    workload: Workload,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> MemoryPlan:
    """Run the graph-level passes and TVM's memory planner, in the child process.

    Only FoldConstant compiles and runs kernels; of a program that is not trusted it folds nothing.

    Parameters
    ----------
    target
        As `wb.kernels` takes it.
    config
        A Config, or a part of one: an opt level, a pipeline or its text, a dict of fields; opt level 3 by default.
    entry, shapes
        The function to run and the sizes to run it with, as `wb.load` takes them.

    Raises
    ------
    MeasureError, WorkerLost
        The passes failed, or ended their process.

    Examples
    --------
    >>> plan = wb.memory(wb.samples.load("parallel_cast"))
    >>> plan.peak_bytes, plan.planned_bytes, plan.lower_bound_bytes
    (96, 128, 96)
    >>> plan.why("lv", "gv")
    "gv is an output, and TVM's planner plans none: it has an allocation of its own"
    """
    workload = workload_of(workload, "memory")
    how = Config.of({} if config is None else config)
    chosen_one = choose_entry(workload, entry, shapes)
    with showing_progress(progress, f"Planning the memory of {workload.name}") as report:
        return memory_config(chosen_one, how, target, timeout=timeout, progress=report, cancelled=cancelled)


def memory_config(
    workload: Workload, config: Config, target: TargetLike = "llvm", **how: Unpack[JobOptions]
) -> MemoryPlan:
    """Return the memory plan of a build under a Config; its pipeline, if it has one, is run first."""
    check_config(workload, config)
    arguments = {"target": target_text(target), "config": config.to_data()}
    return MemoryPlan.from_data(counting_worker().run("memory", workload, arguments, **how))


def compose(planned: Planned, graph: Graph, target: str, config: Config) -> MemoryPlan:
    """Return the plan of a build; `graph` is that of `planned.module`."""
    calls = planned.program.calls[: planned.steps]
    units = linked(graph, planned.program.rows(None)[: planned.steps])
    tensors = tuple(_tensors(planned, graph, units))
    steps = []
    for call, unit, held in zip(calls, units, planned.held_bytes, strict=True):
        name = call.function if unit is None else unit.name(graph)
        nodes, group = ((), None) if unit is None else (unit.nodes, unit.group)
        steps.append(Step(visible(name), nodes, group, held, 0 if call.kind == "noop" else None))
    storages = []
    for block in planned.blocks:
        places = [place for place, tensor in enumerate(tensors) if tensor.storage == block.id]
        places.sort(key=lambda place: tensors[place].born)
        where = visible(block.expression), block.device, visible(block.scope)
        storages.append(Storage(block.id, block.bytes, *where, tuple(places), block.planned))
    return MemoryPlan(tensors, tuple(storages), tuple(steps), target, config, planned.notes, graph)


def _tensors(planned: Planned, graph: Graph, units: Sequence[Unit | None]) -> Iterator[PlannedTensor]:
    given = {node.name or node.op: node.id for node in graph.nodes if node.kind == "param"}
    seen: Counter[str] = Counter()
    for value in planned.values:
        unit = units[value.born] if value.born >= 0 else None
        name = visible(value.name or (value.role if unit is None else unit.name(graph)))
        seen[name] += 1
        shape = value.tensor.shape
        node = given.get(value.name) if unit is None else unit.output
        yield PlannedTensor(
            name if seen[name] == 1 else f"{name}#{seen[name]}",
            value.role,
            visible(f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"),
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
