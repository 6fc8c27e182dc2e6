"""A memory plan equals the graph executor's own, and what a program without one has."""

from __future__ import annotations

import json

import pytest
from breadth import breadth
from malloc_bytes import COUNTED, used
from small_samples import SMALL
from test_count_status import branches, open_input

import workbench as wb
from workbench.analysis.tensors import Tensor
from workbench.dialects.base import Workload
from workbench.dialects.relay.compiler import build
from workbench.measurement.memory.plan import MemoryPlan

EXECUTORS = 65536
"bytes of the executor's own objects"
LARGER = {"layers": 1, "hidden": 128, "seq": 128, "heads": 2}
BUILDS = [(name, level) for name in SMALL for level in range(4)]
SHORT = [("attention", 3), ("chain", 0), ("conv_bias_batch_norm", 0), ("mlp", 3), ("parallel_cast", 0)]


def executors_graph(workload: Workload, plan: MemoryPlan) -> dict:
    """Return the graph JSON of a build for the same target."""
    built = build.COMPILER.compiled(workload, plan.target, plan.config.to_data())
    return json.loads(built.library.get_graph_json(), strict=False)


def ids_and_bytes(graph: dict) -> tuple[list[list[int]], dict[int, int]]:
    """Return the storage ids of each call's outputs, and the bytes that the executor allocates for each id.

    Parameters and constants are left out.
    """
    first, shapes, types = graph["node_row_ptr"], graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    ids = graph["attrs"]["storage_id"][1]
    arguments = [place for place in graph["arg_nodes"] if not graph["nodes"][place]["name"].startswith("p")]
    calls = [place for place, node in enumerate(graph["nodes"]) if node["op"] == "tvm_op"]
    entries = {place: range(first[place], first[place + 1]) for place in (*arguments, *calls)}
    sizes: dict[int, int] = {}
    for entry in (entry for each in entries.values() for entry in each):
        size = Tensor(tuple(shapes[entry]), types[entry]).nbytes
        sizes[ids[entry]] = max(size, sizes.get(ids[entry], 0))
    return [[ids[entry] for entry in entries[place]] for place in calls], sizes


@pytest.mark.parametrize("chosen", breadth(BUILDS, *SHORT), ids=str)
def test_ids_and_bytes_are_the_executors(chosen: tuple[str, int]):
    name, level = chosen
    workload = wb.samples.load(name, **SMALL[name])
    plan = wb.memory(workload, config=level)
    ids, sizes = ids_and_bytes(executors_graph(workload, plan))
    made: list[list[int | None]] = [[] for _ in plan.steps]
    for tensor in plan.tensors:
        if tensor.producer is not None:
            made[tensor.producer].append(tensor.storage)
    assert made == ids
    assert {storage.id: storage.bytes for storage in plan.storages} == sizes
    assert plan.planned_bytes == plan.peak_bytes == sum(sizes.values())


@pytest.mark.skipif(not COUNTED, reason="the C library does not count its bytes")
@pytest.mark.parametrize("name", breadth(["branches", "bert"], "branches"))
def test_executor_allocates_the_planned_bytes(name: str):
    from tvm import cpu
    from tvm.contrib import graph_executor

    workload = wb.samples.load(name, **(LARGER if name == "bert" else {"image": 64}))
    plan = wb.memory(workload)
    library = build.COMPILER.compiled(workload, plan.target, plan.config.to_data()).library
    made = library["default"](cpu())
    del made
    before = used()
    executor = graph_executor.create(library.get_graph_json(), library.get_lib(), cpu())
    allocated = used() - before
    assert executor is not None
    expected = plan.planned_bytes + plan.constant_bytes
    assert abs(allocated - expected) < 0.01 * expected + EXECUTORS


def test_control_flow_has_steps_and_no_storages():
    plan = wb.memory(wb.load(branches()))
    assert "takes no If" in plan.notes[0]
    assert (plan.storages, plan.planned_bytes) == ((), 0)
    assert [tensor.name for tensor in plan.tensors if tensor.role == "input"] == ["x", "condition"]


def test_open_dimension_has_no_storages_until_it_has_a_value():
    loaded = wb.load(open_input())
    plan = wb.memory(loaded)
    assert "open dimension" in plan.notes[0]
    assert plan.storages == ()
    assert wb.memory(loaded, shapes={"x": (4, 8)}).planned_bytes == 2 * 4 * 4 * 8


def test_reshape_of_a_constant_is_not_planned():
    """The executor aliases it with the constant, which has memory of its own."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(32), float32]) {
  (add(%x, exp(reshape(%w, newshape=[4, 8]))), reshape(%w, newshape=[4, 8]))
}"""
    import numpy as np

    loaded = wb.load(text, params={"w": np.ones(32, "float32")})
    plan = wb.memory(loaded, config={"disabled": ["FoldConstant"]})
    reshaped = [tensor for tensor in plan.tensors if tensor.producer is not None and tensor.storage is None]
    ids, _ = ids_and_bytes(executors_graph(loaded, plan))
    assert len(reshaped) >= 1
    assert sum(len(each) for each in ids) == sum(tensor.producer is not None for tensor in plan.tensors)
