"""Lints on Relax: kernels without a schedule or with dlight's fallback rule, layout changes that undo each other, reshapes that are kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

import workbench as wb
from workbench.debugging.lints.result import Lint
from workbench.debugging.lints.rules import COPIED, UNDONE
from workbench.debugging.lints.schedules import FALLBACK

GPU = "cuda -arch=sm_80"


def program(*operators: Callable[[Any], Any], shape: tuple[int, ...] = (64, 64), in_block: bool = True) -> wb.Workload:
    """Return operators in a row, in a dataflow block or not."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x]):
        value = x
        with builder.dataflow() if in_block else nullcontext():
            for operator in operators:
                value = builder.emit(operator(value))
            value = builder.emit_output(value) if in_block else value
        builder.emit_func_output(value)
    module: tvm.IRModule = builder.get()
    return wb.load(module)


def squared(value: Any) -> Any:
    return relax.op.matmul(value, value)


def pooled(value: Any) -> Any:
    return relax.op.nn.max_pool2d(value, (2, 2))


def fallbacks(w: wb.Workload, target: str = "llvm", config: object = None) -> list[Lint]:
    return [each for each in wb.lint(w, target, config) if each.name == FALLBACK]  # type: ignore[arg-type]


def test_a_reduction_without_a_schedule() -> None:
    (found,) = fallbacks(program(squared, relax.op.nn.relu))
    assert found.operators == ("matmul", "relu")
    assert "compiled without a schedule" in found.message
    assert "no gain is predicted" in found.message
    assert (found.bytes, found.seconds, found.fix) == (None, None, "wb.tune_schedules(w)")


def test_kernels_without_a_schedule_are_one_finding() -> None:
    (found,) = fallbacks(program(squared, relax.op.nn.softmax, lambda value: relax.op.sum(value, 1)))
    assert found.message.startswith("3 kernels are compiled without a schedule, because TVM's passes have none for ")
    assert len(found.nodes) == 3


def test_a_kernel_without_a_reduction_is_not_a_fallback() -> None:
    assert fallbacks(program(relax.op.nn.relu)) == []


def test_a_kernel_of_a_gpu_with_a_rule_of_its_own() -> None:
    assert fallbacks(program(squared, relax.op.nn.softmax, relax.op.nn.relu), GPU) == []


def test_a_kernel_of_a_gpu_with_the_fallback_rule() -> None:
    (found,) = fallbacks(program(pooled, shape=(1, 4, 8, 8)), GPU)
    assert found.operators == ("max_pool2d",)
    assert "dlight's fallback rule" in found.message
    assert f"wb.schedules(w, {found.fix.split(', ')[1].rstrip(')')}) shows why" in found.message
    assert found.fix == f"wb.tune_schedules(w, {GPU!r})"


def test_a_kernel_that_no_rule_of_a_gpu_schedules() -> None:
    """Its reduction is in a block within a block."""
    adaptive = program(lambda value: relax.op.nn.adaptive_avg_pool2d(value, (3, 3)), shape=(1, 4, 8, 8))
    (found,) = fallbacks(adaptive, GPU)
    assert found.operators == ("adaptive_avg_pool2d",)
    assert "without a schedule" in found.message


@pytest.mark.long
def test_the_fix_schedules_the_kernel(tmp_path: Path) -> None:
    w = program(squared, shape=(8, 8))
    (found,) = fallbacks(w)
    call = found.fix[:-1] + ", trials=4, cost_model='random', budget=0.1, folder=folder)"
    tuned = eval(call, {"wb": wb, "w": w, "folder": tmp_path})
    assert fallbacks(w, config=tuned.config) == []


def test_two_calls_of_one_kernel_are_one_lint() -> None:
    (found,) = fallbacks(program(squared, squared))
    assert len(found.nodes) == 2


def test_a_log_of_autotvm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wb.WorkbenchError, match="Relax has no AutoTVM"):
        wb.lint(program(squared), log=tmp_path / "a.log")


def layouts(second: object) -> wb.Workload:
    there, back = (
        partial(relax.op.layout_transform, index_map=each) for each in (lambda a, b, c, d: (a, c, d, b), second)
    )
    return program(there, back, relax.op.nn.relu, shape=(1, 4, 6, 6))


def test_layouts_that_lead_back() -> None:
    w = layouts(lambda a, b, c, d: (a, d, b, c))
    (found,) = wb.lint(w)
    assert (found.name, found.bytes) == (UNDONE, 2 * 4 * 4 * 36)
    assert wb.lint(w, config=found.pipeline)[:] == ()
    made = eval(found.fix, {"wb": wb, "w": w})
    assert "layout_transform" not in made.end.text


def test_layouts_that_do_not_lead_back() -> None:
    assert wb.lint(layouts(lambda a, b, c, d: (a, d, c, b)))[:] == ()


softmax = relax.op.nn.softmax


def turned(value: Any) -> Any:
    return relax.op.reshape(value, (6, 4))


def flat(value: Any) -> Any:
    return relax.op.reshape(value, (24,))


def deep(value: Any) -> Any:
    return relax.op.expand_dims(value, 0)


def rows(*operators: Callable[[Any], Any], in_block: bool = False) -> wb.Workload:
    return program(*operators, shape=(4, 6), in_block=in_block)


def copied(w: wb.Workload, config: object = None) -> list[Lint]:
    return [each for each in wb.lint(w, config=config) if each.name == COPIED]  # type: ignore[arg-type]


def test_a_reshape_outside_of_a_dataflow_block_copies() -> None:
    w = rows(softmax, turned, softmax, deep, softmax)
    found = copied(w)
    assert {(each.operators, each.bytes) for each in found} == {(("reshape",), 96), (("expand_dims",), 96)}
    assert wb.count(w).noops == 0
    made = eval(found[0].fix, {"wb": wb, "w": w})
    assert wb.count(w.of(made.result)).noops == 2
    assert copied(w, found[0].pipeline) == []


def test_a_reshape_in_a_dataflow_block_does_not_copy() -> None:
    w = rows(softmax, turned, softmax, in_block=True)
    assert wb.count(w).noops == 1
    assert copied(w) == []


def test_two_fused_reshapes_copy() -> None:
    w = rows(softmax, flat, turned, softmax, in_block=True)
    (found,) = copied(w)
    assert found.operators == ("reshape", "reshape1")
    made = eval(found.fix, {"wb": wb, "w": w})
    assert wb.count(w.of(made.result)).noops == 1


def test_a_copy_that_no_pass_removes_is_not_a_lint() -> None:
    """The result of a program has memory of its own, and TVM merges a reshape with a reshape only."""
    assert [each.operators for each in copied(rows(softmax, turned, softmax, flat))] == [("reshape",)]
    assert copied(rows(softmax, turned, deep, softmax, in_block=True)) == []


def test_a_pipeline_with_the_fix_has_none() -> None:
    w = rows(softmax, turned, softmax)
    assert copied(w, "ConvertToDataflow") == []
    assert len(copied(w, "EliminateCommonSubexpr")) == 1
