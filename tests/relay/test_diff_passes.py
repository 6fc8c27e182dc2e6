"""What the diff says of passes: exact where it is known what a pass does, and true of every node whatever it does."""

from __future__ import annotations

import functools

import diff_laws
import pytest
import tvm
from breadth import breadth
from small_samples import TWO_LAYERS
from tvm import relay

import workbench as wb
from workbench.graph.changes import GraphDiff
from workbench.graph.model import Graph
from workbench.pipeline.step import Step


def alter_op_layout(module):
    with tvm.target.Target("llvm -mcpu=skylake-avx512"):
        return relay.transform.AlterOpLayout()(relay.transform.InferType()(module))


def plan_devices(module):
    config = tvm.target.make_compilation_config(tvm.transform.PassContext.current(), [tvm.target.Target("llvm")])
    return relay.transform.PlanDevices(config)(module)


def placed(module):
    """The result of @main is said to be on the CPU: what PlanDevices then plans."""
    main = module["main"]
    body = main.body
    if isinstance(body, relay.Tuple):
        body = relay.Tuple([relay.annotation.on_device(field, tvm.cpu(0)) for field in body.fields])
    else:
        body = relay.annotation.on_device(body, tvm.cpu(0))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(main.params, body)))


# The step that is looked at comes last: TVM fuses and combines only what has been simplified, as in relay.build.
PIPELINES = {
    "SimplifyInference": ["SimplifyInference"],
    **{
        name: ["SimplifyInference", name]
        for name in (
            "FuseOps",
            "EliminateCommonSubexpr",
            "FoldScaleAxis",
            "FoldConstant",
            "CombineParallelConv2D",
            "CombineParallelDense",
            "CombineParallelBatchMatmul",
            "ToMixedPrecision",
            "DeadCodeElimination",
            "Inline",
        )
    },
    "AlterOpLayout": ["SimplifyInference", alter_op_layout],
    "PlanDevices": ["SimplifyInference", placed, plan_devices],
}


def test_every_sample_is_looked_at():
    assert set(TWO_LAYERS) == set(wb.samples.names("relay"))


@functools.cache
def last_step(sample: str, bound: bool, name: str) -> Step:
    """What the last pass of a pipeline did; `bound` makes the parameters constants, as relay.build does."""
    workload = wb.samples.load(sample, **TWO_LAYERS[sample])
    if bound:
        workload = wb.load(relay.build_module.bind_params_by_name(workload.module["main"], workload.params))
    return wb.trace(workload, PIPELINES[name], opt_level=4).steps[-1]


CASES = [(sample, bound) for sample in sorted(TWO_LAYERS) for bound in (False, True)]
SLOW = [case for case in CASES if case[0] == "resnet18" or case == ("conv_bias_batch_norm", True)]
"folding compiles each constant expression"


@pytest.fixture(
    params=breadth(CASES, *(case for case in CASES if case not in SLOW)),
    ids=[f"{sample}-{'bound' if bound else 'unbound'}" for sample, bound in CASES],
)
def chosen(request):
    return request.param


@pytest.fixture
def sample(chosen):
    return chosen[0]


@pytest.fixture
def bound(chosen):
    return chosen[1]


def worked(sample: str, bound: bool, name: str) -> Step:
    step = last_step(sample, bound, name)
    if sample == "bert" and name == "CombineParallelDense":
        pytest.skip("TVM's own CombineParallelDense makes an ill-typed module of bert's bias_add")
    assert step.status in ("changed", "same"), step.error
    return step


def ops(graph: Graph, ids) -> list[str]:
    return sorted(graph.nodes[id].op for id in ids)


def only(d: GraphDiff, *kinds: str) -> bool:
    """Whether the diff has nothing but kept nodes and these kinds."""
    return all(kind in ("kept", *kinds) or not count for kind, count in d.counts.items())


# -- true of every pass


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_the_diff_of_a_pass_keeps_its_laws(sample, bound, name):
    step = worked(sample, bound, name)
    diff_laws.check(step.before, step.after, step.diff)


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_a_pass_that_changed_nothing_has_an_empty_diff(sample, bound, name):
    step = worked(sample, bound, name)
    assert step.diff.empty or step.status == "changed"


# -- what is known of each pass


def test_fuse_ops_changes_nothing_but_the_grouping(sample, bound):
    step = worked(sample, bound, "FuseOps")
    assert step.status == "changed"
    assert step.diff.empty
    assert len(step.diff.kept) == len(step.before.nodes) == len(step.after.nodes)


def test_eliminate_common_subexpr_only_merges(sample, bound):
    step = worked(sample, bound, "EliminateCommonSubexpr")
    assert only(step.diff, "merged")
    lost = sum(len(many) - 1 for many, _ in step.diff.merged)
    assert lost == len(step.before.nodes) - len(step.after.nodes)
    assert (lost > 0) == (step.status == "changed") == (sample == "parallel_cast")


def test_simplify_inference_takes_out_the_norms_and_their_results_and_nothing_else(sample, bound):
    step = worked(sample, bound, "SimplifyInference")
    before = step.before
    simplified = {n.id for n in before.ops if n.op in ("nn.batch_norm", "nn.layer_norm", "nn.dropout")}
    fields = {n.id for n in before.nodes if n.kind == "get_item" and before.inputs[n.id][0] in simplified}
    assert set(step.diff.removed) == simplified | fields
    assert {b for b, _ in step.diff.changed} == {
        user for id in simplified | fields for user, _ in before.consumers[id]
    } - simplified - fields
    assert only(step.diff, "removed", "changed", "added")


@pytest.mark.parametrize("name", ["FoldConstant", "FoldScaleAxis"])
def test_folding_takes_out_what_only_constants_reach_and_adds_nothing(sample, bound, name):
    step = worked(sample, bound, name)
    before, scales = step.before, {"multiply"} if name == "FoldScaleAxis" else set()
    fed = [node.kind == "param" for node in before.nodes]
    for id, inputs in enumerate(before.inputs):
        fed[id] = fed[id] or any(fed[i] for i in inputs)
    assert {before.nodes[b].op for b in step.diff.removed if fed[b]} <= scales
    assert only(step.diff, "removed", "changed") or not bound
    assert {before.nodes[b].kind for b, _ in step.diff.changed} <= {"constant", "op", "get_item", "tuple"}
    assert (step.status == "changed") >= (bound and sample in ("conv_bias_batch_norm", "resnet18"))


def test_mixed_precision_adds_casts_and_takes_out_nothing(sample, bound):
    step = worked(sample, bound, "ToMixedPrecision")
    assert only(step.diff, "changed", "added")
    assert set(ops(step.after, step.diff.added)) <= {"cast"}
    assert step.status == ("same" if sample == "attention" else "changed")


def test_alter_op_layout_makes_operators_variants_and_adds_transforms(sample, bound):
    step = worked(sample, bound, "AlterOpLayout")
    assert only(step.diff, "changed", "added")
    assert set(ops(step.after, step.diff.added)) <= {"layout_transform", "expand_dims"}
    replaced = {step.before.nodes[b].op: step.after.nodes[a].op for b, a in step.diff.changed}
    wanted = {"nn.conv2d": "nn.contrib_conv2d_NCHWc", "nn.dense": "nn.contrib_dense_pack"}
    for op in {node.op for node in step.before.ops} & set(wanted):
        assert replaced[op] == wanted[op]
    assert step.status == ("same" if sample in ("attention", "chain") else "changed")


@pytest.mark.parametrize("name", ["DeadCodeElimination", "Inline"])
def test_a_sample_has_no_dead_code_and_no_calls_of_global_functions(sample, bound, name):
    assert worked(sample, bound, name).diff.empty


def test_plan_devices_takes_out_the_annotations_and_places_the_parameters(sample, bound):
    step = worked(sample, bound, "PlanDevices")
    assert set(ops(step.before, step.diff.removed)) == {"on_device"}
    assert {step.before.nodes[b].kind for b, _ in step.diff.changed} <= {"param", "tuple"}
    assert only(step.diff, "removed", "changed")


X = relay.var("x", shape=(2, 3))


def combined(name: str) -> tuple[relay.Function, str]:
    """Three sibling operators of one input, added up."""
    if name == "CombineParallelConv2D":
        x, shape, op = relay.var("x", shape=(1, 3, 8, 8)), (4, 3, 1, 1), relay.nn.conv2d
    elif name == "CombineParallelBatchMatmul":
        x, shape, op = relay.var("x", shape=(1, 4, 3)), (1, 5, 3), relay.nn.batch_matmul
    else:
        x, shape, op = X, (4, 3), relay.nn.dense
    weights = [relay.var(name, shape=shape) for name in "abc"]
    a, b, c = (op(x, weight) for weight in weights)
    return relay.Function([x, *weights], relay.add(relay.add(a, b), c)), a.op.name


@pytest.mark.parametrize("name", ["CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul"])
def test_combining_keeps_what_feeds_the_siblings_and_what_uses_them(name):
    function, op = combined(name)
    step = wb.trace(wb.load(function), name, opt_level=4).steps[0]
    kinds = [step.before.nodes[b].kind for b, _ in step.diff.kept]
    assert kinds == ["param"] * 4
    assert [step.before.nodes[b].op for b, _ in step.diff.changed].count("add") == 2
    siblings = 3 if name == "CombineParallelDense" else 2  # dense becomes batch_matmul, the others the wider operator
    assert ops(step.before, step.diff.removed) == [op] * siblings
    assert only(step.diff, "removed", "changed", "added")


def test_combining_branches_keeps_one_of_the_three():
    step = last_step("branches", False, "CombineParallelConv2D")
    assert ops(step.before, step.diff.removed) == ["add"] * 2 + ["nn.conv2d"] * 2 + ["nn.relu"] * 2
    assert ops(step.after, step.diff.added) == ["concatenate"] * 2 + ["strided_slice"] * 3 + ["tuple"] * 2


def test_dead_code_is_what_is_removed():
    dead, live = relay.Var("dead"), relay.Var("live")
    body = relay.Let(dead, relay.exp(X), relay.Let(live, relay.tanh(X), relay.nn.relu(live)))
    step = wb.trace(wb.load(relay.Function([X], body)), "DeadCodeElimination").steps[0]
    assert ops(step.before, step.diff.removed) == ["exp"]
    assert only(step.diff, "removed")


def test_inlining_takes_out_the_call_and_its_parameter():
    p, inner, module = relay.var("p", shape=(2, 3)), relay.GlobalVar("inner"), tvm.IRModule()
    body = relay.Function([p], relay.exp(p), relay.TensorType((2, 3)))
    module[inner] = body.with_attr("Inline", tvm.tir.IntImm("int32", 1))
    module["main"] = relay.Function([X], relay.tanh(inner(X)))
    step = wb.trace(wb.load(relay.transform.InferType()(module)), "Inline").steps[0]
    assert ops(step.before, step.diff.removed) == ["@inner", "p"]
    assert [step.after.nodes[a].op for _, a in step.diff.changed] == ["exp", "tanh"] or only(
        step.diff, "removed", "changed"
    )


def test_a_device_in_the_middle_is_taken_out_and_its_user_changed():
    function = relay.Function([X], relay.tanh(relay.annotation.on_device(relay.exp(X), tvm.cpu(0))))
    step = wb.trace(wb.load(function), [plan_devices]).steps[0]
    assert ops(step.before, step.diff.removed) == ["on_device"]
    assert [step.before.nodes[b].op for b, _ in step.diff.changed] == ["x", "tanh"]
