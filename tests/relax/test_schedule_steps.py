"""ScheduleStepper's model: a replayed trace gives TVM's own module, and a changed decision is right or refused in TVM's words."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tvm
import tvm_ffi
from breadth import breadth
from tvm.script import tirx as T  # noqa: N812  TVMScript is written so

import workbench as wb
from workbench.debugging.schedule_steps import ScheduleSteps, schedule_steps
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.tuning import ms, opened
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.kernels import CALLS, Watch, pipeline
from workbench.dialects.relax.compiler.replay import Replay, refuse_other_code
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel, scheduled_kernels
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError, WorkbenchError
from workbench.pipeline.config import Config

GPU = "cuda -arch=sm_80"
CONTEXT = Config().context().to_data()
MATMUL = "fused_matmul_add_relu"


def scheduled_by_tvm(workload: wb.Workload, target: str, config: Mapping[str, Any] = CONTEXT) -> dict[str, Any]:
    """Return the kernels as TVM's own pipeline schedules them, with nothing watched."""
    made, watch = make_target(target), Watch(stop=CALLS)
    with made, pass_context(config, [watch]):
        pipeline(made, config)(workload.module)
    return prim_funcs(watch.first(CALLS))


def vectorized(sch: Any) -> None:
    block = sch.get_sblock("matmul")
    _, j, k = sch.get_loops(block)
    outer, inner = sch.split(j, [None, 8])
    sch.reorder(outer, k, inner)
    sch.vectorize(inner)


def mine(schedule: Callable[[Any], object] = vectorized) -> ScheduleSteps:
    return schedule_steps(wb.samples.load("mlp"), MATMUL, "llvm", schedule)


# -- the replayed trace is TVM's schedule


NAMES = ("attention", "bert", "branches", "chain", "conv_bias_batch_norm", "mlp", "parallel_cast", "resnet18")


@pytest.mark.parametrize("name", breadth(NAMES, "attention", "branches", "mlp"))
def test_the_last_state_is_tvms_module_and_the_script_makes_it(name: str, tmp_path: Path) -> None:
    workload = wb.samples.load(name)
    theirs = scheduled_by_tvm(workload, GPU)
    for place, (function, kernel) in enumerate(scheduled_kernels(workload, GPU, CONTEXT).items()):
        marked = kernel.upto().with_attr("tirx.is_scheduled", True)
        assert tvm_ffi.structural_equal(marked, theirs[function]), function
        if place % 4:
            # the facts of each state take most of the time
            continue
        ours = Replay(kernel, GPU, {})
        assert ours.error == ""
        assert tvm_ffi.structural_equal(ours.module["main"], kernel.upto()), function
        script = tmp_path / f"{function}.py"
        script.write_text(ours.python())
        again = runpy.run_path(str(script))["scheduled"]
        assert tvm_ffi.structural_equal(again, ours.module), function


def test_a_record_of_a_tuned_kernel_is_replayed_and_its_tiles_are_decisions(tmp_path: Path) -> None:
    workload, folder = wb.samples.load("mlp"), str(tmp_path)
    wb.tune_schedules(workload, kernels=[1], trials=4, cost_model="random", budget=0.1, folder=folder)
    config = Config(schedules=folder).context().to_data()
    for record in opened(folder).get_all_tuning_records():
        theirs = tvm.s_tir.Schedule(record.workload.mod)
        record.trace.apply_to_schedule(theirs, remove_postproc=False)
        (function,) = prim_funcs(record.workload.mod).values()
        ours = Replay(ScheduledKernel("main", function, record.trace, ""), "llvm", {})
        assert tvm_ffi.structural_equal(ours.module["main"], theirs.mod["main"])
    ours = Replay(scheduled_kernels(workload, "llvm", config)[MATMUL], "llvm", {})
    assert ours.steps[0].text.startswith("b0 = sch.get_sblock(")
    found = schedule_steps(workload, MATMUL, "llvm", config=Config(schedules=folder))
    assert found.origin == "a record of MetaSchedule"
    assert found.check().different == ""
    checked = wb.check_schedule(workload, "llvm", config=Config(schedules=folder))
    # a CPU's pipeline has no rule for the other
    assert (checked[MATMUL].verdict, checked["transpose"].verdict) == ("equal", "not checked"), checked


def test_a_tile_that_is_sampled_is_changed_among_the_factors_of_its_loop() -> None:
    def sampled(sch: Any) -> None:
        _, j, _ = sch.get_loops(sch.get_sblock("matmul"))
        sch.split(j, sch.sample_perfect_tile(j, 2, 16, decision=[4, 8]))

    found = mine(sampled)
    place = next(place for place, step in enumerate(found) if step.decision)
    assert found[place].decision.value == (4, 8)
    assert set(found[place].decision.options) == {(32, 1), (16, 2), (8, 4), (4, 8), (2, 16)}
    assert "i1_0, i1_1" in found.decide(place, 16, 2).states[-1].script.replace("for ", "")
    with pytest.raises(MeasureError, match=f"step {place} takes 2 factors of 32"):
        found.decide(place, 5, 7)
    with pytest.raises(MeasureError, match=f"the last factor of step {place} is at most 16"):
        found.decide(place, 1, 32)


# -- states and facts


def test_facts_and_bytes_of_loops_are_those_of_the_kernel() -> None:
    @T.prim_func(s_tir=True)
    def copy(a: T.Buffer((128, 64), "float32"), b: T.Buffer((128, 64), "float32")) -> None:  # pyright: ignore[reportInvalidTypeForm]
        for i, j in T.grid(128, 64):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float32(2)

    def bind(sch: Any) -> None:
        block = sch.get_sblock("copy")
        staged = sch.cache_read(block, 0, "shared")
        i, j = sch.get_loops(block)
        sch.bind(i, "blockIdx.x")
        sch.compute_at(staged, i)
        j, lane = sch.split(j, [16, 4])
        sch.vectorize(lane)
        sch.bind(j, "threadIdx.x")

    found = schedule_steps(copy, target=GPU, schedule=bind)
    last = found.states[-1]
    assert dict(last.facts) == {
        "threads a block": "16",
        "blocks": "128",
        "occupancy": "50 % (32 blocks a multiprocessor, by the number of blocks; registers not counted)",
        "shared bytes a block": "256",
        "vector width": "4",
    }
    assert (last.flops, last.bytes) == (128 * 64, 2 * 128 * 64 * 4)
    rows = {(row.kind, row.bound): row for row in last.rows}
    # of a row of 64 floats: the input, its copy and the output
    assert rows["loop", "blockIdx.x"].bytes == 128 * 3 * 64 * 4
    assert rows["loop", "threadIdx.x"].bytes == 2 * 64 * 4
    assert rows["loop", "vectorized"].bytes == 2 * 4 * 4
    assert rows["buffer", "shared"].bytes == 256
    assert [step.state for step in found] == sorted(step.state for step in found)
    assert all(step.pure or step.text.startswith("sch.") or "=" in step.text for step in found)


def test_a_step_names_the_loops_and_blocks_of_its_variables() -> None:
    steps = {step.text.partition("(")[0].rpartition(".")[2]: step for step in mine()}
    assert dict(steps["get_loops"].names) == {"b0": "matmul"}
    assert dict(steps["split"].names) == {"l2": "i1"}
    assert dict(steps["vectorize"].names) == {"l5": "i1_1"}


@pytest.mark.parametrize("place", [-1, -2, 0])
def test_a_sampled_place_may_be_no_loop(place: int) -> None:
    def placed(sch: Any) -> None:
        block = sch.get_sblock("first")
        # before all loops, or in the expression that reads it
        sch.compute_at(block, sch.sample_compute_location(block, decision=place))

    kept = in_between.with_attr("global_symbol", "main")
    found, theirs = schedule_steps(kept, target="llvm", schedule=placed), tvm.s_tir.Schedule(kept)
    placed(theirs)
    assert found.error == ""
    assert found.states[-1].script == schedule_steps(theirs.mod["main"], target="llvm").states[0].script
    assert found.steps[-1].names["l1"] == ("i" if place == 0 else "no loop")
    assert found.check().different == ""


def test_a_kernel_with_a_number_has_steps() -> None:
    @T.prim_func(s_tir=True)
    def filled(a: T.Buffer((16,), "float32"), n: T.int64) -> None:  # pyright: ignore[reportInvalidTypeForm]
        for i in range(16):
            with T.sblock("fill"):
                vi = T.axis.remap("S", [i])
                a[vi] = T.Cast("float32", n)

    found = schedule_steps(filled, target="llvm", schedule=lambda sch: sch.vectorize(sch.get_loops("fill")[0]))
    assert found.states[-1].bytes == 64
    assert found.check({"n": 3}).different == ""
    with pytest.raises(WorkbenchError, match="no symbolic dimension named 'm'; known: n"):
        found.check({"m": 3})


# -- steps that fail


def test_a_step_that_fails_has_tvms_error_in_its_place() -> None:
    def wrong(sch: Any) -> None:
        vectorized(sch)
        sch.compute_inline("matmul")

    found = mine(wrong)
    assert found[-1].text == 'sch.compute_inline("matmul")'
    assert "The block has init statement" in found[-1].error
    assert found.error == found[-1].error
    # what came before it is shown, and is a kernel
    assert "T.vectorized" in found.states[-1].script
    assert found.check().different == ""


def test_steps_after_a_failure_are_not_run() -> None:
    found = schedule_steps(wb.samples.load("parallel_cast"), "matmul", GPU)
    assert found.error == ""
    splits = [place for place, step in enumerate(found) if step.decision]
    broken = found.decide(splits[0], 0)
    failed = next(place for place, step in enumerate(broken) if step.error)
    assert failed <= splits[0] + 1
    assert {step.error for step in broken.steps[failed + 1 :]} == {"not run: a step before it failed"}
    assert broken.undo().states == found.states


# -- other decisions


def test_thirty_decisions_are_right_or_refused_by_tvm() -> None:
    kernels: list[ScheduleSteps] = [mine()]

    def tiled(sch: Any) -> None:
        block = sch.get_sblock("matmul")
        i, j, k = sch.get_loops(block)
        (j, lane), (k, inner) = sch.split(j, [None, 4]), sch.split(k, [8, 4])
        sch.reorder(j, k, inner, lane)
        sch.vectorize(lane)
        sch.unroll(inner)
        sch.parallel(sch.fuse(i, j))
        sch.decompose_reduction(block, k)

    kernels.append(mine(tiled))
    chance, outcomes = random.Random(35), set[str]()
    for _ in range(30):
        steps = chance.choice(kernels)
        place = chance.choice([place for place, step in enumerate(steps) if step.decision])
        options = [*steps[place].decision.options, (3, None), (2, 2)]
        changed = steps.decide(place, *chance.choice(options))
        if changed.error:
            assert not changed.error.startswith("Traceback")
            outcomes.add("refused")
            continue
        assert changed.check().different == ""
        outcomes.add("right")
    assert outcomes == {"right", "refused"}


def test_a_decision_of_a_gpu_kernel_is_in_its_code_and_its_facts() -> None:
    """A split of a rule's schedule is changed, and what TVM makes of it for the GPU is CUDA C or TVM's refusal."""
    found = schedule_steps(wb.samples.load("mlp"), MATMUL, GPU)
    place = next(place for place, step in enumerate(found) if step.decision)
    assert (None, 32) in found[place].decision.options
    changed = found.decide(place, None, 32)
    assert changed.states[-1].facts["threads a block"] == "512"
    # the loops of the other blocks still have 16
    assert changed.states[-1].facts["extents of threadIdx.x"].startswith("16, 32 (TVM takes one for all")
    assert "__launch_bounds__(512)" in changed.code()
    assert f"step {place}" not in changed.python()
    assert "factors=[None, 32]" in changed.python()
    # TVM compiles more threads than a block may have
    many = changed.decide(place + 1, None, 64)
    assert many.states[-1].facts["threads a block"] == "2,048 (the target allows 1,024)"


@pytest.mark.long
def test_a_predicate_that_reverse_compute_inline_drops_is_found(tmp_path: Path) -> None:
    """With a tile of 1, threads write an element of the next tile: TVM's own schedule with one other factor."""
    steps = schedule_steps(wb.samples.load("attention"), "matmul1", GPU)
    place = next(place for place, step in enumerate(steps) if step.decision)
    assert steps[place].decision.value == (None, 1, 16, 4)
    script = tmp_path / "script.py"
    script.write_text(steps.decide(place, None, 1, 16, 1).python())
    made = runpy.run_path(str(script))
    (check,) = wb.check_schedule(made["Module"], GPU, schedule=made["scheduled"])
    assert check.verdict == "race", check


def test_wrong_values_are_found() -> None:
    """Sums in float16 are not those of float32."""

    def spoiled(sch: Any) -> None:
        block = sch.get_sblock("matmul")
        sch.unsafe_set_dtype(block, 0, "float16")

    found = mine(spoiled)
    assert found.error == ""
    assert "values differ, by up to" in found.check().different


@T.prim_func(s_tir=True)
def in_between(
    a: T.Buffer((16, 8), "float32"),  # pyright: ignore[reportInvalidTypeForm]
    c: T.Buffer((16, 8), "float32"),  # pyright: ignore[reportInvalidTypeForm]
) -> None:
    b = T.sblock_alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 8):
        with T.sblock("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = b[vi, vj] + T.float32(3)


# -- what is refused


def test_wrong_requests_are_refused_in_a_sentence() -> None:
    workload = wb.samples.load("mlp")
    with pytest.raises(MeasureError, match="no kernel named 'matmull'"):
        schedule_steps(workload, "matmull", GPU)
    with pytest.raises(MeasureError, match="no rule of dlight named 'GEMM'"):
        schedule_steps(workload, MATMUL, GPU, "GEMM")
    with pytest.raises(WorkbenchError, match="schedule is a rule's name or a function"):
        schedule_steps(workload, MATMUL, GPU, 7)  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match="no rule of dlight named 'GEMM'"):
        schedule_steps(in_between, None, GPU, "GEMM")
    found = schedule_steps(workload, MATMUL, GPU)
    with pytest.raises(WorkbenchError, match="only one for `llvm` is"):
        found.check()
    with pytest.raises(MeasureError, match="step 0 decides nothing"):
        found.decide(0, 4)


def test_names_that_would_run_code_are_not_written_as_python() -> None:
    tree = "class Module:\n    pass"
    with pytest.raises(MeasureError, match="more than one call"):
        refuse_other_code(tree, ['b0 = sch.get_sblock(name="x"); import os; print("")'])
    with pytest.raises(MeasureError, match="more than one call"):
        refuse_other_code(tree, ['print(name="x")'])
    with pytest.raises(MeasureError, match="names __import__"):
        refuse_other_code(tree, ['b0 = sch.get_sblock(name="x" + __import__("os").name)'])
    with pytest.raises(MeasureError, match="names open"):
        refuse_other_code(tree, ['b0 = sch.get_sblock(name="x" + open("y").read())'])
    with pytest.raises(MeasureError, match="imports os"):
        refuse_other_code("from os import path", [])


def test_a_kernel_of_a_received_program_is_stepped_through_and_not_run() -> None:
    workload = wb.samples.load("mlp")
    workload.trusted = False
    found = schedule_steps(workload, MATMUL, "llvm")
    with pytest.raises(WorkbenchError, match="brings code of its own"):
        found.check()


assert ms
