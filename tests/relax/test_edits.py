"""Cuts, kernels and regions in Relax: what FuseOps makes of them, and that the numbers stay."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from breadth import breadth
from relax.test_from_relay import run_all
from relax.test_fusion import Program

import workbench as wb
from workbench.analysis import legality
from workbench.analysis.legality import IllegalEdit
from workbench.dialects.relax import compat
from workbench.dialects.relax.passes.editing import Located
from workbench.errors import PipelineError

KERNELS = "LegalizeOps,AnnotateTIROpPattern"
FUSE = "FuseOps{fuse_opt_level=2}"


def made(workload: wb.Workload, pipeline: str) -> wb.Workload:
    return wb.load((wb.trace(workload, pipeline).result, workload.params), name=workload.name)


def kernel_of(workload: wb.Workload, nodes: Sequence[int]) -> list[int | None]:
    """The kernels that nodes of the workload are in after FuseOps."""
    trace = wb.trace(workload, FUSE)
    graph, mapping = trace.end.graph, trace.steps[0].diff.mapping
    return [graph.kernel_of(mapping[node][0]) for node in nodes]


def outputs(workload: wb.Workload) -> list[float]:
    random = np.random.default_rng(0)
    main = workload.module["main"].params
    given = {
        compat.name_of(p): random.random(compat.fixed_shape(compat.type_of(p)) or ()).astype("float32") for p in main
    }
    return [value for array in run_all(workload, given) for value in array.ravel().tolist()]


@pytest.fixture(scope="module")
def mlp() -> wb.Workload:
    return made(wb.samples.load("mlp"), KERNELS)


def test_a_cut_keeps_two_operators_apart_and_leaves_the_rest(mlp: wb.Workload) -> None:
    graph = mlp.graph
    add, relu = (next(node.id for node in graph.ops if node.op == op) for op in ("add", "relu"))
    assert len(set(kernel_of(mlp, [add, relu]))) == 1
    cut = wb.cut(mlp, (add, relu))
    matmul = graph.inputs[add][0]
    kernels = kernel_of(cut, [matmul, add, relu])
    assert kernels[0] == kernels[1] is not None
    assert kernels[2] is None
    assert outputs(cut) == pytest.approx(outputs(mlp))
    assert made(mlp, cut.edits).graph == cut.graph


def test_a_kernel_by_hand_has_the_attribute_of_fuse_ops() -> None:
    legal = made(wb.samples.load("mlp"), "LegalizeOps,AnnotateTIROpPattern")
    assert '"Primitive": True' in made(legal, "FuseOps{fuse_opt_level=2}").text()
    assert '"Primitive": True' in wb.force(legal, [legal.graph.ops[-1].id]).text()


def test_a_cut_before_legalizing_lasts_through_the_compilers_pipeline() -> None:
    w = wb.samples.load("mlp")
    relu = next(node for node in w.graph.ops if node.op == "relax.nn.relu")
    cut = wb.cut(w, (w.graph.inputs[relu.id][0], relu.id))
    assert wb.kernels(cut).calls == wb.kernels(w).calls + 1
    assert wb.compare_outputs(w, cut).same


@pytest.mark.parametrize("seed", breadth(range(30), *range(6)))
def test_what_is_cut_in_a_random_program_is_apart_and_foretold(seed: int) -> None:
    random = Random(seed)
    w = wb.load(Program(random, 12).module())
    graph = w.graph
    # a field of a tuple that is written into a call is bound by nothing
    bound = Located(w.module).bindings
    edges = [e for e in graph.edges if e.source in bound and not legality.why_not(legality.cut, graph, [e])]
    if not edges:
        return
    edge = random.choice(edges)
    cut = wb.cut(w, edge)
    source, target = kernel_of(cut, [edge.source, edge.target])
    assert source is None or source != target
    assert len(wb.explain_fusion(cut.graph).kernels) == wb.trace(cut, FUSE).end.graph.kernel_count
    assert outputs(cut) == pytest.approx(outputs(w), rel=1e-4, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("seed", breadth(range(30), *range(6)))
def test_what_is_forced_in_a_random_program_is_one_kernel(seed: int) -> None:
    random = Random(seed)
    w = wb.load(Program(random, 12).module())
    graph = w.graph
    ops = [node.id for node in graph.ops]
    for _ in range(20):
        chosen = sorted(random.sample(ops, min(len(ops), random.randint(1, 3))))
        try:
            forced = wb.force(w, chosen)
        except IllegalEdit:
            continue
        groups = [g for g in forced.graph.groups if g.kind == "primitive"]
        assert len(groups) == 1
        assert [n.op for n in forced.graph.ops if n.group == groups[0].id] == [graph.nodes[i].op for i in chosen]
        assert outputs(forced) == pytest.approx(outputs(w), rel=1e-4, abs=1e-5, nan_ok=True)
        return


def test_a_forced_kernel_is_one_call_of_the_build(mlp: wb.Workload) -> None:
    graph = mlp.graph
    relus = [node.id for node in graph.ops if node.op == "relu"]
    cut = wb.cut(mlp, (graph.inputs[relus[0]][0], relus[0]))
    chain = [graph.inputs[graph.inputs[relus[0]][0]][0], graph.inputs[relus[0]][0], relus[0]]
    forced = wb.force(mlp, chain)
    assert wb.kernels(forced).calls == wb.kernels(mlp).calls == wb.kernels(cut).calls - 1
    assert [node.op for node in forced.graph.ops if node.group] == ["matmul", "add", "relu"]


def test_an_outlined_region_is_a_composite_or_a_compilers() -> None:
    w = wb.samples.load("mlp")
    chosen = [node.id for node in w.graph.ops][1:4]
    composite = wb.outline(w, chosen, "mine.dense")
    assert [(g.kind, g.attrs["Composite"]) for g in composite.graph.groups[1:]] == [("composite", "mine.dense")]
    assert wb.compare_outputs(w, composite).same
    external = wb.outline(w, chosen, "mine", "dnnl")
    assert [(g.kind, g.name) for g in external.graph.groups[1:]] == [("external", "mine")]
    with pytest.raises(PipelineError, match="has a function @mine already"):
        wb.outline(external, [node.id for node in external.graph.ops][-3:], "mine", "dnnl")


def test_a_region_of_several_results_gives_a_tuple() -> None:
    w = wb.samples.load("branches")
    graph = w.graph
    convs = [node.id for node in graph.ops if node.op == "relax.nn.conv2d"][:2]
    both = wb.outline(w, convs, "two")
    assert wb.compare_outputs(w, both).same
    assert len([n for n in both.graph.ops if both.graph.groups[n.group or 0].kind == "composite"]) == 2


def test_what_cannot_be_done_is_said(mlp: wb.Workload) -> None:
    w = wb.samples.load("mlp")
    ops = [node.id for node in w.graph.ops]
    with pytest.raises(IllegalEdit, match="run LegalizeOps,AnnotateTIROpPattern first"):
        wb.force(w, ops[1:3])
    with pytest.raises(IllegalEdit, match="leaves the selection through"):
        wb.outline(w, [ops[1], ops[3]], "gap")
    with pytest.raises(IllegalEdit, match="which is a param"):
        wb.cut(w, (0, ops[1]))
    step = wb.trace(mlp, "CutFusion{edges=[(8, 9)],ops=['conv2d', 'add']}").steps[0]
    assert "CutFusion was written for the nodes conv2d, add" in str(step.error)


def test_convolutions_of_one_tensor_are_combined_with_the_same_numbers() -> None:
    w = wb.samples.load("branches")
    step = wb.trace(w, "CombineParallelConv2D{min_num_branches=2}").steps[0]
    combined = made(w, "CombineParallelConv2D{min_num_branches=2}")
    assert [node.op for node in step.after.ops].count("relax.nn.conv2d") == 1
    assert wb.compare_outputs(w, combined).same
    assert not wb.trace(w, "CombineParallelConv2D{min_num_branches=9}").steps[0].changed
