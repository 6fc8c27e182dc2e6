"""MemoryPlan: sums, live tensors, reasons and the round trip through JSON, on a plan written by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import workbench as wb
from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph
from workbench.measurement.memory.plan import MemoryPlan, PlannedTensor, Step, Storage
from workbench.pipeline.config import Config


def tensor(name: str, born: int, dies: int, storage: int | None, size: int = 64, role: str = "intermediate", **more):
    readers = tuple(range(born + 1, dies + 1))
    fields = {"shape": "(16,)", "dtype": "float32", "expression": "", "readers": readers, "nodes": (), **more}
    return PlannedTensor(
        name, role, bytes=size, born=born, dies=dies, storage=storage, producer=None if born < 0 else born, **fields
    )


TENSORS = (
    tensor("data", -1, 4, 0, role="input"),
    tensor("weight", -1, 4, None, 1000, role="constant"),
    tensor("a", 0, 1, 1),
    tensor("b", 1, 3, 2),
    tensor("flat", 2, 3, 1, 32),
    tensor("c", 3, 4, 3, 2048),
    tensor("d", 4, 4, 1, 48, role="output"),
)


def plan(dialect: str = "relay", tensors: tuple[PlannedTensor, ...] = TENSORS, **storage) -> MemoryPlan:
    ids = sorted({each.storage for each in tensors if each.storage is not None})
    storages = []
    for id in ids:
        places = tuple(place for place, each in enumerate(tensors) if each.storage == id)
        size = max(tensors[place].bytes for place in places)
        storages.append(Storage(id, size, "", "cpu", "global", places, **storage))
    held = (192, 192, 192, 2240, 2112)
    steps = tuple(Step(f"kernel_{place}", (), None, size, None) for place, size in enumerate(held))
    return MemoryPlan(tensors, tuple(storages), steps, "llvm", Config(), (), Graph(dialect=dialect))


def test_sums():
    found = plan()
    assert found.planned_bytes == 64 + 64 + 64 + 2048
    assert (found.peak_bytes, found.peak_step) == (2240, 3)
    assert (found.constant_bytes, found.parameter_bytes) == (1000, 0)


def test_needed_bytes_count_live_tensors():
    found = plan()
    assert found.needed_bytes == (128, 192, 160, 64 + 64 + 32 + 2048, 64 + 2048 + 48)
    by_hand = [sum(each.bytes for each in found.live(step)) for step in range(len(found.steps))]
    assert list(found.needed_bytes) == by_hand
    assert found.lower_bound_bytes == max(by_hand)


def test_tensors_that_share_memory_count_once():
    tensors = (tensor("a", 0, 1, 0), tensor("reshaped", 1, 3, 0))
    assert plan(tensors=tensors).needed_bytes == (64, 64, 64, 64, 0)


def test_live():
    assert [each.name for each in plan().live(2)] == ["data", "b", "flat"]
    with pytest.raises(MeasureError, match="no step 5: its 5 steps"):
        plan().live(5)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("a", "a", "both are the tensor a"),
        ("a", "weight", "weight has no storage in the plan: it is a constant"),
        ("a", "flat", "they share storage 1: a is last needed at step 1, and step 2 writes flat"),
        ("b", "a", "both are live at step 1"),
        ("data", "c", "data is an input"),
        ("a", "c", "storage 1 of a holds flat at step 3"),
        ("b", "d", "storage 2 of b, of 64 bytes, was free, and TVM chose storage 1 of 64 bytes for d"),
        (4, 5, "both are live at step 3"),
    ],
)
def test_why(first: str | int, second: str | int, reason: str):
    assert reason in plan().why(first, second)
    assert plan().why(second, first) == plan().why(first, second)


def apart(**changes) -> tuple[PlannedTensor, ...]:
    """Two tensors that are not live together, the second with changes."""
    return tensor("old", 0, 1, 0), replace(tensor("new", 2, 3, 1), **changes)


@pytest.mark.parametrize(
    ("dialect", "changes", "storage", "reason"),
    [
        ("relay", {"bytes": 2048}, {}, "within a factor of 16"),
        ("relax", {"bytes": 2}, {}, "within a factor of 16"),
        ("relax", {"dtype": "int32"}, {}, "old is float32 and new is int32"),
        ("relax", {"expression": "4*n"}, {}, "cannot prove that these are equal"),
        ("relax", {"readers": ()}, {}, "no kernel reads new"),
        ("relax", {"role": "output"}, {"planned": False}, "leaves old out"),
        ("relay", {"dtype": "int32"}, {}, "TVM made a new one for new"),
        ("relay", {"storage": 0, "born": 1}, {}, "are the same memory: step 1 passes it on"),
    ],
)
def test_rules_of_the_planners(dialect: str, changes: dict, storage: dict, reason: str):
    assert reason in plan(dialect, apart(**changes), **storage).why("old", "new")


def test_an_output_is_not_planned():
    found = plan("relax", apart(role="output"))
    found = replace(found, storages=(found.storages[0], replace(found.storages[1], planned=False)))
    assert "new is an output, and TVM's planner plans none" in found.why("old", "new")


@pytest.mark.parametrize("name", ["device", "scope"])
def test_storages_elsewhere(name: str):
    found = plan(tensors=apart())
    found = replace(found, storages=(found.storages[0], replace(found.storages[1], **{name: "cuda:0"})))
    assert f"new on the {name} cuda:0" in found.why("old", "new")


def test_unknown_tensors():
    with pytest.raises(UnknownName, match="no tensor of the plan named 'wieght'; did you mean weight"):
        plan().why("a", "wieght")
    with pytest.raises(MeasureError, match="no tensor 7: its 7 tensors"):
        plan().why(0, 7)


def test_round_trip_through_json():
    found = plan()
    assert MemoryPlan.from_data(json.loads(json.dumps(found.to_data()))) == found


def test_peak_step_has_the_most_live_bytes():
    found = plan()
    steps = tuple(replace(step, live_bytes=found.planned_bytes) for step in found.steps)
    assert replace(found, steps=steps).peak_step == 3


def test_plan_without_steps():
    found = MemoryPlan((), (), (), "llvm", Config(), (), Graph())
    assert (found.planned_bytes, found.peak_bytes, found.peak_step, found.lower_bound_bytes) == (0, 0, None, 0)


def test_table():
    table = plan().table
    assert list(table["name"])[:3] == ["data", "weight", "a"]
    assert table["storage"].isna().sum() == 1
    assert table["bytes"].sum() == sum(each.bytes for each in TENSORS)


def test_assert_kernels_checks_the_peak():
    wb.assert_kernels(plan(), peak_bytes=2240)
    with pytest.raises(
        AssertionError, match="the peak is 2,240 bytes at step 3, and at most 2,000 were wanted"
    ) as failed:
        wb.assert_kernels(plan(), peak_bytes=2000)
    assert str(failed.value).splitlines()[1:3] == ["  c: 2,048 bytes", "  data: 64 bytes"]
    with pytest.raises(wb.WorkbenchError, match="needs a memory plan"):
        wb.assert_kernels(Graph(), peak_bytes=2000)
    with pytest.raises(wb.WorkbenchError, match="nothing to check"):
        wb.assert_kernels(plan())


def test_html_is_escaped():
    assert "<b>" not in plan(tensors=(tensor("<b>", 0, 1, 0),))._repr_html_()
