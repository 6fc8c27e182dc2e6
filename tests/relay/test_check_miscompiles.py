"""Passes of TVM 0.17 that change the answer and say nothing, each caught by checking the step."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.pipeline.checks import StepCheck
from workbench.pipeline.outputs import run_once


def signs() -> relay.Expr:
    x = relay.var("x", shape=(8, 16), dtype="int8")
    return relay.cast(relay.cast(x, "uint8"), "int32")


def rounding() -> relay.Expr:
    x = relay.var("x", shape=(8, 16), dtype="float32")
    return relay.cast(relay.cast(relay.clip(x, -128, 127), "int8"), "float32")


def two_dense(units: int, *added: relay.Expr) -> relay.Expr:
    x = relay.var("x", shape=(4, 8))
    branches = [
        relay.add(relay.nn.dense(x, relay.var(f"w{place}", shape=(units, 8))), value)
        for place, value in enumerate(added)
    ]
    return relay.Tuple(branches)


def scalars() -> relay.Expr:
    return two_dense(2, relay.const(1.0), relay.const(3.0))


def third_rank() -> relay.Expr:
    return two_dense(8, relay.var("a", shape=(2, 4, 8)), relay.var("b", shape=(2, 4, 8)))


def vectors() -> relay.Expr:
    x = relay.var("x", shape=(2, 3))
    values = [relay.const(np.array(row, "float32")) for row in ([1, 2, 3], [-4, 5, 6])]
    return relay.Tuple([relay.add(x, value) for value in values])


def op_batch() -> tvm.transform.Pass:
    return tvm.get_global_func("relay._transform.CombineParallelOpBatch")("add", "add", 2)


DENSE = "CombineParallelDense{min_num_branches=2}"
MISCOMPILES = {
    "a cast from int8 to uint8 to int32 forgets the wrap": (signs, "SimplifyExpr", "cast"),
    "a float clipped and cast to int8 keeps its fraction": (rounding, "SimplifyExpr", None),
    "a scalar per branch is stacked along the units": (scalars, DENSE, None),
    "an addend of rank 3 is stacked along the wrong axis": (third_rank, DENSE, None),
    "a vector per branch is stacked along the rows": (vectors, op_batch, None),
}


def checked(expression: relay.Expr, passes: object) -> StepCheck:
    function = relay.Function(relay.analysis.free_vars(expression), expression)
    w = wb.load(tvm.IRModule.from_expr(function))
    trace = wb.trace(w, [passes() if callable(passes) else passes], opt_level=4)
    assert trace.steps[0].changed
    (found,) = trace.check()
    return found


@pytest.mark.parametrize("name", MISCOMPILES)
def test_a_pass_that_changes_the_answer_is_caught(name: str) -> None:
    build, passes, first = MISCOMPILES[name]
    found = checked(build(), passes)
    assert found.status == "different", found.message
    assert found.difference is not None
    assert found.difference.max_absolute > 0.5
    assert found.first is not None
    assert "differ" in found.message
    if first is not None:
        assert first in found.message


def test_of_two_wrong_values_the_first_is_named() -> None:
    x = relay.var("x", shape=(8, 16), dtype="int8")
    wrong = relay.cast(relay.cast(x, "uint8"), "int32")
    found = checked(relay.nn.relu(relay.multiply(wrong, relay.const(2))), "SimplifyExpr")
    assert found.status == "different"
    assert "cast is the first node that differs" in found.message


def test_the_same_passes_on_a_graph_that_they_suit_are_right() -> None:
    for units in (3, 8):
        bias = [relay.var(name, shape=(1, units)) for name in "ab"]
        assert checked(two_dense(units, *bias), DENSE).status == "same"


def test_operators_around_lets_have_values():
    w = wb.load(
        "def @main(%x: Tensor[(2, 4), float32]) { %0 = exp(%x); %1 = add(%0, %0);"
        " let %a = sqrt(%1); let %b = nn.relu(%a); (add(%b, %1), %0) }"
    )
    values = run_once(w, wanted="nodes").nodes
    assert [w.graph.nodes[node].op for node in values] == ["exp", "add", "sqrt", "nn.relu", "add"]
    exp, twice, root, relu, result = values.values()
    for value, expected in ((twice, 2 * exp), (root, np.sqrt(2 * exp)), (relu, root), (result, relu + twice)):
        np.testing.assert_allclose(value, expected, rtol=1e-6)
