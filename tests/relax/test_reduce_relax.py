"""`wb.reduce` on Relax: a pass of TVM that changes the order of elements, in the middle of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from scripts_alone import run_alone
from tvm import relax

import workbench as wb
from workbench.experiments.reduce.run import Reduced, standalone

SHAPE = (1, 4, 4, 4)


def turned(blocks: int) -> wb.Workload:
    """Return relu and add, again and again; two layouts in the middle restore the shape and not the order of elements."""
    x = relax.Var("x", relax.TensorType(SHAPE, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for place in range(blocks):
                value = builder.emit(relax.op.add(builder.emit(relax.op.nn.relu(value)), x))
                for _ in range(2 if place == blocks // 2 else 0):
                    value = builder.emit(relax.op.layout_transform(value, lambda a, b, c, d: (a, c, d, b)))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return wb.load(builder.get(), name="turned")


def check(blocks: int, folder: Path) -> Reduced:
    small = wb.reduce(turned(blocks), "wrong", "OptimizeLayoutTransform")
    assert [node.op for node in small.workload.graph.ops] == ["relax.layout_transform"] * 2
    assert small.complete
    done = run_alone(small.script, folder)
    assert "AssertionError" in done.stderr, done.stderr
    assert "relax.transform.OptimizeLayoutTransform()" in small.script
    return small


def test_changed_outputs_are_reduced(tmp_path: Path) -> None:
    check(2, tmp_path)


def turned_in_a_function() -> wb.Workload:
    """Return a float64 program that calls a float16 function with the two layouts."""
    builder, y = relax.BlockBuilder(), relax.Var("y", relax.TensorType(SHAPE, "float16"))
    with builder.function("turned", [y], private=True):
        with builder.dataflow():
            value = y
            for _ in range(2):
                value = builder.emit(relax.op.layout_transform(value, lambda a, b, c, d: (a, c, d, b)))
            result = builder.emit_output(value)
        turned = builder.emit_func_output(result)
    x = relax.Var("x", relax.TensorType(SHAPE, "float64"))
    with builder.function("main", [x]):
        half = builder.emit(relax.op.astype(builder.emit(relax.op.nn.relu(x)), "float16"))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(builder.emit(relax.Call(turned, [half])))))
    return wb.load(builder.get(), name="turned")


def test_functions_and_types_are_reduced(tmp_path: Path) -> None:
    small = wb.reduce(turned_in_a_function(), "wrong", "OptimizeLayoutTransform")
    assert [node.op for node in small.workload.graph.ops] == ["relax.layout_transform"] * 2
    assert small.after.types == small.after.functions == 0
    assert {"InlineFunctions", "ChangeDtype"} <= {step.edit.name for step in small.steps if step.edit}
    assert "AssertionError" in run_alone(small.script, tmp_path).stderr


def test_the_script_of_a_symbolic_program_runs(tmp_path: Path) -> None:
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    w = wb.load(builder.get(), name="symbolic")
    w.shapes = {"n": 3}
    done = run_alone(standalone(w, "", "", "print(len(outputs(mod)))", "llvm", 0), tmp_path)
    assert done.stdout == "1\n", done.stderr


@pytest.mark.long
def test_changed_outputs_in_300_operators_are_reduced(tmp_path: Path, tell: Callable[[object], None]) -> None:
    tell(f"reduce: {check(150, tmp_path)}")
