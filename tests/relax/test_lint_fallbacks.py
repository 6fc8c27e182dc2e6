"""Kernels that Relax compiles without a schedule, or with that of dlight's fallback rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

import workbench as wb
from workbench.debugging.lints.result import Lint
from workbench.debugging.lints.schedules import FALLBACK

GPU = "cuda -arch=sm_80"


def program(*operators: Callable[[Any], Any], shape: tuple[int, ...] = (64, 64)) -> wb.Workload:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for operator in operators:
                value = builder.emit(operator(value))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
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
