"""The branch groups of Relax against TVM: the pass joins the groups that are called combinable, and computes the rest as before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
import tvm
from breadth import random_seeds
from combined import operators_left
from parallel_programs import Convolutions, Program
from small_samples import TWO_LAYERS
from tvm import relax

import workbench as wb
from workbench.analysis.branches.report import fused
from workbench.dialects.relax.compat import name_of

MATMUL = "CombineParallelMatmul"
RARE = (0.0, 0.04, 0.15)


WRONG = ("out-dtype", "bias-rank", "bias-width")
GLUE = ("relax.concat", "relax.split")


@dataclass
class Tally:
    programs: int = 0
    groups: int = 0
    tied: int = 0
    raised: Counter = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.programs} programs, {self.groups} groups, 0 disagreements; in {self.tied} groups the order depends on "
            f"addresses; raised as predicted: {dict(self.raised)}"
        )


def run(module):
    """The pass's result, and what it asked its check about: (first factor, second factors)."""
    asked = []

    def check(left, right, *_):
        asked.append((name_of(left), tuple(map(name_of, right))))
        return True

    return relax.transform.CombineParallelMatmul(check)(module), asked


def operators(graph):
    return Counter(node.op for node in graph.ops)


def without_glue(found):
    return Counter({op: count for op, count in found.items() if op not in GLUE})


def named(graph, group):
    """A group by the names that TVM asks with."""

    def name(node):
        return graph.nodes[node].name or graph.nodes[node].op

    return name(group.producer), tuple(sorted(name(graph.inputs[branch[0]][1]) for branch in group.branches))


def agree(module, tally):
    """The pass joins the groups that are called combinable, no others; it raises where a hazard is predicted, and only there."""
    graph = wb.load(module).graph
    groups = [group for group in wb.parallel_branches(graph) if group.passes == MATMUL]
    made = [group for group in groups if group.kind == "combinable"]
    hazards = [group for group in groups if group.kind == "hazard"]
    codes = {hazard.code for group in hazards for hazard in group.hazards} - {"fails-elsewhere"}
    assert all(group.reasons for group in groups if group.kind == "near")
    assert "raises" not in codes, [hazard.sentence for group in hazards for hazard in group.hazards]
    assert not (made and hazards)
    tally.programs += 1
    try:
        result, asked = run(module)
    except Exception:  # noqa: BLE001  TVM raises errors of many classes here, RuntimeError with no text among them
        assert codes, "TVM raises, and no hazard is predicted"
        tally.raised.update(codes)
        return None
    if codes:
        # the pass checks nothing: here it gave something, of other shapes or values than before
        assert codes <= set(WRONG)
        return None
    tally.groups += len(made)
    tally.tied += sum("order-by-address" in group.codes for group in made)
    # factors that the pass made itself in a first round have names that the program lacks
    if len(asked) == len(made):
        assert sorted((left, tuple(sorted(right))) for left, right in asked) == sorted(named(graph, g) for g in made)
        return result, graph, made
    return None


@random_seeds(range(20), 500)
def test_over_random_programs(seeds, tell):
    tally, compared = Tally(), 0
    for seed in seeds:
        program = Program(seed, RARE[seed % 3]).module()
        agree(program, tally)
        # the pass merges equal bindings and drops dead ones too
        found = agree(tidy(program), Tally())
        if found is not None and not any(each.kind == "identical" for each in wb.parallel_branches(found[1])):
            result, graph, made = found
            assert operators_left(graph, made, GLUE) == without_glue(operators(wb.load(tidy(result)).graph)), seed
            compared += 1
    tell(f"Relax branches, random: {tally}; operators compared in {compared}")
    assert tally.groups > len(seeds) / 4
    assert tally.raised
    assert compared > len(seeds) / 3


@pytest.mark.parametrize("name", TWO_LAYERS)
def test_over_samples(name):
    tally = Tally()
    agree(wb.samples.load(name, dialect="relax", **TWO_LAYERS[name]).module, tally)
    assert tally.groups == (2 if name == "bert" else 0)


def test_the_samples_branches_are_found_and_our_pass_combines_them():
    w = wb.samples.load("branches", dialect="relax", image=8)
    (group,) = wb.parallel_branches(w.graph)
    assert (group.kind, group.passes, len(group.branches)) == (
        "combinable",
        "CombineParallelConv2D{min_num_branches=2}",
        3,
    )
    trace = wb.trace(w, group.passes)
    after = wb.Workload(trace.result, w.params, w.name, "relax")
    assert without_glue(operators(after.graph)) == operators_left(w.graph, [group], GLUE)
    assert group.change.ops == len(after.graph.ops) - len(w.graph.ops)
    assert wb.compare_outputs(w, after)


def test_a_saved_graph_keeps_the_answer_that_was_there():
    module = Program(0, 0).module()
    graph = wb.load(module).graph
    (untried, *_) = wb.parallel_branches(wb.Graph.from_json(graph.to_json()))
    assert (untried.kind, untried.codes) == ("near", ("not-tried",))
    groups = wb.parallel_branches(graph)
    again = wb.parallel_branches(wb.Graph.from_json(graph.to_json()))
    assert [(g.kind, g.branches, g.reasons) for g in again] == [(g.kind, g.branches, g.reasons) for g in groups]
    assert again[0].cost == "not tried: needs TVM and the module; give the workload, not its graph"


def test_a_text_that_the_child_reads_has_the_answer_and_its_cost():
    w = wb.load(wb.load(Program(0, 0).module()).text())
    group = next(g for g in wb.parallel_branches(w) if g.passes == MATMUL)
    assert group.kind == "combinable"
    assert group.change.ops == len(wb.load(wb.trace(w, MATMUL).result).graph.ops) - len(w.graph.ops)


def test_outputs_are_kept_where_no_hazard_is_predicted():
    w = wb.load(Program(0, 0).module())
    assert any(group.passes == MATMUL and group.kind == "combinable" for group in wb.parallel_branches(w.graph))
    assert wb.compare_outputs(w, wb.load(wb.trace(w, MATMUL).result))


def tidy(module):
    """Programs in which tidying up after the pass changes nothing else."""
    made = relax.transform.DeadCodeElimination()(relax.transform.EliminateCommonSubexpr()(module))
    return relax.transform.CanonicalizeBindings()(made)


def lowered(module, *more):
    """The graph as FuseOps sees it, or after more passes."""
    steps = ("LegalizeOps", "AnnotateTIROpPattern", *more)
    with tvm.transform.PassContext(opt_level=2):
        return wb.load(tvm.transform.Sequential([getattr(relax.transform, step)() for step in steps])(module)).graph


def kernels(module):
    """How many kernels FuseOps leaves."""
    graph = lowered(module, "FuseOps")
    alone = [node for node in graph.ops if graph.kernel_of(node.id) is None]
    return len(alone) + sum(group.kind == "primitive" for group in graph.groups)


@random_seeds(range(6), 60)
def test_what_combining_changes_is_what_tvm_makes_of_it(seeds, tell):
    compared = 0
    for seed in seeds:
        w = wb.load(tidy(Program(seed, 0).module()))
        graph = w.graph
        groups = [g for g in wb.parallel_branches(graph) if g.passes == MATMUL and g.kind == "combinable"]
        if len(groups) == 1 and "order-by-address" not in groups[0].codes:
            result, _ = run(w.module)
            for module in (w.module, result):
                assert fused(lowered(module), ())[0] == kernels(module), seed
            assert groups[0].change.ops == len(wb.load(result).graph.ops) - len(graph.ops), seed
            assert groups[0].change.kernels is not None, seed
            compared += 1
    tell(f"Relax branches: operators and kernels as predicted in {compared} programs that one group is combined in")
    assert compared > len(seeds) / 5


@random_seeds(range(12), 400)
def test_equal_branches_are_those_that_tvm_merges(seeds, tell):
    found = 0
    for seed in seeds:
        w = wb.load(relax.transform.DeadCodeElimination()(Program(seed, 0.3).module()))
        graph = w.graph
        groups = [
            g for g in wb.parallel_branches(graph) if g.passes == "EliminateCommonSubexpr" and g.kind == "identical"
        ]
        real = wb.load(tidy(w.module)).graph
        removed = (graph.nodes[node] for group in groups for branch in group.branches[1:] for node in branch)
        assert operators(graph) - Counter(node.op for node in removed if node.kind == "op") == operators(real), seed
        assert all(group.outcome.sentence == "merged as stated" for group in groups), seed
        found += len(groups)
    tell(f"Relax branches: {found} sets of equal ones in {len(seeds)} programs, as EliminateCommonSubexpr merges them")
    assert found


@random_seeds(range(10), 400)
def test_convolutions_are_combined_as_predicted(seeds, tell):
    count = 0
    for seed in seeds:
        w = wb.load(relax.transform.DeadCodeElimination()(Convolutions(seed).module()))
        graph, least = w.graph, 2 + seed % 2
        groups = [g for g in wb.parallel_branches(graph, least) if g.passes.startswith("CombineParallelConv2D")]
        made = [group for group in groups if group.kind == "combinable"]
        trace = wb.trace(w, f"CombineParallelConv2D{{min_num_branches={least}}}")
        real = operators(wb.load(trace.result).graph)
        assert without_glue(real) == operators_left(graph, made, GLUE), seed
        assert real["relax.concat"] - operators(graph)["relax.concat"] == len(made)
        assert all(group.reasons for group in groups if group.kind == "near")
        count += len(made)
    tell(
        f"Relax branches: {count} groups of convolutions in {len(seeds)} programs, as our CombineParallelConv2D makes them"
    )
    assert count > len(seeds) / 5
