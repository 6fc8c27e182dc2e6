"""Constant chains against TVM: the recipe folds what it says it folds, and what is said not to fold does not."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tvm
from breadth import breadth, random_seeds
from tvm import relay
from tvm.contrib import graph_executor

import workbench as wb
from workbench.analysis.chains import constant_chains
from workbench.errors import WorkerLost
from workbench.pipeline.config import AS_IS
from workbench.worker.parent import Worker

X = relay.var("x", shape=(1, 4, 8, 8))
I = relay.var("i", shape=(1, 4, 8, 8), dtype="int32")  # noqa: E741  as int32 as X is float32
WEIGHT = relay.const(np.full((4, 4, 1, 1), 0.5, "float32"))


def load(*outputs):
    body = outputs[0] if len(outputs) == 1 else relay.Tuple(outputs)
    return wb.load(relay.Function(relay.analysis.free_vars(body), body))


def k(*shape, dtype="float32", value=2):
    return relay.const(np.full(shape, value, dtype))


def add(x=X, *shape, **how):
    return relay.add(x, k(*(shape or (4, 1, 1)), **how))


def mul(x=X, *shape, **how):
    return relay.multiply(x, k(*(shape or (4, 1, 1)), **how))


def sub(x=X):
    return relay.subtract(x, k(4, 1, 1))


def div(x=X):
    return relay.divide(x, k(4, 1, 1))


def bias(x=X):
    return relay.nn.bias_add(x, k(4))


def conv(x=X, weight=WEIGHT, **how):
    return relay.nn.conv2d(x, weight, channels=4, kernel_size=(1, 1), **how)


def casts(first, *rest):
    x = relay.var("y", shape=(2, 8), dtype=first)
    for dtype in rest:
        x = relay.cast(x, dtype)
    return x


def clipped(first, low, high, *rest):
    x = relay.clip(relay.var("y", shape=(2, 8), dtype=first), low, high)
    for dtype in rest:
        x = relay.cast(x, dtype)
    return x


def padded(x, width=1, value=0):
    return relay.nn.pad(x, ((0, 0), (0, 0), (width, width), (width, width)), pad_value=value)


TABLE = {
    # name: (expression, operators in the chain, left, code of the reason)
    "add add": (add(add()), 2, 1, None),
    "add add of a scalar and (C,1,1)": (add(relay.add(X, relay.const(3.0))), 2, 1, None),
    "add add of ints": (relay.add(relay.add(I, relay.const(3)), k(4, 1, 1, dtype="int32")), 2, 1, None),
    "constant on the left": (relay.add(k(4, 1, 1), add()), 2, 1, None),
    "multiply multiply": (mul(mul()), 2, 1, None),
    "add three times": (add(add(add())), 3, 1, None),
    "add multiply add": (add(mul(add())), 3, 2, None),
    "add multiply add multiply": (mul(add(mul(add()))), 4, 2, None),
    "multiply add": (add(mul()), 2, 2, "canonical"),
    "subtract subtract": (sub(sub()), 2, 2, "no-rule"),
    "add subtract": (sub(add()), 2, 2, "no-rule"),
    "subtract add": (add(sub()), 2, 2, "no-rule"),
    "divide divide": (div(div()), 2, 2, "no-rule"),
    "multiply divide": (div(mul()), 2, 2, "no-rule"),
    "bias_add add": (add(bias()), 2, 1, None),
    "add bias_add": (bias(add()), 2, 1, None),
    "bias_add bias_add": (bias(bias()), 2, 1, None),
    "x + 0": (relay.add(X, relay.const(0.0)), 1, 0, None),
    "0 + x": (relay.add(relay.const(0.0), X), 1, 0, None),
    "x - 0": (relay.subtract(X, relay.const(0.0)), 1, 0, None),
    "x * 1": (relay.multiply(X, relay.const(1.0)), 1, 0, None),
    "x / 1": (relay.divide(X, relay.const(1.0)), 1, 0, None),
    "add add with another user": ((add(add()), 0), 2, 2, "interior-has-other-user"),
    "relu relu": (relay.nn.relu(relay.nn.relu(X)), 2, 2, "no-rule"),
    "clip clip": (relay.clip(relay.clip(X, 0.0, 6.0), 0.0, 7.0), 2, 2, "no-rule"),
    "clip relu": (relay.nn.relu(relay.clip(X, 0.0, 6.0)), 2, 2, "no-rule"),
    "fixed_point_multiply twice": (
        relay.fixed_point_multiply(relay.fixed_point_multiply(I, 1 << 30, 0), 1 << 30, 0),
        2,
        2,
        "no-rule",
    ),
    "clip to all of int8": (clipped("int8", -128, 127), 1, 0, None),
    "clip to all of uint8": (clipped("uint8", 0, 255), 1, 0, None),
    "reshape reshape": (relay.reshape(relay.reshape(X, (4, 64)), (2, 128)), 2, 1, None),
    "reshape there and back": (relay.reshape(relay.reshape(X, (4, 64)), (1, 4, 8, 8)), 2, 1, None),
    "reshape squeeze": (relay.squeeze(relay.reshape(X, (1, 4, 64)), [0]), 2, 2, "no-rule"),
    "expand_dims squeeze": (relay.squeeze(relay.expand_dims(X, 0), [0]), 2, 2, "no-rule"),
    "transpose there and back": (relay.transpose(relay.transpose(X, (0, 2, 3, 1)), (0, 3, 1, 2)), 2, 0, None),
    "transpose transpose": (relay.transpose(relay.transpose(X, (0, 2, 3, 1)), (0, 2, 3, 1)), 2, 1, None),
    "transpose that does nothing": (relay.transpose(X, (0, 1, 2, 3)), 1, 0, None),
    "pad conv": (conv(padded(X)), 2, 1, None),
    "pad pad conv": (conv(padded(padded(X))), 3, 1, None),
    "conv multiply": (mul(conv()), 2, 1, None),
    "conv multiply by a scalar": (relay.multiply(conv(), relay.const(3.0)), 2, 1, None),
    "conv multiply with another user": ((mul(conv()), 0), 2, 2, "interior-has-other-user"),
    "dense multiply": (
        relay.multiply(relay.nn.dense(relay.var("d", shape=(2, 8)), k(4, 8)), relay.const(3.0)),
        2,
        1,
        None,
    ),
    "int8 int32 int8": (casts("int8", "int32", "int8"), 2, 0, None),
    "int32 int64 int32": (casts("int32", "int64", "int32"), 2, 0, None),
    "float16 float32 float16": (casts("float16", "float32", "float16"), 2, 0, None),
    "float32 float64 float32": (casts("float32", "float64", "float32"), 2, 0, None),
    "int8 int32 int64": (casts("int8", "int32", "int64"), 2, 1, None),
    "int32 int64 int8": (casts("int32", "int64", "int8"), 2, 1, None),
    "int8 float32 int32": (casts("int8", "float32", "int32"), 2, 1, None),
    "int32 float32 int32": (casts("int32", "float32", "int32"), 2, 0, "unsafe-cast-fold"),
    "int8 uint8 int32": (casts("int8", "uint8", "int32"), 2, 1, "unsafe-cast-fold"),
    "int32 uint32 int64": (casts("int32", "uint32", "int64"), 2, 1, "unsafe-cast-fold"),
    "int32 int8 int32": (casts("int32", "int8", "int32"), 2, 2, "no-rule"),
    "float32 int32 float32": (casts("float32", "int32", "float32"), 2, 2, "no-rule"),
    "float32 float16 float32": (casts("float32", "float16", "float32"), 2, 2, "no-rule"),
    "int64 float32 int64": (casts("int64", "float32", "int64"), 2, 2, "no-rule"),
    "uint8 int8 int32": (casts("uint8", "int8", "int32"), 2, 2, "no-rule"),
    "uint8 int32 uint8": (casts("uint8", "int32", "uint8"), 2, 2, "no-rule"),
    "bool int32 bool": (casts("bool", "int32", "bool"), 2, 2, "no-rule"),
    "clip to int8's range, int8, int32": (clipped("int32", -128, 127, "int8", "int32"), 3, 1, None),
    "clip to uint8's range, int8, int32": (clipped("int32", 0, 255, "int8", "int32"), 3, 3, "no-rule"),
    "clip of int64, int32, int8": (clipped("int64", -128, 127, "int32", "int8"), 3, 2, None),
    "clip of floats, int8, float32": (clipped("float32", -128, 127, "int8", "float32"), 3, 1, "unsafe-cast-fold"),
}


def workload_of(case):
    """Return the program of a row."""
    expression = TABLE[case][0]
    if isinstance(expression, tuple):
        # the operator in the middle has a user of its own
        whole, place = expression
        expression = relay.Tuple([whole, relay.tanh(whole.args[place])])
    return load(expression)


@pytest.mark.parametrize("case", TABLE)
def test_each_row_of_the_table(case):
    _, length, left, code = TABLE[case]
    w = workload_of(case)
    (chain,) = [c for c in constant_chains(w.graph) if len(c.nodes) == length]
    assert (chain.left, [r.code for r in chain.reasons]) == (left, [code] if code else [])
    assert bool(chain.passes) == (left < length)
    assert gone(w, chain.passes or EVERYTHING) == length - left
    assert (chain.outcome.status, chain.outcome.contradicts) == ("merged" if left < length else "not merged", False)


FOLDED = [case for case, (_, length, left, code) in TABLE.items() if left < length and not code]


@pytest.mark.parametrize("case", breadth(FOLDED, *FOLDED[::8]))
def test_folded_chain_keeps_the_outputs(case):
    w = workload_of(case)
    (chain,) = [c for c in constant_chains(w.graph) if len(c.nodes) == TABLE[case][1]]
    assert wb.compare_outputs(w, wb.load(wb.trace(w, chain.passes).result))


EVERYTHING = "SimplifyExpr,FoldConstant,CanonicalizeOps,FoldConstant,SimplifyExpr,FoldConstant"


def gone(w, passes):
    trace = wb.trace(w, passes)
    assert trace.failed is None
    return len(w.graph.ops) - len(trace.end.graph.ops)


@pytest.mark.parametrize("case", [name for name, row in TABLE.items() if row[3] == "unsafe-cast-fold"])
def test_an_unsafe_fold_gives_other_values(case, monkeypatch):
    # TVM would look for schedules on the net
    monkeypatch.setenv("TOPHUB_LOCATION", "NONE")
    y = TABLE[case][0]
    free = relay.analysis.free_vars(y)[0]
    values = np.array([-3, -1, 2.6, 2**24 + 1, 7, 100, 90.5, 3] * 2).reshape(2, 8)
    data = tvm.nd.array(values.astype(free.type_annotation.dtype))
    w = load(y)
    run = {
        name: evaluated(module, data)
        for name, module in (("before", w.module), ("after", wb.trace(w, "SimplifyExpr").result))
    }
    assert not np.array_equal(run["before"], run["after"])


def evaluated(module, data):
    """As the module stands: SimplifyExpr runs even at level 0."""
    with tvm.transform.PassContext(opt_level=0, disabled_pass=list(AS_IS)):
        built = relay.build(module, target="llvm")
    executor = graph_executor.GraphModule(built["default"](tvm.cpu()))
    executor.set_input("y", data)
    executor.run()
    return executor.get_output(0).numpy()


def test_a_factor_of_another_type_than_the_weights_makes_fold_scale_axis_raise():
    x = relay.var("q", shape=(1, 4, 8, 8), dtype="int8")
    w = load(relay.multiply(conv(x, k(4, 4, 1, 1, dtype="int8"), out_dtype="int32"), k(4, 1, 1, dtype="int32")))
    (chain,) = constant_chains(w.graph)
    assert [r.code for r in chain.reasons] == ["scale-type-crash"]
    assert chain.outcome.status == "failed"
    assert "TVM's pass fails: " in str(chain)
    assert wb.trace(w, "FoldScaleAxis").steps[0].status == "error"


def test_weights_that_are_parameters_are_bound_first():
    w = load(relay.add(relay.add(X, relay.var("a", shape=(4, 1, 1))), relay.var("b", shape=(4, 1, 1))))
    w.params.update({name: tvm.nd.array(np.ones((4, 1, 1), "float32")) for name in "ab"})
    (chain,) = constant_chains(w.graph)
    assert chain.passes == "BindParams,SimplifyExpr,FoldConstant"
    assert gone(w, chain.passes) == 1


def random_run(seed):
    """A run of operators with constants; now and then one has another user, or a cast stands between."""
    draw = random.Random(seed)
    x, others = X, []
    for _ in range(draw.randint(2, 6)):
        step = draw.choice([add, add, mul, mul, bias, sub, div])
        x = draw.choice(
            [step, step, lambda y: relay.add(y, relay.const(0.0)), lambda y: relay.multiply(relay.const(1.0), y)]
        )(x)
        if draw.random() < 0.1:
            others.append(relay.tanh(x))
    return load(x, *others)


def random_casts(seed):
    draw = random.Random(seed)
    kinds = ["int8", "uint8", "int32", "int64", "float32", "float64", "uint32", "bool", "float16"]
    chosen = [draw.choice(kinds) for _ in range(draw.randint(3, 6))]
    if draw.random() < 0.3:
        low, high = draw.choice([(-128, 127), (0, 255), (0, 6)])
        first = chosen[0] if chosen[0] not in ("bool", "float16") else "int32"
        return load(clipped(first, low, high, *chosen[1:]))
    return load(casts(*chosen))


@random_seeds(range(12), 250)
def test_random_chains_fold_as_predicted(seeds, tell):
    every = 1 if len(seeds) < 20 else 10  # an outcome takes a child process
    chains = folded = 0
    for make in (random_run, random_casts):
        for seed in seeds:
            w = make(seed)
            found = constant_chains(w.graph)
            predicted = sum(len(c.nodes) - c.left for c in found)
            assert seed % every or not [str(c) for c in found if c.outcome.contradicts]
            passes = next((c.passes for c in found if "Canonicalize" in c.passes), "SimplifyExpr,FoldConstant")
            assert gone(w, passes) == predicted, (make.__name__, seed, [str(c) for c in found])
            chains += len(found)
            folded += predicted
    tell(f"chains: {2 * len(seeds)} programs, {chains} chains, {folded} operators folded as predicted, 0 disagreements")


def test_a_module_that_cannot_be_sent_is_not_tried(monkeypatch):
    def refuse(*_):
        raise ValueError("TVM cannot save this")

    w = load(add(add()))
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "written", refuse)
        (chain,) = constant_chains(w.graph)
        assert chain.outcome.status == "not tried"
        assert "TVM cannot save this" in chain.outcome.sentence
        assert not chain.contradicted
    # a refusal is not kept
    (chain,) = constant_chains(w.graph)
    assert chain.outcome.sentence == "folded as stated"


def test_parameters_without_values_are_not_a_failure_of_tvm():
    x = relay.var("q", shape=(1, 4, 8, 8))
    w = load(relay.multiply(conv(x, relay.var("w", shape=(4, 4, 1, 1))), k(4, 1, 1)))
    (chain,) = constant_chains(w.graph)
    assert (chain.outcome.status, chain.contradicted) == ("not tried", False)
    assert "BindParams has no values" in chain.outcome.sentence


def test_no_answer_in_time_is_not_a_failure_of_tvm(monkeypatch):
    def lost(*_, **__):
        raise WorkerLost("no result", "timeout")

    monkeypatch.setattr(Worker, "run", lost)
    (chain,) = constant_chains(load(add(add())).graph)
    assert chain.outcome.sentence == "not tried: TVM did not answer within 60 s"
