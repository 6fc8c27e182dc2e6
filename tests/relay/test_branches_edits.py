"""wb.cut, wb.force, wb.outline: node ids lead to the right expressions, legal edits keep the outputs, illegal ones say why."""

from __future__ import annotations

import random

import pytest
from breadth import breadth
from hypothesis import given, settings
from small_samples import SMALL
from test_structure import modules
from tvm import relay

import workbench as wb
from workbench.analysis import legality
from workbench.analysis.legality import IllegalEdit
from workbench.dialects.registry import dialect
from workbench.dialects.relay.passes.editing import Located
from workbench.errors import PipelineError, WorkbenchError

FUSED = "SimplifyInference,FuseOps{fuse_opt_level=2}"


# resnet18 is long: conv_bias_batch_norm and branches have its kinds of operators and its joins
@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.long] * (name == "resnet18")) for name in sorted(SMALL)])
def sample(request):
    return wb.samples.load(request.param, **SMALL[request.param])


def lowered(w):
    """As FuseOps gets it."""
    return wb.Workload(wb.trace(w, "SimplifyInference").result, w.params, w.name, "relay")


def kernels(w):
    return wb.trace(w, "FuseOps{fuse_opt_level=2}").end.graph.kernel_count


# -- node ids


def assert_located(w):
    at = Located(w.module)
    assert [(n.kind, n.op, n.type) for n in at.graph.nodes] == [(n.kind, n.op, n.type) for n in w.graph.nodes]
    for node, expression in zip(at.graph.nodes, at.expressions, strict=True):
        if node.kind == "op":
            # references are calls of no operator of that name for the printer
            assert getattr(expression.op, "name", "") == node.op
            assert len(expression.args) == len(at.graph.inputs[node.id])
        if node.kind in ("constant", "tuple", "get_item", "if"):
            assert type(expression).__name__.lower().startswith({"get_item": "tuplegetitem"}.get(node.kind, node.kind))


@pytest.mark.parametrize("passes", ["", "ToANormalForm", "BindParams," + FUSED, FUSED + ",ToANormalForm"])
def test_every_node_of_a_sample_leads_to_its_expression(sample, passes):
    module = wb.trace(sample, passes).result if passes else sample.module
    assert_located(wb.Workload(module, sample.params, sample.name, "relay"))


@given(modules())
@settings(max_examples=60)
def test_every_node_of_a_random_program_leads_to_its_expression(module):
    assert_located(wb.load(module))


def test_an_edge_leads_to_the_argument_that_it_is(sample):
    at = Located(sample.module)
    for edge in at.graph.edges:
        target = at.expressions[edge.target]
        parts = target.args if isinstance(target, relay.Call) else getattr(target, "fields", None)
        if parts is not None:
            assert parts[edge.index].same_as(at.expressions[edge.source])


# -- cut


def test_every_edge_of_a_sample_is_cut_or_refused_in_words(sample):
    w = lowered(sample)
    graph = w.graph
    edges = random.Random(0).sample(graph.edges, min(6, len(graph.edges)))
    for edge in edges:
        refusal = legality.why_not(legality.cut, graph, [edge])
        if refusal:
            with pytest.raises(IllegalEdit):
                wb.cut(w, edge)
            assert len(refusal.split()) > 5
            continue
        cut = wb.cut(w, edge)
        assert dialect("relay").frontend.same(wb.trace(w, cut.edits).result, cut.module)
        fused = wb.trace(cut, "FuseOps{fuse_opt_level=2}").end.graph
        assert not any(node.op == "annotation.stop_fusion" for node in fused.nodes)


def test_the_ends_of_a_cut_edge_are_in_two_kernels(sample):
    w = lowered(sample)
    report, graph = wb.explain_fusion(w.graph), w.graph
    inside = [e for e in graph.edges if report.group_of(e.source) is report.group_of(e.target)]
    inside = [e for e in inside if graph.nodes[e.source].kind == graph.nodes[e.target].kind == "op"]
    for edge in inside[:6]:
        fused = wb.trace(wb.cut(w, (edge.source, edge.target)), "FuseOps{fuse_opt_level=2}").end.graph
        place = wb.diff(graph, fused).mapping
        ends = [place[end] for end in (edge.source, edge.target)]
        groups = {fused.kernel_of(end if isinstance(end, int) else end[0]) for end in ends}
        assert len(groups) == 2


# -- force and outline


def random_regions(w, count, seed=0):
    """Some nodes that are near each other."""
    draw, graph = random.Random(seed), w.graph
    ops = [node.id for node in graph.ops]
    for _ in range(count):
        chosen = {draw.choice(ops)}
        while len(chosen) < draw.randint(1, 6):
            near = {n for i in chosen for n in (*graph.inputs[i], *(u for u, _ in graph.consumers[i]))} - chosen
            if not near:
                break
            chosen.add(draw.choice(sorted(near)))
        yield sorted(chosen)


def test_random_regions_are_forced_or_refused_in_words(sample):
    w = lowered(sample)
    for nodes in random_regions(w, 8):
        refusal = legality.why_not(legality.kernel, w.graph, nodes)
        if refusal:
            assert len(refusal.split()) > 5
            continue
        forced = wb.force(w, nodes)
        made = [g for g in forced.graph.groups if g.kind == "primitive"]
        assert len(made) == 1
        assert dialect("relay").frontend.same(wb.trace(w, forced.edits).result, forced.module)
        kinds = lambda graph: sorted((n.op, n.type) for n in graph.ops)  # noqa: E731  twice used, once written
        assert kinds(forced.graph) == kinds(w.graph)
        kernels(forced)


def test_random_regions_are_outlined_and_written_out_again(sample):
    w = lowered(sample)
    for nodes in random_regions(w, 8, seed=1):
        refusal = legality.why_not(legality.region, w.graph, nodes)
        if refusal:
            assert len(refusal.split()) > 5
            continue
        outlined = wb.outline(w, nodes, "a.region")
        assert [g.name for g in outlined.graph.groups if g.kind == "composite"] == ["a.region"]
        back = wb.trace(outlined, "DefuseOps").result
        assert len(wb.load(back).graph.ops) == len(w.graph.ops)


@pytest.mark.parametrize(
    "name", breadth(["mlp", "attention", "conv_bias_batch_norm", "parallel_cast", "branches"], "mlp", "parallel_cast")
)
def test_a_forced_and_a_cut_program_build_and_give_the_same(name):
    sample = wb.samples.load(name, **SMALL[name])
    w = wb.Workload(wb.trace(sample, "SimplifyInference").result, sample.params, name, "relay")
    draw, chosen = random.Random(3), [nodes for nodes in random_regions(w, 40, seed=2) if len(nodes) > 1]
    # relay.build legalises a product of int8 for this CPU into one with a sum, inside the kernel too, and then fails
    chosen = [nodes for nodes in chosen if all(w.graph.nodes[i].op != "nn.batch_matmul" for i in nodes)]
    legal = [nodes for nodes in chosen if not legality.why_not(legality.kernel, w.graph, nodes)]
    forced = wb.force(w, draw.choice(legal))
    edges = [e for e in forced.graph.edges if not legality.why_not(legality.cut, forced.graph, [e])]
    edited = wb.cut(forced, draw.choice(edges)) if edges else forced
    assert wb.compare_outputs(w, edited)
    if name != "attention":
        assert wb.kernels(edited, opt_level=1).calls == kernels(edited)


# -- what is refused


def diamond():
    x = relay.var("x", shape=(4, 8))
    a = relay.exp(x)
    left, right = relay.tanh(a), relay.nn.softmax(a)
    return wb.load(relay.Function([x], relay.add(left, right)))


def ids(w, *names):
    return [next(n.id for n in w.graph.nodes if n.op == name) for name in names]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "holds no operator"),
        (("x",), "holds no operator"),
        (("exp", "tanh", "add"), "leaves the selection through nn.softmax"),
        (("tanh", "nn.softmax"), "gives one result"),
    ],
)
def test_a_region_that_cannot_be_a_kernel_is_refused(names, said):
    w = diamond()
    with pytest.raises(IllegalEdit, match=said):
        wb.force(w, ids(w, *names))


def test_two_complicated_operators_cannot_be_a_kernel_and_can_be_a_region():
    w = wb.samples.load("mlp")
    nodes = [n.id for n in w.graph.ops]
    with pytest.raises(IllegalEdit, match="more complicated than element-wise"):
        wb.force(w, nodes)
    assert wb.outline(w, nodes, "all").graph.kernel_count == w.graph.kernel_count


def test_a_tuple_cannot_be_a_kernels_result():
    x = relay.var("x", shape=(4, 8))
    parts = relay.split(relay.exp(x), 2, axis=1)
    w = wb.load(relay.Function([x], relay.add(parts[0], parts[1])))
    with pytest.raises(IllegalEdit, match="the result would be a tuple"):
        wb.force(w, ids(w, "exp", "split"))
    whole = wb.force(w, ids(w, "exp", "split", "add"))
    assert kernels(whole) == 1
    assert wb.compare_outputs(w, whole)


def test_an_operator_without_a_pattern_cannot_be_in_a_kernel():
    w = wb.samples.load("bert", **SMALL["bert"])
    with pytest.raises(IllegalEdit, match="run SimplifyInference"):
        wb.force(w, ids(w, "nn.layer_norm"))


def test_nodes_of_a_kernel_and_of_two_functions_are_refused():
    w = wb.load(wb.trace(wb.samples.load("mlp"), FUSED).result)
    with pytest.raises(IllegalEdit, match="or run DefuseOps"):
        wb.force(w, [w.graph.ops[0].id])
    with pytest.raises(IllegalEdit, match="cut before FuseOps runs"):
        wb.cut(w, next(e for e in w.graph.edges if w.graph.nodes[e.source].kind == "op"))
    x, c = relay.var("x", shape=(4,)), relay.var("c", shape=(), dtype="bool")
    w = wb.load(relay.Function([x, c], relay.tanh(relay.If(c, relay.exp(x), relay.sqrt(x)))))
    with pytest.raises(IllegalEdit, match="several functions or branches"):
        wb.force(w, ids(w, "exp", "tanh"))
    inside = wb.force(w, ids(w, "exp"))
    assert [g.kind for g in inside.graph.groups] == ["function", "branch", "primitive", "branch"]


def test_let_bound_nodes_are_refused():
    w = wb.load(wb.trace(wb.samples.load("mlp"), "ToANormalForm").result)
    with pytest.raises(IllegalEdit, match="run ToGraphNormalForm first"):
        wb.force(w, [w.graph.ops[0].id])


@pytest.mark.parametrize("edge", [(0, 1, 2, 3), (1,), (5, 1), (0, 99), "ab", ((1, 2), (0, 1))])
def test_what_is_no_edge_is_refused(edge):
    with pytest.raises(WorkbenchError, match="edge"):
        wb.cut(diamond(), edge)


@pytest.mark.parametrize("nodes", [[99], [-1], ["a"], [True]])
def test_what_is_no_node_is_refused(nodes):
    with pytest.raises(IllegalEdit, match="the graph has no node"):
        wb.force(diamond(), nodes)


def test_a_region_needs_a_name():
    w = diamond()
    with pytest.raises(WorkbenchError, match="needs a name"):
        wb.outline(w, ids(w, "exp"), " ")


def test_edits_replayed_on_another_program_are_refused():
    edits = wb.force(diamond(), ids(diamond(), "tanh")).edits
    step = wb.trace(wb.samples.load("mlp"), edits).steps[0]
    assert step.status == "error"
    assert "run it on the module that its ids were taken from" in step.error
    with pytest.raises(PipelineError):
        dialect("relay").passes.make("ForceFusion", {"nothing": 1})


def test_a_region_for_a_compiler_is_a_function_of_the_module():
    w = diamond()
    outlined = wb.outline(w, ids(w, "exp", "tanh"), "my_region", "mycodegen")
    (group,) = [g for g in outlined.graph.groups if g.kind == "external"]
    assert (group.name, group.attrs["Compiler"], group.attrs["global_symbol"]) == (
        "my_region",
        "mycodegen",
        "my_region",
    )
    assert outlined.module["my_region"].attrs["Primitive"] == 1
    assert "@my_region(" in outlined.text()
