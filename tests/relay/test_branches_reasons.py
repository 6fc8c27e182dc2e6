"""Each rule and each hazard of TVM's mergers on the smallest program that shows it; the crashes in a process of their own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.analysis.branches import parallel_branches
from workbench.errors import WorkbenchError


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def load(*outputs):
    body = outputs[0] if len(outputs) == 1 else relay.Tuple(outputs)
    return wb.load(relay.Function(relay.analysis.free_vars(body), body))


def groups(w, name, kind=None, least=2):
    """The groups of a pass; of CombineParallelDense those that make a batch."""
    found = [g for g in parallel_branches(w.graph, least) if g.passes.partition("{")[0] == name.partition(",")[0]]
    return [g for g in found if ("to_batch=False" in g.passes) == ("," in name) and kind in (None, g.kind)]


X = var("x", 1, 4, 8, 8)


def conv(x=X, name="w", channels=4, size=1, **attrs):
    weight = var(name, channels, attrs.pop("depth", 4), size, size, dtype=attrs.pop("dtype", "float32"))
    attrs = {"channels": channels, "kernel_size": (size, size), **attrs}
    return relay.nn.conv2d(x, weight, **attrs)


def pair(make):
    return [make(conv(name=f"w{i}"), i) for i in range(2)]


K = relay.const(np.ones((4, 1, 1), "float32"))

EQUAL = {
    # name: (outputs, operators merged away, reason of the near miss)
    "one constant": ([relay.nn.relu(relay.add(X, K)), relay.nn.relu(relay.add(X, K))], 2, None),
    "two constants of equal values": (
        [
            relay.add(X, relay.const(np.ones((4, 1, 1), "float32"))),
            relay.add(X, relay.const(np.ones((4, 1, 1), "float32"))),
        ],
        0,
        "const-identity",
    ),
    "two scalars of equal values": ([relay.add(X, relay.const(2.0)), relay.add(X, relay.const(2.0))], 1, None),
    "two scalars of other values": ([relay.add(X, relay.const(2.0)), relay.add(X, relay.const(3.0))], 0, None),
    "commuted": ([relay.add(X, K), relay.add(K, X)], 0, "commuted"),
    "clips": ([relay.clip(X, 0.0, 6.0), relay.clip(X, 0.0, 7.0)], 0, "attr:a_max"),
    "casts": ([relay.cast(X, "int8"), relay.cast(X, "int32")], 0, "attr:dtype"),
    "softmax by another name of the axis": ([relay.nn.softmax(X, 3), relay.nn.softmax(X, -1)], 0, "attr:axis"),
    "two tuples alike": ([relay.concatenate([relay.exp(X), X], 1), relay.concatenate([relay.exp(X), X], 1)], 2, None),
    "calls without arguments": (
        [relay.add(X, relay.zeros((1, 4, 8, 8), "float32")), relay.zeros((2,), "float32")],
        0,
        None,
    ),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_calls(case):
    outputs, gone, code = EQUAL[case]
    w = load(*outputs)
    found = groups(w, "EliminateCommonSubexpr")
    assert sum((len(g.branches) - 1) * len(g.branches[0]) for g in found if g.kind == "identical") == gone
    assert [c for g in found if g.kind == "near" for c in g.codes] == ([code] if code else [])
    merged = wb.trace(w, "EliminateCommonSubexpr").end.graph
    assert len(w.graph.ops) - len(merged.ops) == gone


def test_equal_casts_in_the_two_arms_of_an_if_are_merged_by_tvm_and_listed():
    condition = relay.var("c", shape=(), dtype="bool")
    w = load(relay.If(condition, relay.exp(X), relay.tanh(relay.exp(X))))
    assert [len(g.branches) for g in groups(w, "EliminateCommonSubexpr", "identical")] == [2]
    assert len(wb.trace(w, "EliminateCommonSubexpr").end.graph.ops) == 2


def test_the_bodies_of_two_kernels_are_not_taken_for_one():
    t = wb.trace(load(relay.exp(X), relay.exp(X)), "FuseOps{fuse_opt_level=2}")
    found = parallel_branches(t.end.graph)
    assert [(g.kind, g.passes) for g in found] == [("identical", "MergeIdenticalKernels")]
    assert wb.trace(wb.load(t.result), "EliminateCommonSubexpr").steps[0].status == "same"


CONVS = {
    # name: (outputs, depth combined (0: not), code that says why no more)
    "add (C,1,1)": (pair(lambda x, i: relay.nn.relu(relay.add(x, var(f"b{i}", 4, 1, 1)))), 3, None),
    "add (1,C,8,8)": (pair(lambda x, i: relay.add(x, var(f"b{i}", 1, 4, 8, 8))), 2, None),
    "bias_add": (pair(lambda x, i: relay.nn.bias_add(x, var(f"b{i}", 4))), 1, "level-arg-channel"),
    "scalar": (pair(lambda x, i: relay.multiply(x, relay.const(2.0))), 1, "level-arg-channel"),
    "(1,1,8,8)": (pair(lambda x, i: relay.add(x, var(f"b{i}", 1, 1, 8, 8))), 1, "level-arg-channel"),
    "other ranks": (pair(lambda x, i: relay.add(x, var(f"b{i}", *((4, 1, 1), (1, 4, 1, 1))[i]))), 1, "level-arg-rank"),
    "other side": (
        pair(lambda x, i: relay.add(*((x, var(f"b{i}", 4, 1, 1))[:: 1 - 2 * i]))),
        1,
        "level-parent-position",
    ),
    "another operator": (pair(lambda x, i: (relay.exp, relay.tanh)[i](x)), 1, "level-op"),
    "another attribute": (pair(lambda x, i: relay.clip(x, 0.0, 6.0 + i)), 1, "level-attr:a_max"),
    "one ends early": (pair(lambda x, i: relay.exp(x) if i else x), 1, "depth-min"),
    "used twice": (pair(lambda x, i: relay.multiply(x, x)), 1, "multi-call-consumer"),
    "in a tuple too": (
        [part for x in pair(lambda x, _: x) for part in (x, relay.nn.relu(x))],
        2,
        "tuple-consumer-duplicates",
    ),
    "strides": ([conv(name="a"), conv(name="b", strides=(2, 2))], 0, "attr:strides"),
    "kernel": ([conv(name="a"), conv(name="b", size=3, padding=(1, 1))], 0, "attr:padding"),
    "kernel size": ([conv(name="a", padding=(1, 1)), conv(name="b", size=3, padding=(1, 1))], 0, "kernel-size"),
    "out_dtype": ([conv(name="a"), conv(name="b", out_dtype="float32")], 0, "out-dtype-spelling"),
    "two groups-of-4": ([conv(name=n, groups=4, depth=1) for n in "ab"], 0, None),
    "other channels": ([conv(name="a", channels=2), conv(name="b", channels=6)], 1, None),
}


@pytest.mark.parametrize("case", CONVS)
def test_convolutions(case):
    outputs, depth, code = CONVS[case]
    w = load(*outputs)
    found = groups(w, "CombineParallelConv2D")
    combined = [g for g in found if g.kind == "combinable"]
    assert [len(g.branches[0]) for g in combined] == ([depth] if depth else [])
    assert (code in {c for g in found for c in g.codes}) if code else True
    step = wb.trace(w, "CombineParallelConv2D{min_num_branches=2}", opt_level=4).steps[0]
    assert step.changed == bool(depth)


def test_too_few_branches_are_a_near_miss_that_names_the_number():
    near = groups(load(conv(name="a"), conv(name="b")), "CombineParallelConv2D", least=3)
    assert [(g.kind, g.codes) for g in near] == [("near", ("below-min",))]
    assert "2 branches fit together, and 3 are asked for" in near[0].reasons[0].sentence


def test_a_shared_second_argument_is_a_near_miss():
    w = var("w", 4, 8)
    found = groups(load(relay.nn.dense(var("a", 2, 8), w), relay.nn.dense(var("b", 2, 8), w)), "CombineParallelDense")
    assert [g.codes for g in found] == [("not-arg0",)]


@pytest.mark.parametrize("count", [2, 3])
def test_what_slices_cost_is_said(count):
    w = load(*(relay.nn.relu(relay.add(conv(name=f"w{i}"), var(f"b{i}", 4, 1, 1))) for i in range(count)))
    (group,) = groups(w, "CombineParallelConv2D", "combinable")
    assert group.change.kernels == 1
    assert "slices-cost-kernels" in group.cost
    kernels = [
        wb.trace(wb.Workload(w.module, weights(w), "w", "relay"), f"BindParams,{text}FoldConstant,FuseOps", opt_level=4)
        for text in ("", "CombineParallelConv2D{min_num_branches=2},")
    ]
    assert kernels[1].end.graph.kernel_count - kernels[0].end.graph.kernel_count == 1


def weights(w):
    return {
        v.name_hint: tvm.nd.array(np.ones([int(d) for d in v.checked_type.shape], v.checked_type.dtype))
        for v in w.module["main"].params
        if v.name_hint != "x"
    }


D = var("d", 4, 8)


def dense(make, units=4):
    return [make(relay.nn.dense(D, var(f"w{i}", units, 8)), i) for i in range(2)]


M = var("m", 2, 3, 8)
PACKED = var("p", 1, 1, 8, 8, 4)
BYTES, PIXELS = var("q", 4, 8, dtype="uint8"), var("r", 1, 4, 8, 8, dtype="uint8")
SIGNS = ("int8", "uint8")
DENSE, WIDE, CONV, MATMUL = (
    "CombineParallelDense",
    "CombineParallelDense,to_batch=False",
    "CombineParallelConv2D",
    "CombineParallelBatchMatmul",
)
RAISES, WRONG = "raises", "wrong"
HAZARDS = {
    # name: (outputs, pass, code, what TVM does)
    "bias_add in batch mode": (
        dense(lambda x, i: relay.nn.bias_add(x, var(f"b{i}", 4))),
        DENSE,
        "axis-in-batch-mode",
        RAISES,
    ),
    "scalar in batch mode": (
        dense(lambda x, i: relay.multiply(x, relay.const(2.0))),
        DENSE,
        "scalar-in-batch-mode-wrong",
        RAISES,
    ),
    "scalar in batch mode, as many units as branches": (
        dense(lambda x, i: relay.multiply(x, relay.const(2.0 + i)), 2),
        DENSE,
        "scalar-in-batch-mode-wrong",
        WRONG,
    ),
    "rank 3 on rank 2 in batch mode": (
        dense(lambda x, i: relay.add(x, var(f"b{i}", 2, 4, 4))),
        DENSE,
        "scalar-in-batch-mode-wrong",
        None,
    ),
    "dense of rank 3": ([relay.nn.dense(M, var(f"w{i}", 4, 8)) for i in range(2)], DENSE, "input-rank", RAISES),
    "wide dense of rank 3": ([relay.nn.dense(M, var(f"w{i}", 4, 8)) for i in range(2)], WIDE, "input-rank", RAISES),
    "scalar after batch_matmul": (
        [relay.multiply(relay.nn.batch_matmul(M, var(f"w{i}", 2, 4, 8)), relay.const(2.0)) for i in range(2)],
        MATMUL,
        "unchecked-argument",
        RAISES,
    ),
    "vector and tensor after batch_matmul": (
        [
            relay.add(relay.nn.batch_matmul(M, var(f"w{i}", 2, 4, 8)), var(f"b{i}", *((4,), (2, 3, 4))[i]))
            for i in range(2)
        ],
        MATMUL,
        "unchecked-argument",
        RAISES,
    ),
    "packed layout": (
        [
            relay.nn.conv2d(
                PACKED,
                var(f"w{i}", 1, 1, 1, 1, 4, 4),
                data_layout="NCHW4c",
                kernel_layout="OIHW4i4o",
                channels=4,
                kernel_size=(1, 1),
            )
            for i in range(2)
        ],
        CONV,
        "packed-layout",
        RAISES,
    ),
    "repeat along the channels": (pair(lambda x, i: relay.repeat(x, 2, 1)), CONV, "channel-moved", RAISES),
    "one channel grows": (
        [relay.add(conv(name=f"w{i}", channels=1), var(f"b{i}", 4, 1, 1)) for i in range(2)],
        CONV,
        "channel-moved",
        RAISES,
    ),
    "columns of wide dense grow": (dense(lambda x, i: relay.repeat(x, 2, 1)), WIDE, "columns-moved", RAISES),
    "columns of batch_matmul grow": (
        [relay.repeat(relay.nn.batch_matmul(M, var(f"w{i}", 2, 4, 8)), 2, 2) for i in range(2)],
        MATMUL,
        "columns-moved",
        RAISES,
    ),
    "dense with weights of two types": (
        [relay.nn.dense(BYTES, var(f"w_{kind}", 4, 8, dtype=kind), out_dtype="int32") for kind in SIGNS],
        DENSE,
        "weight-dtype",
        RAISES,
    ),
    "conv2d with weights of two types": (
        [conv(PIXELS, f"w_{kind}", dtype=kind, out_dtype="int32") for kind in SIGNS],
        CONV,
        "weight-dtype",
        RAISES,
    ),
    "layer_norm behind one": (
        [relay.nn.layer_norm(conv(name="a"), var("g", 8), var("h", 8)), conv(name="b")],
        CONV,
        "no-TOpPattern-crash",
        RAISES,
    ),
    "grouped beside ungrouped": (
        [conv(name="a"), conv(name="b", groups=4, depth=1), conv(name="c", groups=4, depth=1)],
        CONV,
        "grouped-conv-wrong",
        WRONG,
    ),
}


@pytest.mark.parametrize("case", HAZARDS)
def test_a_hazard_is_named_and_is_one(case):
    outputs, name, code, happens = HAZARDS[case]
    w = load(*outputs)
    found = groups(w, name, "hazard")
    assert code in {c for g in found for c in g.codes}
    assert not groups(w, name, "combinable")
    assert all(g.change is None for g in found)
    if happens is None:
        return
    trace = wb.trace(w, found[0].passes, opt_level=4)
    if happens == RAISES:
        assert trace.steps[0].status == "error"
        assert found[0].outcome.sentence == f"TVM's pass fails: {trace.steps[0].error}"
    else:
        assert not wb.compare_outputs(w, wb.load(trace.result))


def test_a_function_behind_a_branch_is_a_hazard():
    w = load(relay.nn.relu(conv(name="a")), conv(name="b"))
    forced = wb.force(w, [n.id for n in w.graph.ops if n.op == "nn.relu"])
    assert "function-consumer-crash" in {c for g in groups(forced, CONV, "hazard") for c in g.codes}
    assert wb.trace(forced, "CombineParallelConv2D{min_num_branches=2}", opt_level=4).steps[0].status == "error"


CRASH = """
import tvm
from tvm import relay
x = relay.var("x", shape=(4, 8))
first = relay.nn.dense(x, relay.var("w0", shape=(4, 8)))
second = relay.nn.dense(x, relay.add(relay.var("w1", shape=(4, 8)), relay.sum(first)))
function = relay.Function(relay.analysis.free_vars(relay.Tuple([first, second])), relay.Tuple([first, second]))
with tvm.transform.PassContext(opt_level=4):
    relay.transform.CombineParallelDense(2, {batch})(relay.transform.InferType()(tvm.IRModule.from_expr(function)))
"""


@pytest.mark.parametrize(("batch", "name"), [(True, DENSE), (False, WIDE)])
def test_sibling_dependency_ends_the_process(batch, name):
    x = var("x", 4, 8)
    first = relay.nn.dense(x, var("w0", 4, 8))
    second = relay.nn.dense(x, relay.add(var("w1", 4, 8), relay.sum(first)))
    found = groups(load(first, second), name, "hazard")
    assert [g.codes for g in found] == [("sibling-dependency-crash",)]
    ended = subprocess.run(
        [sys.executable, "-c", CRASH.format(batch=batch)], capture_output=True, check=False, timeout=120
    )
    assert ended.returncode < 0
    assert "TVM's pass fails: the child process ended with SIG" in str(found[0])


@pytest.mark.parametrize("least", [1, 0, -1, True, 2.0, None])
def test_a_wrong_number_of_branches_is_refused(least):
    with pytest.raises(WorkbenchError, match="give 2 or more"):
        parallel_branches(load(relay.exp(X)).graph, least)
