"""Our passes: each changes what it says and nothing else, and the outputs stay what they were."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from small_samples import SMALL
from tvm import relay

import workbench as wb
from workbench.dialects.registry import dialect
from workbench.dialects.relay.passes import OURS
from workbench.dialects.relay.passes.combine import CombineParallelOps
from workbench.dialects.relay.passes.merge import MergeIdenticalKernels
from workbench.errors import PipelineError

FUSED = "SimplifyInference,FuseOps{fuse_opt_level=2}"


def variable(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def workload(*outputs):
    body = outputs[0] if len(outputs) == 1 else relay.Tuple(outputs)
    return wb.load(relay.Function(relay.analysis.free_vars(body), body))


def result(before, passes, opt_level=3):
    """The workload after the passes, none of which failed."""
    trace = wb.trace(before, passes, opt_level=opt_level)
    assert trace.failed is None, trace.failed
    return wb.Workload(trace.result, before.params, before.name, "relay")


def ops(w):
    return [node.op for node in w.graph.ops]


def test_they_are_listed_beside_tvms_and_marked():
    listed = {info.name: info for info in wb.passes("relay")}
    for name in OURS:
        assert listed[name].ours
        assert len(listed[name].doc.split()) > 8


@pytest.mark.parametrize("sample", sorted(SMALL))
@pytest.mark.parametrize(
    "text",
    [
        "CutFusion",
        "ForceFusion",
        "OutlineRegion",
        "ExtractRegion",
        "MergeIdenticalKernels",
        "CombineParallelOps{op='nn.dense',min_num_branches=9}",
    ],
)
def test_none_changes_a_module_where_it_does_not_apply(sample, text):
    w = wb.samples.load(sample, **SMALL[sample])
    step = wb.trace(w, text).steps[0]
    assert step.status == "same"
    assert step.state_after.module.same_as(w.module)


@pytest.mark.parametrize("sample", sorted(set(SMALL) - {"parallel_cast"}))
def test_kernels_that_differ_are_left_alone(sample):
    trace = wb.trace(wb.samples.load(sample, **SMALL[sample]), f"{FUSED},MergeIdenticalKernels")
    assert [step.status for step in trace.steps][-1] == "same"


def test_they_run_in_tvms_own_sequential():
    w = wb.samples.load("parallel_cast")
    with tvm.transform.PassContext(opt_level=3):
        module = tvm.transform.Sequential([relay.transform.FuseOps(2), MergeIdenticalKernels()])(w.module)
    assert wb.load(module).graph.kernel_count == 3


# -- MergeIdenticalKernels


def pooled_casts():
    """Seed 000's first graph, with a multiply and a shift for the int64 fixed_point_multiply that TVM 0.17 cannot lower."""
    data = variable("data", 1, 8, 12, 12, dtype="int8")
    x = relay.cast(relay.nn.max_pool2d(data, (3, 3), (2, 2), padding=(1, 1)), "int32")
    x = relay.add(relay.fixed_point_multiply(x, 1 << 30, 0), relay.const(np.arange(8).reshape(8, 1, 1), "int32"))
    x = relay.cast(relay.nn.relu(x), "int64")
    x = relay.right_shift(relay.multiply(x, relay.const(3, "int64")), relay.const(1, "int64"))
    x = relay.cast(relay.clip(x, -128, 127), "int32")
    return x, relay.cast(x, "int8"), relay.cast(x, "int8")


def test_the_first_graph_of_the_question_becomes_one_kernel_with_an_int8_result():
    before = result(workload(*pooled_casts()[1:]), "FuseOps{fuse_opt_level=2}")
    assert before.graph.kernel_count == 3
    after = result(before, "MergeIdenticalKernels")
    assert after.graph.kernel_count == 1
    assert "-> Tensor[(1, 8, 6, 6), int8] {" in after.text()
    assert "-> Tensor[(1, 8, 6, 6), int32] {" not in after.text()
    assert wb.compare_outputs(before, after)


def test_with_the_convolutions_behind_it_five_kernels_become_three():
    _, left, right = pooled_casts()
    convolved = [
        relay.nn.conv2d(
            x, variable(f"w{i}", 4, 8, 1, 1, dtype="int8"), channels=4, kernel_size=(1, 1), out_dtype="int32"
        )
        for i, x in enumerate((left, right))
    ]
    before = result(workload(*convolved), "FuseOps{fuse_opt_level=2}")
    after = result(before, "MergeIdenticalKernels")
    assert (before.graph.kernel_count, after.graph.kernel_count) == (5, 3)
    assert wb.compare_outputs(before, after)


def test_a_third_user_keeps_the_wide_result_and_the_casts_are_still_merged():
    x, left, right = pooled_casts()
    before = result(workload(left, right, x), "FuseOps{fuse_opt_level=2}")
    after = result(before, "MergeIdenticalKernels")
    assert (before.graph.kernel_count, after.graph.kernel_count) == (3, 2)
    assert wb.compare_outputs(before, after)


def test_the_two_casts_of_the_sample_five_to_three():
    before = result(wb.samples.load("parallel_cast"), "FuseOps{fuse_opt_level=2}")
    after = result(before, "MergeIdenticalKernels")
    assert (before.graph.kernel_count, after.graph.kernel_count) == (5, 3)
    assert result(before, "MergeIdenticalKernels{fuse_again=False}").graph.kernel_count == 4
    assert wb.compare_outputs(before, after)


def test_constants_of_equal_values_make_equal_kernels_and_others_do_not():
    x = variable("x", 4, 8)

    def softmaxes(first, second):
        made = [
            relay.nn.softmax(relay.add(x, relay.const(np.full((8,), value, "float32")))) for value in (first, second)
        ]
        # each in a kernel of its own
        return result(workload(*made), "FuseOps{fuse_opt_level=2},MergeIdenticalKernels").graph.kernel_count

    assert softmaxes(1, 2) == 2 * softmaxes(1, 1)


def test_a_kernel_of_one_arm_is_not_run_for_the_other():
    x, condition = variable("x", 4), relay.var("c", shape=(), dtype="bool")
    choice = relay.If(condition, relay.nn.softmax(relay.exp(x)), relay.tanh(relay.nn.softmax(relay.exp(x))))
    before = result(workload(choice), "FuseOps{fuse_opt_level=0}")
    assert wb.trace(before, "MergeIdenticalKernels").steps[0].status == "same"


# -- CombineParallelOps


def dense_branches(count=3, units=4):
    x = variable("x", 2, 8)
    made = [relay.nn.dense(x, variable(f"w{i}", units, 8)) for i in range(count)]
    return [relay.nn.relu(relay.add(d, variable(f"b{i}", units))) for i, d in enumerate(made)]


def assert_combined(before, text, gone):
    """The pass changes the module, the operator occurs less often, and the outputs are the same."""
    step = wb.trace(before, text).steps[0]
    assert step.status == "changed", step
    after = wb.Workload(step.state_after.module, before.params, "after", "relay")
    assert ops(after).count(gone) < ops(before).count(gone)
    assert wb.compare_outputs(before, after)
    return after


def test_dense_branches_with_their_bias_and_relu_become_one_batch():
    after = assert_combined(
        workload(*dense_branches()), "CombineParallelOps{op='nn.dense',batch_op='nn.batch_matmul'}", "nn.dense"
    )
    assert [ops(after).count(op) for op in ("nn.dense", "nn.batch_matmul", "add", "nn.relu")] == [0, 1, 1, 1]


def test_scalars_that_tvms_own_batch_mode_gets_wrong_are_right():
    x = variable("x", 2, 8)
    made = [relay.multiply(relay.nn.dense(x, variable(f"w{i}", 2, 8)), relay.const(2.0 + i)) for i in range(2)]
    after = assert_combined(workload(*made), "CombineParallelOps{op='nn.dense'}", "nn.dense")
    assert ops(after).count("multiply") == 1


def test_vectors_added_to_a_matrix_are_right_where_tvms_own_is_silently_wrong():
    x = variable("x", 2, 2)
    made = [relay.add(x, variable(f"c{i}", 2)) for i in range(2)]
    assert_combined(workload(*made), "CombineParallelOps{op='add',batch_op='add'}", "add")


def test_attributes_are_kept():
    x = variable("x", 2, 8)
    made = [relay.cast(relay.clip(relay.add(x, variable(f"c{i}", 2, 8)), -1.0, 2.0), "float64") for i in range(2)]
    before = workload(*made)
    after = assert_combined(before, "CombineParallelOps{op='add'}", "add")
    clips = [[node.attrs for node in w.graph.ops if node.op == "clip"] for w in (before, after)]
    assert clips[0] == clips[1] * 2
    int8 = variable("q", 3, 8, dtype="int8")
    made = [relay.nn.dense(int8, variable(f"w{i}", 4, 8, dtype="int8"), out_dtype="int32") for i in range(2)]
    assert_combined(workload(*made), "CombineParallelOps{op='nn.dense'}", "nn.dense")


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_a_softmax_that_follows_keeps_its_axis(axis):
    x = variable("x", 3, 8)
    made = [relay.nn.softmax(relay.add(x, variable(f"c{i}", 3, 8)), axis=axis) for i in range(2)]
    after = assert_combined(workload(*made), "CombineParallelOps{op='add'}", "add")
    assert ops(after).count("nn.softmax") == 1


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_a_matmul_keeps_its_transposes(transposed):
    x = variable("x", *((8, 2) if transposed[0] else (2, 8)))
    shape = (4, 8) if transposed[1] else (8, 4)
    made = [relay.nn.matmul(x, variable(f"w{i}", *shape), None, "", *transposed) for i in range(2)]
    # with the second one transposed, TVM makes a dense of it
    op = "nn.dense" if transposed == (False, True) else "nn.matmul"
    assert_combined(workload(*made), f"CombineParallelOps{{op={op!r}}}", op)


def test_siblings_that_share_one_constant_object_are_combined():
    x, two = variable("x", 3, 8), relay.const(2.0, "float32")
    before = workload(*(relay.nn.softmax(relay.add(x, two)) for _ in range(2)))
    after = result(before, "CombineParallelOps{op='add',min_num_branches=2}")
    assert wb.compare_outputs(before, after)
    groups = [g for g in wb.parallel_branches(before) if g.passes.startswith("CombineParallelOps{op='add'")]
    assert not [str(group) for group in groups if group.outcome.contradicts]


def test_equal_casts_become_one_and_others_stay():
    x = variable("x", 2, 8)
    after = assert_combined(
        workload(relay.cast(x, "int8"), relay.cast(x, "int8"), relay.cast(x, "int32")),
        "CombineParallelOps{op='cast'}",
        "cast",
    )
    assert ops(after) == ["cast", "cast"]


def test_siblings_that_need_each_other_stay():
    x, w = variable("x", 2, 8), variable("w", 8, 8)
    first = relay.nn.dense(x, w)
    second = relay.nn.dense(x, relay.add(w, relay.sum(first)))
    before = workload(first, second)
    assert wb.trace(before, "CombineParallelOps{op='nn.dense'}").steps[0].status == "same"


def test_two_groups_that_need_each_other_are_not_both_combined():
    x, y = variable("x", 2, 8), variable("y", 2, 8)
    a = [relay.nn.dense(x, variable("a0", 8, 8)), None]
    b = [relay.nn.dense(y, variable("b0", 8, 8)), None]
    a[1] = relay.nn.dense(x, relay.add(variable("a1", 8, 8), relay.sum(b[0])))
    b[1] = relay.nn.dense(y, relay.add(variable("b1", 8, 8), relay.sum(a[0])))
    before = workload(*a, *b)
    assert_combined(before, "CombineParallelOps{op='nn.dense'}", "nn.dense")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"op": "nosuch"}, "no operator named"),
        ({"op": "nn.conv2d"}, "no batched form"),
        ({"op": "nn.bias_add"}, "no batched form"),
        ({"op": "add", "batch_op": "multiply"}, "would compute something else"),
        ({"op": "add", "min_num_branches": 1}, "whole number from 2 on"),
    ],
)
def test_what_cannot_be_done_rightly_is_refused_in_words(options, said):
    with pytest.raises(PipelineError, match=said):
        CombineParallelOps(**options)
    with pytest.raises(PipelineError, match=said):
        dialect("relay").passes.make("CombineParallelOps", options)


def test_cut_counts_a_shared_scalar_once():
    c = relay.const(np.float32(0.5))
    w = workload(relay.exp(relay.add(relay.multiply(variable("x", 4, 8), c), c)))
    add = next(node.id for node in w.graph.ops if node.op == "add")
    after = result(wb.cut(w, (add, add + 1)), FUSED)
    kernels = [{after.graph.nodes[id].op for id in kernel.nodes} for kernel in wb.explain_fusion(after).kernels]
    assert after.graph.kernel_count == 2, kernels
