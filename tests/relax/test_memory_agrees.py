"""A memory plan equals the allocations of the virtual machine, and what a program without one has."""

from __future__ import annotations

import pytest
import tvm
from breadth import breadth
from malloc_bytes import COUNTED, used
from small_samples import SMALL
from test_build import BRANCHING
from tvm import relax

import workbench as wb
from workbench.dialects.base import Workload
from workbench.dialects.relax.compiler import build
from workbench.measurement.memory.plan import MemoryPlan

UNKNOWN_SHAPE = """@R.function
def main(x: R.Tensor("float32", ndim=2)):
    return R.nn.relu(x)
"""
OPEN = """@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    return R.nn.relu(x)
"""

LARGER = {"layers": 1, "hidden": 128, "seq": 128, "heads": 2}
BUILDS = [(name, level) for name in SMALL for level in range(4)]
SHORT = [("attention", 3), ("branches", 3), ("chain", 0), ("conv_bias_batch_norm", 0), ("mlp", 3), ("parallel_cast", 0)]
PYTHONS = 4096
"bytes of Python objects that the callback makes"
BOUNDED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        R.func_attr({"tir_var_upper_bound": {"n": 16}})
        with R.dataflow():
            y = R.matmul(R.permute_dims(x), x)
            z = R.exp(x)
            gv = R.matmul(z, y)
            R.output(gv)
        return gv
"""


def allocations(workload: Workload, plan: MemoryPlan) -> tuple[list[int], list[int]]:
    """Run a build and return the bytes of its allocations, and how much the heap has grown before each call."""
    running = build.COMPILER.compiled(workload, plan.target, plan.config.to_data()).load(0)
    machine = relax.VirtualMachine(running.modules[0], tvm.cpu(), memory_cfg="naive")
    sizes: list[int] = []
    heap: list[int] = []

    def watch(function: object, name: str, before: bool, result: object, *arguments: object) -> int:
        if before and "alloc_storage" in name:
            sizes.append(int(arguments[1][0]))
        elif before and not name.startswith("vm."):
            heap.append(used())
        return int(relax.VMInstrumentReturnKind.NO_OP)

    machine.set_instrument(watch)
    machine["main"](*running.arguments)
    sizes.clear()
    heap.clear()
    start = used()
    machine["main"](*running.arguments)
    return sizes, [each - start for each in heap]


@pytest.mark.parametrize("chosen", breadth(BUILDS, *SHORT), ids=str)
def test_bytes_are_the_machines(chosen: tuple[str, int]):
    name, level = chosen
    workload = wb.samples.load(name, **SMALL[name])
    plan = wb.memory(workload, config=level)
    sizes, _ = allocations(workload, plan)
    assert [storage.bytes for storage in plan.storages] == sizes


@pytest.mark.skipif(not COUNTED, reason="the C library does not count its bytes")
@pytest.mark.parametrize("options", [("bert", LARGER), ("branches", {"image": 64})])
def test_peak_is_the_measured_peak(options: tuple[str, dict]):
    workload = wb.samples.load(options[0], **options[1])
    plan = wb.memory(workload)
    _, heap = allocations(workload, plan)
    kernels = [step for step in plan.steps if step.workspace_bytes is None]
    assert len(heap) == len(kernels)
    slack = 0.001 * plan.peak_bytes + PYTHONS
    assert abs(max(heap) - plan.peak_bytes) < slack
    for measured, step in zip(heap, kernels, strict=True):
        assert abs(measured - step.live_bytes) < slack


@pytest.mark.skipif(not COUNTED, reason="the C library does not count its bytes")
def test_without_kills_memory_stays_until_the_end():
    workload = wb.samples.load("bert", **LARGER)
    plan = wb.memory(workload, config={"disabled": ["KillAfterLastUse"]})
    _, heap = allocations(workload, plan)
    assert plan.peak_bytes == plan.planned_bytes > wb.memory(workload).peak_bytes
    assert abs(max(heap) - plan.peak_bytes) < 0.001 * plan.peak_bytes + PYTHONS


def test_both_arms_of_an_if_have_steps():
    plan = wb.memory(wb.load(BRANCHING))
    assert "an `if`: the plan has the steps of both arms" in plan.notes[0]
    assert len(plan.steps) == wb.count(wb.load(BRANCHING)).calls
    assert [tensor.role for tensor in plan.tensors if tensor.producer is not None].count("output") == 2


def test_open_size_is_an_expression_until_it_has_a_value():
    plan = wb.memory(wb.load(OPEN))
    (made,) = (tensor for tensor in plan.tensors if tensor.producer == 0)
    assert (made.bytes, made.expression, made.shape) == (0, "4*n*4", "(n, 4)")
    assert "count as no bytes" in plan.notes[0]
    fixed = wb.memory(wb.load(OPEN), shapes={"n": 2})
    assert (fixed.notes, fixed.planned_bytes) == ((), 2 * 4 * 4)


def test_open_size_with_a_bound_has_its_bytes():
    plan = wb.memory(wb.load(BOUNDED))
    assert plan.notes == ()
    largest = max(plan.tensors, key=lambda tensor: tensor.bytes)
    assert (largest.bytes, largest.expression) == (16 * 4 * 4, "4*n*4")
    planned = [storage for storage in plan.storages if storage.planned]
    assert planned
    assert all(storage.bytes and not storage.expression for storage in planned)


def test_operator_without_a_kernel_is_in_the_notes():
    assert "no kernel of relax.nn.relu" in wb.memory(wb.load(UNKNOWN_SHAPE)).notes[0]


CALLING = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        y = cls.other(R.exp(x))
        return y
    @R.function
    def other(x: R.Tensor((4,), "float32")):
        return R.nn.relu(x)
"""


def test_memory_of_a_called_function_is_in_the_notes():
    plan = wb.memory(wb.load(CALLING))
    assert "`main` calls @other" in plan.notes[0]
    assert [step.name for step in plan.steps] == ["tir_exp"]
