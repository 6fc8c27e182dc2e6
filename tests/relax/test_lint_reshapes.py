"""Reshapes that are kernels, on Relax: those outside of dataflow blocks, and those that are fused with each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tvm
from tvm import relax

import workbench as wb
from workbench.debugging.lints.result import Lint
from workbench.debugging.lints.rules import COPIED

softmax = relax.op.nn.softmax


def turned(value: Any) -> Any:
    return relax.op.reshape(value, (6, 4))


def flat(value: Any) -> Any:
    return relax.op.reshape(value, (24,))


def deep(value: Any) -> Any:
    return relax.op.expand_dims(value, 0)


def program(*operators: Callable[[Any], Any], in_block: bool = False) -> wb.Workload:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((4, 6), "float32"))
    with builder.function("main", [x]):
        value = x
        with builder.dataflow() if in_block else nullcontext():
            for operator in operators:
                value = builder.emit(operator(value))
            value = builder.emit_output(value) if in_block else value
        builder.emit_func_output(value)
    module: tvm.IRModule = builder.get()
    return wb.load(module)


def copied(w: wb.Workload, config: object = None) -> list[Lint]:
    return [each for each in wb.lint(w, config=config) if each.name == COPIED]  # type: ignore[arg-type]


def test_a_reshape_outside_of_a_dataflow_block_copies() -> None:
    w = program(softmax, turned, softmax, deep, softmax)
    found = copied(w)
    assert {(each.operators, each.bytes) for each in found} == {(("reshape",), 96), (("expand_dims",), 96)}
    assert wb.count(w).noops == 0
    made = eval(found[0].fix, {"wb": wb, "w": w})
    assert wb.count(w.of(made.result)).noops == 2
    assert copied(w, found[0].pipeline) == []


def test_a_reshape_in_a_dataflow_block_does_not_copy() -> None:
    w = program(softmax, turned, softmax, in_block=True)
    assert wb.count(w).noops == 1
    assert copied(w) == []


def test_two_fused_reshapes_copy() -> None:
    w = program(softmax, flat, turned, softmax, in_block=True)
    (found,) = copied(w)
    assert found.operators == ("reshape", "reshape1")
    made = eval(found.fix, {"wb": wb, "w": w})
    assert wb.count(w.of(made.result)).noops == 1


def test_a_copy_that_no_pass_removes_is_not_a_lint() -> None:
    """The result of a program has memory of its own, and TVM merges a reshape with a reshape only."""
    assert [each.operators for each in copied(program(softmax, turned, softmax, flat))] == [("reshape",)]
    assert copied(program(softmax, turned, deep, softmax, in_block=True)) == []


def test_a_pipeline_with_the_fix_has_none() -> None:
    w = program(softmax, turned, softmax)
    assert copied(w, "ConvertToDataflow") == []
    assert len(copied(w, "EliminateCommonSubexpr")) == 1
