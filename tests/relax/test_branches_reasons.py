"""Each reason that `parallel_branches` gives on Relax, on the smallest program that has it, beside what TVM does there."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

import workbench as wb

op = relax.op
MATMUL = "CombineParallelMatmul"


def var(name, *shape):
    return relax.Var(name, relax.TensorType(shape, "float32"))


def constant(*shape):
    return relax.const(np.ones(shape, "float32"))


def load(params, body):
    """A program of one dataflow block; `body` is given `emit` and gives the results."""
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(relax.Tuple(list(body(builder.emit))))
        builder.emit_func_output(result)
    return wb.load(builder.get())


X, A, B, C = var("x", 4, 8), var("a", 8, 3), var("b", 8, 5), var("c", 8, 3)
WIDE, WIDER = var("wide", 2, 8, 3), var("wider", 3, 8, 3)
P, Q, R = var("p", 3), var("q", 5), var("r", 3)
ROWS = var("y", tirx.Var("n", "int64"), 8)


def product(left, *right):
    return lambda emit: [emit(op.matmul(left, each)) for each in right]


def shared_bias(emit):
    return [emit(op.add(emit(op.matmul(X, A)), P)), emit(op.add(emit(op.matmul(X, C)), P))]


def commuted(emit):
    return [emit(op.add(P, emit(op.matmul(X, A)))), emit(op.add(Q, emit(op.matmul(X, B))))]


def constant_bias(emit):
    return [emit(op.add(emit(op.matmul(X, A)), constant(3))), emit(op.add(emit(op.matmul(X, B)), Q))]


def unlike(emit):
    return [emit(op.add(emit(op.matmul(X, A)), P)), emit(op.nn.relu(emit(op.matmul(X, B))))]


def used_elsewhere(emit):
    first = emit(op.matmul(X, A))
    return [first, emit(op.nn.relu(first)), emit(op.nn.relu(emit(op.matmul(X, B))))]


Y = var("z", 4, 8)


def ended(emit):
    return [*product(Y, WIDE, A)(emit), *product(X, A, B)(emit)]


NEAR = {
    "weight-constant": ([X, A], product(X, A, constant(8, 3))),
    "weight-shared": ([X, A], product(X, A, A)),
    "weight-rank": ([X, A, WIDE], product(X, A, WIDE)),
    "bias-shared": ([X, A, C, P], shared_bias),
    "commuted": ([X, A, B, P, Q], commuted),
    "bias-constant": ([X, A, B, Q], constant_bias),
    "batch-shape": ([X, WIDE, WIDER], product(X, WIDE, WIDER)),
    "search-ended": ([Y, WIDE, A, X, B], ended),
}


def alike(code, params, body):
    graph = load(params, body).graph
    return [group for group in wb.parallel_branches(graph) if group.passes == MATMUL and code in group.codes]


@pytest.mark.parametrize("code", NEAR)
def test_what_is_not_combined_has_its_reason_and_tvm_leaves_it(code):
    params, body = NEAR[code]
    (group, *_) = alike(code, params, body)
    assert group.kind == "near", str(group)
    assert all(reason.sentence for reason in group.reasons)
    step = wb.trace(load(params, body), MATMUL).steps[0]
    assert not step.changed


@pytest.mark.parametrize(("code", "body"), [("level-op", unlike), ("used-elsewhere", used_elsewhere)])
def test_what_is_combined_says_what_is_left_over(code, body):
    (group,) = alike(code, [X, A, B, P, Q], body)
    assert group.kind == "combinable"


def dependent(emit):
    first = emit(op.matmul(X, A))
    return [first, emit(op.matmul(X, emit(op.add(B, emit(op.sum(first))))))]


S, T = var("s"), var("t")


def scalar_bias(emit):
    return [emit(op.add(emit(op.matmul(X, each)), bias)) for each, bias in ((A, S), (B, T))]


VECTOR = var("v", 8)
HALF = relax.Var("h", relax.TensorType((8, 5), "float16"))
ROW, TABLE = var("row", 1, 3), var("table", 4, 5)


def two_types(emit):
    return [emit(op.matmul(X, each, out_dtype="float32")) for each in (A, HALF)]


def sums(*pairs):
    """A body with the sum of X times each weight and its addend."""
    return lambda emit: [emit(op.add(emit(op.matmul(X, weight)), added)) for weight, added in pairs]


HAZARDS = {
    "weight-dtype": ([X, A, HALF], two_types),
    "bias-shapes": ([X, A, B, ROW, TABLE], sums((A, ROW), (B, TABLE))),
    "sibling-dependency": ([X, A, B], dependent),
    "left-vector": ([VECTOR, A, B], product(VECTOR, A, B)),
    "weight-vector": ([X, VECTOR, P8 := var("p8", 8)], product(X, VECTOR, P8)),
    "symbol-for-constant": ([ROWS, A], product(ROWS, A, constant(8, 3))),
    "bias-scalar": ([X, A, B, S, T], scalar_bias),
}


@pytest.mark.parametrize("code", HAZARDS)
def test_a_hazard_is_predicted_where_tvm_raises(code):
    params, body = HAZARDS[code]
    (group,) = alike(code, params, body)
    assert group.kind == "hazard"
    assert wb.trace(load(params, body), MATMUL).steps[0].status == "error"


def test_a_constant_first_factor_makes_the_pass_raise():
    body = product(constant(4, 8), A, B)
    graph = load([A, B], body).graph
    assert wb.trace(load([A, B], body), MATMUL).steps[0].status == "error"
    groups = wb.parallel_branches(graph)
    assert all(group.kind == "hazard" for group in groups if group.passes == MATMUL)


ONE, FIVE = var("one", 8, 1), var("five", 8, 5)
WRONG = {
    "bias-width": ((ONE, var("a5", 5)), (FIVE, var("b1", 1))),
    "bias-rank": ((A, var("a3", 2, 4, 3)), (B, var("b3", 2, 4, 5))),
}


@pytest.mark.parametrize("code", WRONG)
def test_a_hazard_is_predicted_where_the_outputs_have_other_shapes(code):
    pairs = WRONG[code]
    params, body = [X, *(each for pair in pairs for each in pair)], sums(*pairs)
    (group,) = alike(code, params, body)
    assert group.kind == "hazard"
    after = wb.trace(load(params, body), MATMUL).result
    with pytest.raises(wb.WorkbenchError, match="the outputs are not of one kind"):
        wb.compare_outputs(load(params, body), wb.load(after))


def test_two_branches_where_three_are_asked_for_are_combined_all_the_same():
    w = load([X, A, B], product(X, A, B))
    (group,) = wb.parallel_branches(w.graph, 3)
    assert (group.kind, group.codes) == ("near", ("below-min",))
    assert wb.trace(w, MATMUL).steps[0].changed


def test_products_that_share_only_the_second_factor_are_told():
    (group,) = wb.parallel_branches(load([X, Y, A], lambda e: [e(op.matmul(X, A)), e(op.matmul(Y, A))]).graph)
    assert (group.kind, group.codes) == ("near", ("not-arg0",))


IMAGE, FILTER, SMALL = var("i", 1, 4, 6, 6), var("f", 4, 4, 3, 3), var("g", 4, 4, 1, 1)


@pytest.mark.parametrize(
    ("code", "options"),
    [("kernel-size", ({}, {})), ("attr:strides", ({}, {"strides": 2})), ("attr:groups", ({}, {"groups": 2}))],
)
def test_convolutions_that_differ_are_told(code, options):
    other = SMALL if code == "kernel-size" else var("h", 4, 2 if code == "attr:groups" else 4, 3, 3)

    def body(emit):
        return [emit(op.nn.conv2d(IMAGE, FILTER, **options[0])), emit(op.nn.conv2d(IMAGE, other, **options[1]))]

    groups = wb.parallel_branches(load([IMAGE, FILTER, other], body).graph)
    assert any(group.kind == "near" and code in group.codes for group in groups)
