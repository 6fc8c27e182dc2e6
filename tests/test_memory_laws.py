"""Laws of a memory plan that hold in each dialect."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from breadth import breadth
from dialect_facts import Facts
from small_samples import SMALL

import workbench as wb
from workbench.dialects.arrays import bytes_of
from workbench.dialects.registry import dialect as dialect_named
from workbench.errors import MeasureError
from workbench.measurement.memory.plan import RANGE, MemoryPlan, PlannedTensor, Storage

PLANS = [(name, level) for name in SMALL for level in range(4)]
SHORT = [(name, level) for name, level in PLANS if level in (0, 3) and name != "resnet18"]


# scope="module" runs the laws of one plan one after the other
@pytest.fixture(scope="module", params=breadth(PLANS, *SHORT), ids=str)
def planned(request: pytest.FixtureRequest) -> tuple[wb.Workload, int, MemoryPlan]:
    """A sample, an opt level, and the plan."""
    name, level = request.param
    workload = wb.samples.load(name, **SMALL[name])
    return workload, level, wb.memory(workload, config=level)


@pytest.fixture
def plan(planned: tuple[wb.Workload, int, MemoryPlan], dialect: str) -> MemoryPlan:
    """The plan of a sample."""
    return planned[2]


def test_steps_are_the_calls_of_the_build(planned: tuple[wb.Workload, int, MemoryPlan], plan: MemoryPlan):
    workload, level, _ = planned
    counts = wb.count(workload, opt_level=level)
    assert (len(plan.steps), plan.target) == (counts.calls, counts.target)
    computed = [node for step in plan.steps for node in step.nodes]
    assert {node.id for node in plan.graph.ops} <= set(computed)
    assert len(computed) == len(set(computed))


@pytest.mark.parametrize("name", breadth(SMALL, "attention", "conv_bias_batch_norm"))
def test_the_plan_of_a_kept_build_is_that_of_the_passes_alone(dialect: str, name: str):
    workload = wb.samples.load(name, **SMALL[name])
    plan = wb.memory(workload)
    built = wb.kernels(workload)
    kept = wb.memory(workload)
    assert kept.graph == built.graph
    # the passes alone leave LabelOps and the values of large constants out
    nodes, others = ([node for node in each.graph.nodes if node.kind != "constant"] for each in (kept, plan))
    assert (nodes, kept.graph.edges) == (others, plan.graph.edges)
    assert replace(kept, graph=plan.graph) == plan


def test_steps_have_the_graph_and_the_nodes_of_a_build(dialect: str):
    workload = wb.samples.load("attention", **SMALL["attention"])
    plan, built = wb.memory(workload), wb.kernels(workload)
    assert (plan.graph.nodes, plan.graph.edges) == (built.graph.nodes, built.graph.edges)
    assert [(list(step.nodes), step.group) for step in plan.steps] == [
        (row["nodes"], row["group"]) for row in built.rows
    ]


def test_tensors_are_live_where_they_are_used(plan: MemoryPlan):
    for tensor in plan.tensors:
        assert all(tensor.born < reader <= tensor.dies for reader in tensor.readers), tensor
        assert tensor.producer == (None if tensor.born < 0 else tensor.born)
        assert tensor.storage is None or any(each.id == tensor.storage for each in plan.storages)
    assert len({tensor.name for tensor in plan.tensors}) == len(plan.tensors)


def test_storage_holds_one_tensor_at_a_time(plan: MemoryPlan):
    noops = {place for place, step in enumerate(plan.steps) if step.workspace_bytes == 0}
    for storage in plan.storages:
        held = [plan.tensors[place] for place in storage.tensors]
        assert max(tensor.bytes for tensor in held) == storage.bytes
        for old, new in combinations(held, 2):
            assert new.born > old.dies or new.born in noops


def test_bytes_are_ordered(plan: MemoryPlan):
    for step, needed in zip(plan.steps, plan.needed_bytes, strict=True):
        assert needed <= step.live_bytes <= plan.planned_bytes


def test_each_pair_has_a_reason(plan: MemoryPlan):
    places = [place for place, tensor in enumerate(plan.tensors) if tensor.storage is not None]
    for first, second in combinations(places[:80], 2):
        reason = plan.why(first, second)
        shared = plan.tensors[first].storage == plan.tensors[second].storage
        assert shared == (("share storage" in reason) or ("same memory" in reason)), reason
        assert "TVM made a new one" not in reason


def test_chosen_storage_follows_tvms_rule(plan: MemoryPlan, facts: Facts):
    """The smallest that is large enough, otherwise the largest."""
    for new in plan.tensors:
        if new.storage is None or (new.producer is not None and plan.steps[new.producer].workspace_bytes == 0):
            continue
        sizes = {storage.id: _free_size(plan, storage, new, facts) for storage in plan.storages if storage.planned}
        chosen = sizes.pop(new.storage, 0)
        for free in sizes.values():
            if chosen and free and new.bytes // RANGE <= free <= new.bytes * RANGE:
                assert not new.bytes <= free < chosen if chosen >= new.bytes else free <= chosen


def _free_size(plan: MemoryPlan, storage: Storage, new: PlannedTensor, facts: Facts) -> int:
    held = [plan.tensors[place] for place in storage.tensors]
    before = [tensor for tensor in held if tensor.born < new.born]
    same_type = not facts.one_type_a_storage or held[0].dtype == new.dtype
    free = same_type and all(tensor.dies < new.born for tensor in before)
    return max((tensor.bytes for tensor in before), default=0) if free else 0


def test_parameters_and_constants_are_apart(plan: MemoryPlan):
    roles = ("parameter", "constant")
    apart = [tensor for tensor in plan.tensors if tensor.role in roles]
    assert all(tensor.storage is None for tensor in apart)
    assert plan.parameter_bytes + plan.constant_bytes == sum(tensor.bytes for tensor in apart)


@pytest.mark.one_dialect
def test_parameters_have_the_bytes_of_their_arrays(dialect: str):
    workload = wb.samples.load("mlp")
    given = sum(bytes_of(array).nbytes for array in workload.params.values())
    plan = wb.memory(workload, config=0)
    assert plan.parameter_bytes + plan.constant_bytes == given


def test_a_pipeline_is_planned(dialect: str):
    workload = wb.samples.load("mlp")
    fusing = dialect_named(dialect).passes.fusing()
    plan = wb.memory(workload, config=fusing)
    assert plan.config.pipeline == fusing
    assert len(plan.steps) == wb.trace(workload, fusing).end.graph.kernel_count


@pytest.mark.one_dialect
def test_configs_in_each_form(dialect: str):
    workload = wb.samples.load("chain")
    plans = [wb.memory(workload, config=config) for config in (0, {"opt_level": 0}, wb.Config(opt_level=0))]
    assert plans[0] == plans[1] == plans[2]
    assert wb.memory(workload) == wb.memory(workload, config=3)


@pytest.mark.one_dialect
def test_wrong_configs(dialect: str):
    workload = wb.samples.load("chain")
    with pytest.raises(wb.WorkbenchError, match="FuseOpps"):
        wb.memory(workload, config={"disabled": ["FuseOpps"]})
    with pytest.raises(MeasureError, match="is not a configuration"):
        wb.memory(workload, config=2.5)  # pyright: ignore[reportArgumentType]  a mistake


@pytest.mark.one_dialect
def test_module_without_main(dialect: str, facts: Facts):
    loaded = wb.load(facts.steps, entry="first")
    assert len(wb.memory(loaded).steps) >= 1
    with pytest.raises(wb.WorkbenchError, match="main"):
        wb.memory(wb.load(facts.steps))


@pytest.mark.one_dialect
def test_kernels_and_peak_are_asserted(dialect: str):
    plan = wb.memory(wb.samples.load("mlp"))
    wb.assert_kernels(plan, at_most=len(plan.steps), peak_bytes=plan.peak_bytes)
    with pytest.raises(AssertionError, match=f"{len(plan.steps)} kernels"):
        wb.assert_kernels(plan, at_most=len(plan.steps) - 1)
    with pytest.raises(AssertionError, match="the peak is"):
        wb.assert_kernels(plan, peak_bytes=plan.peak_bytes - 1)
