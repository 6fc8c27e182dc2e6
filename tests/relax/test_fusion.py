"""The fusion mirror agrees with Relax's own FuseOps, on the samples and on random programs."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import tvm
from answers import PARTS, numbered
from breadth import random_seeds
from fusion_answers import RELAX, RELAX_SETTINGS, RelaxKernel, agree, kernel_of, relax_answer, relax_mirrored
from kernel_programs import Program, annotated
from merging_programs import Merging
from small_samples import TWO_LAYERS
from tvm import relax
from tvm.script import ir as script_ir
from tvm.script import relax as script_relax

import workbench as wb


def real(module: tvm.IRModule, opt_level: int, max_depth: int) -> list[RelaxKernel]:
    with tvm.transform.PassContext(config={"relax.FuseOps.max_depth": max_depth}):
        graph = wb.load(relax.transform.FuseOps(opt_level)(module)).graph
    held: dict[int | None, list[int]] = {}
    for node in filter(graph.is_work, graph.ops):
        held.setdefault(graph.kernel_of(node.id), []).append(node.id)
    alone = [kernel_of(graph, [node], node) for node in held.pop(None, [])]
    return alone + [kernel_of(graph, nodes, graph.groups[kernel].output) for kernel, nodes in held.items()]


def compare(modules: Any, tell: pytest.CaptureFixture[str]) -> None:
    graphs = comparisons = kernels = 0
    bad = []
    for name, module in modules:
        graphs += 1
        graph = wb.load(module).graph
        for settings in RELAX_SETTINGS:
            ours, theirs = relax_mirrored(graph, **settings), real(module, **settings)
            comparisons += 1
            kernels += len(theirs)
            if not agree(ours, theirs):
                bad.append((name, settings))
    tell(
        f"fusion mirror (Relax): {graphs} graphs, {comparisons} comparisons, {kernels} groups, {len(bad)} disagreements"
    )
    assert graphs
    assert not bad, bad[:5]


@pytest.mark.parametrize("sizes", [TWO_LAYERS, pytest.param({}, marks=pytest.mark.long)], ids=["small", "full"])
def test_every_sample(sizes, tell):
    samples = {name: wb.samples.load(name, **sizes.get(name, {})) for name in wb.samples.names("relax")}
    compare(((name, annotated(sample.module)) for name, sample in samples.items()), tell)


def test_random_programs(tell):
    """Without the record, which is of one TVM only."""
    compare(((seed, Program(Random(seed), 8).module()) for seed in range(4)), tell)


@PARTS
def test_recorded_fusion(part, tell):
    """The core lane compares the mirror with these answers."""

    def ask(seed):
        module = Program(Random(seed), 12).module()
        answers = [relax_answer(real(module, **settings)) for settings in RELAX_SETTINGS]
        return {"graph": wb.load(module).graph.to_data(), **numbered(answers)}

    tell(RELAX.asked_again(ask, part, 400))


def test_what_merging_leaves_is_an_alias_and_holds_what_it_names():
    casts = wb.samples.load("parallel_cast")
    merged = wb.trace(casts, "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern").result
    compare([("merged", merged)], lambda _: None)
    report = wb.explain_fusion(wb.load(merged))
    relu = next(node.id for node in report.graph.ops if node.op == "relu")
    assert report.decided(report.graph.inputs[relu][0]).code == "held"
    assert "CanonicalizeBindings" in report.decided(report.graph.inputs[relu][0]).sentence
    tidy = wb.trace(wb.load(merged), "CanonicalizeBindings").end.graph
    assert len(wb.explain_fusion(tidy).kernels) < len(report.kernels)


def test_before_AnnotateTIROpPattern_nothing_has_a_kind():  # noqa: N802  the pass is called so
    module = relax.transform.LegalizeOps()(wb.samples.load("mlp").module)
    report = wb.explain_fusion(wb.load(module))
    assert all(len(group.ops) == 1 for group in report.kernels)
    assert {report.decided(node.id).code for node in report.graph.ops} == {"unannotated"}
    assert "AnnotateTIROpPattern" in report.decided(report.kernels[0].root).sentence


@relax.expr_functor.mutator
class Gradients(relax.PyExprMutator):
    """Writes `call_tir_with_grad` in the place of the calls of one PrimFunc."""

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if call.op.name != "relax.call_tir" or call.args[0].name_hint != "relu":
            return call
        return relax.op.call_tir_with_grad(call.args[0], call.args[1], call.ty_args[0], te_grad_name="gradient")


@pytest.mark.parametrize("settings", RELAX_SETTINGS[-3:])
def test_call_tir_with_grad_is_opaque(settings: dict[str, int]) -> None:
    module = annotated(wb.samples.load("chain", length=6).module)
    rewriter = Gradients(module)
    module.update_func(module.get_global_var("main"), rewriter.visit_expr(module["main"]))
    graph = wb.load(module).graph
    assert any(node.attrs.get("called_by") == "relax.call_tir_with_grad" for node in graph.nodes)
    assert agree(relax_mirrored(graph, **settings), real(module, **settings))


def outcome(module: tvm.IRModule, settings: dict[str, int]) -> list[RelaxKernel] | None:
    """Return the real pass's kernels, None where it raises."""
    try:
        return real(module, **settings)
    except tvm.error.InternalError:
        return None


@random_seeds(range(4), 50)
def test_arms_and_local_functions(seeds: range, tell: Any) -> None:
    fails = 0
    for seed in seeds:
        passes = relax.transform
        before = [passes.DecomposeOpsForInference(), passes.LegalizeOps(), passes.AnnotateTIROpPattern()]
        if seed % 3:
            before.insert(0, passes.DeadCodeElimination())
        module = tvm.transform.Sequential(before)(Merging(seed).module())
        graph, settings = wb.load(module).graph, RELAX_SETTINGS[seed % len(RELAX_SETTINGS)]
        theirs, report = outcome(module, settings), wb.explain_fusion(graph, **settings)
        assert bool(report.failure) == (theirs is None), seed
        fails += theirs is None
        assert theirs is None or agree(relax_mirrored(graph, **settings), theirs), seed
    tell(f"fusion mirror (Relax): {len(seeds)} programs with `if` and local functions, 0 disagreements, {fails} raise")
    assert fails


def test_shared_variable_makes_the_pass_raise():
    module = annotated(wb.samples.load("chain", length=3).module)
    module["other"] = module["main"].with_attr("global_symbol", "other")
    assert outcome(module, {"opt_level": 2, "max_depth": 256}) is None
    failure = wb.explain_fusion(wb.load(module)).failure
    assert "share the variable" in failure
    assert "@main and @other" in failure or "@other and @main" in failure


@pytest.mark.parametrize(("apart", "fails"), [("R.cumsum(b, axis=1)", True), ("R.exp(b)", False)])
def test_local_function_in_a_dataflow_block(apart: str, fails: bool) -> None:
    text = f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            @R.function
            def f(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
                with R.dataflow():
                    q = R.exp(p)
                    R.output(q)
                return q
            c = {apart}
            d = R.negative(c)
            e = R.negative(d)
            g = f(e)
            R.output(g)
        return g
"""
    module = annotated(tvm.script.from_source(text, extra_vars={"I": script_ir, "R": script_relax}))
    report = wb.explain_fusion(wb.load(module))
    assert ("local function f" in report.failure) == fails
    assert (outcome(module, {"opt_level": 2, "max_depth": 256}) is None) == fails


def test_direct_call_of_a_kernel_is_opaque():
    lowered = relax.transform.CallTIRRewrite()(annotated(wb.samples.load("chain", length=3).module))
    graph = wb.load(lowered).graph
    called = [node for node in graph.ops if not node.op.startswith("relax.")]
    assert called
    assert {wb.explain_fusion(graph).decided(node.id).code for node in called} == {"opaque"}
    assert agree(relax_mirrored(graph), real(lowered, 2, 256))
