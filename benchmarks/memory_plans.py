"""Memory plans of any size for the benchmarks of their view: a network of layers, with storages that are used again."""

from __future__ import annotations

import random

from workbench.graph.model import GraphBuilder
from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Step, Storage
from workbench.pipeline.config import Config

TYPE = "Tensor[(1, 128, 768), float32]"


def network(kernels: int, seed: int = 0) -> MemoryPlan:
    """Return the plan of a network with skips: each kernel reads the one before, and every sixth an older one."""
    draw = random.Random(seed)
    b = GraphBuilder("network", "relay")
    nodes = [b.node("param", "x", name="x", type=TYPE)]
    last_use = [0]
    for kernel in range(kernels):
        older = draw.randrange(max(0, kernel - 30), kernel + 1) if kernel % 6 == 5 else kernel
        last_use[older] = last_use[kernel] = kernel
        inputs = [nodes[kernel], nodes[older]] if older != kernel else [nodes[kernel]]
        nodes.append(b.node("op", "add", inputs, name=f"fused_add_{kernel}", type=TYPE))
        last_use.append(kernel)
    b.outputs = [nodes[-1]]
    sizes = [draw.choice((4096, 98304, 393216, 1572864)) for _ in nodes]
    return _planned(b, nodes, last_use, sizes, kernels)


def _planned(b: GraphBuilder, nodes: list[int], last_use: list[int], sizes: list[int], kernels: int) -> MemoryPlan:
    storages: list[int] = []
    held: list[list[int]] = []
    ends: list[int] = []
    tensors = []
    for place, node in enumerate(nodes):
        born, dies = place - 1, last_use[place]
        fit = [n for n, end in enumerate(ends) if end < born and storages[n] >= sizes[place]]
        at = min(fit, key=storages.__getitem__, default=len(storages))
        if at == len(storages):
            storages.append(sizes[place])
            held.append([])
            ends.append(0)
        ends[at] = dies
        held[at].append(place)
        role = "input" if place == 0 else "output" if place == kernels else "intermediate"
        producer, readers = (None if born < 0 else born), tuple({min(born + 1, dies), dies})
        tensors.append(
            PlannedTensor(f"lv{place}", role, "(1, 128, 768)", "float32", sizes[place], "", born, dies, at, producer, readers, (node,))
        )  # fmt: skip
    total = sum(storages)
    steps = tuple(Step(f"fused_add_{i}", (nodes[i + 1],), None, total, None) for i in range(kernels))
    kept = tuple(Storage(n, size, "", "cpu", "global", tuple(held[n])) for n, size in enumerate(storages))
    return MemoryPlan(tuple(tensors), kept, steps, "llvm", Config(), (), b.build())
