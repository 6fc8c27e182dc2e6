"""The questions people asked, end to end: how many kernels, what flows between them, what folds."""

from __future__ import annotations

import workbench as wb


def test_two_casts_without_common_subexpressions_are_five_and_the_finder_says_three():
    w = wb.samples.load("parallel_cast")
    assert wb.kernels(w, disabled=["EliminateCommonSubexpr"]).calls == 5
    (group,) = [g for g in wb.parallel_branches(w.graph) if g.kind == "identical"]
    assert (group.passes, group.change.kernels) == ("EliminateCommonSubexpr", -2)


def test_the_fused_form_is_merged_by_the_pass_that_the_finder_names():
    fused = wb.trace(wb.samples.load("parallel_cast"), "FuseOps{fuse_opt_level=2}")
    (group,) = wb.parallel_branches(fused.end.graph)
    assert group.passes == "MergeIdenticalKernels"
    before = wb.load(fused.result)
    after = wb.trace(before, group.passes).end.graph
    assert after.kernel_count - fused.end.graph.kernel_count == group.change.kernels == -2
    (first,) = [g for g in after.groups if g.kind == "primitive" and after.nodes[g.output].op == "nn.relu"]
    assert after.nodes[first.output].type == "Tensor[(1, 16), int8]"


def test_two_adds_behind_a_convolution_fold_into_one():
    w = wb.samples.load("conv_bias_batch_norm")
    folded = wb.trace(w, "BindParams,SimplifyInference,CanonicalizeOps,FoldScaleAxis")
    (chain,) = [c for c in wb.constant_chains(folded.end.graph) if c.folds]
    ops = [folded.end.graph.nodes[n].op for n in chain.nodes]
    assert (ops, chain.left, chain.safe) == (["add", "add"], 1, True)
    assert chain.passes.endswith("SimplifyExpr,FoldConstant")
    after = wb.trace(wb.load(folded.result), chain.passes)
    assert [n.op for n in after.end.graph.ops].count("add") == 1
    assert wb.compare_outputs(w, wb.load(after.result))


def test_the_attention_has_fifty_kernels_unfused_and_ten_fused_and_its_region_is_one_composite():
    w = wb.samples.load("attention", seq=8)
    graph = w.graph
    # SimplifyExpr makes one of two multiplies, also where the compiler is at level 0
    assert graph.kernel_count == 51
    assert sum(len(c.nodes) - c.left for c in wb.constant_chains(graph)) == 1
    assert wb.trace(w, "SimplifyExpr,FoldConstant,FuseOps{fuse_opt_level=0}").end.graph.kernel_count == 50
    assert wb.trace(w, "FuseOps{fuse_opt_level=2}").end.graph.kernel_count == 10
    start = next(n.id for n in graph.nodes if n.op == "split")
    end = max(n.id for n in graph.nodes if n.op == "transpose")
    outlined = wb.outline(w, wb.regions(graph).between(start, end).nodes, "multi_head_attention")
    composites = [g for g in outlined.graph.groups if g.kind == "composite"]
    assert [g.name for g in composites] == ["multi_head_attention"]
    inside = outlined.graph.members[composites[0].id]
    assert sum(outlined.graph.nodes[n].op == "transpose" for n in inside) == 5
    # written out again it is what it was
    back = wb.load(wb.trace(outlined, "DefuseOps").result)
    assert wb.compare_outputs(w, back)
