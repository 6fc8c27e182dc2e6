"""The finder against TVM: what it calls combinable the pass combines, level for level, and it combines nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
import tvm
from branch_programs import Program
from breadth import breadth, random_seeds
from combined import operators_left
from small_samples import TWO_LAYERS
from tvm import relay

import workbench as wb
from workbench.analysis.branches import parallel_branches

COMBINERS = {
    "CombineParallelConv2D": (relay.transform.CombineParallelConv2D, {}),
    "CombineParallelDense": (relay.transform.CombineParallelDense, {}),
    "CombineParallelDense,to_batch=False": (relay.transform.CombineParallelDense, {"to_batch": False}),
    "CombineParallelBatchMatmul": (relay.transform.CombineParallelBatchMatmul, {}),
}


@dataclass
class Tally:
    programs: int = 0
    runs: int = 0
    changed: int = 0
    groups: Counter = field(default_factory=Counter)
    hazards: int = 0

    def __str__(self) -> str:
        merged = ", ".join(f"{count} {name}" for name, count in sorted(self.groups.items()))
        return (
            f"{self.programs} programs, {self.runs} runs of a pass compared, {self.changed} of them changed the program, "
            f"0 disagreements; groups: {merged}; {self.hazards} runs not made, as a hazard was predicted"
        )


GLUE = ("concatenate", "strided_slice", "stack", "split", "squeeze", "expand_dims", "repeat")
"operators that combiners put around the combined ones"


def calls(graph):
    return Counter((node.op, node.type) for node in graph.ops)


def after(module, made):
    with tvm.transform.PassContext(opt_level=4):
        return tvm.transform.Sequential([relay.transform.InferType(), made, relay.transform.InferType()])(module)


def agree(w, tally, least, *, asks=True):
    """Compare the groups with the result of each pass, by operators and types; `asks` for the outcome of each group too."""
    graph = w.graph
    groups = parallel_branches(graph, least)
    tally.programs += 1
    for name, (make, options) in COMBINERS.items():
        text = ",".join([f"{name.partition(',')[0]}{{min_num_branches={least}", *name.split(",")[1:]]) + "}"
        mine = [group for group in groups if group.passes == text]
        if any(group.kind == "hazard" or group.hazards for group in mine) or unlisted_crash(graph, name):
            tally.hazards += 1
            continue
        made = [group for group in mine if group.kind == "combinable"]
        assert not asks or not [str(group) for group in mine if group.outcome.contradicts]
        real = wb.load(after(w.module, make(least, **options))).graph
        if made:
            assert computed_alike(graph, real, made), name
        else:
            assert calls(graph) == calls(real), name
        count(tally, name, made)
    equal = [g for g in groups if g.passes == "EliminateCommonSubexpr" and g.kind == "identical"]
    real = wb.load(after(w.module, relay.transform.EliminateCommonSubexpr())).graph
    check_equal(graph, real, equal)
    assert not asks or all(group.outcome.sentence == "merged as stated" for group in equal)
    count(tally, "EliminateCommonSubexpr", equal)


def unlisted_crash(graph, name):
    """Whether an operator that TVM raises on follows a lone call, which is in no group."""
    op = {"C": "nn.conv2d", "D": "nn.dense", "B": "nn.batch_matmul"}[name.removeprefix("CombineParallel")[0]]
    return any(node.op == op for node in graph.ops) and any(node.pattern is None for node in graph.ops)


def computed_alike(graph, real, groups):
    """Return whether the pass leaves each operator as often as the groups have it, and every end of a branch with its type."""
    ends = Counter(graph.nodes[branch[-1]].type for group in groups for branch in group.branches)
    types = Counter(node.type for node in real.nodes)
    ops = Counter(node.op for node in real.ops if node.op not in GLUE)
    batched = {"nn.dense": "nn.batch_matmul"} if "to_batch" not in groups[0].passes else {}
    return operators_left(graph, groups, GLUE, batched) == ops and ends <= types


def check_equal(graph, real, groups):
    removed = (graph.nodes[node] for group in groups for branch in group.branches[1:] for node in branch)
    assert calls(graph) - Counter((node.op, node.type) for node in removed) == calls(real)


def count(tally, name, groups):
    tally.runs += 1
    tally.changed += bool(groups)
    tally.groups[name.partition("{")[0]] += len(groups)


@pytest.mark.parametrize("least", breadth([2, 3], 2))
def test_over_all_samples(least, tell):
    tally = Tally()
    for name, options in TWO_LAYERS.items():
        sample = wb.samples.load(name, **options)
        agree(sample, tally, least)
        simplified = wb.trace(sample, "SimplifyInference").steps[0]
        if simplified.changed:
            agree(wb.Workload(simplified.state_after.module, sample.params, name, "relay"), tally, least)
    tell(f"branches, samples, at least {least}: {tally}")


@random_seeds(range(20), 400)
def test_over_random_programs(seeds, tell):
    every = 3 if len(seeds) < 30 else 11  # an outcome takes a child process
    tally = Tally()
    for seed in seeds:
        agree(wb.load(Program(seed).module()), tally, 2 + (seed % 4 == 0), asks=seed % every == 0)
    tell(f"branches, random: {tally}")
    assert all(tally.groups[name] > len(seeds) / 100 for name in (*COMBINERS, "EliminateCommonSubexpr"))


@random_seeds(range(20, 22), 25)
def test_outputs_are_kept_where_no_hazard_is_predicted(seeds, tell):
    """Compare the outputs before and after the pass, for groups without a predicted hazard."""
    compared = 0
    for seed in seeds:
        w = wb.load(Program(seed).module())
        for group in parallel_branches(w.graph):
            if group.kind in ("combinable", "identical"):
                trace = wb.trace(w, group.passes, opt_level=4)
                assert trace.steps[0].changed, group
                assert wb.compare_outputs(w, wb.load(trace.result)), (seed, str(group))
                compared += 1
                break
    tell(f"branches, outputs: {compared} programs give the same after the pass as before")
    assert compared > len(seeds) / 3


def test_wide_dense_joins_the_last_axis_where_a_bias_adds_one_in_front() -> None:
    x = relay.var("x", shape=(2, 4))
    weights = [relay.var(f"w{n}", shape=(n, 4)) for n in (8, 6)]
    biases = [relay.var(f"b{n}", shape=(3, 1, n)) for n in (8, 6)]
    sums = [relay.add(relay.nn.dense(x, w), b) for w, b in zip(weights, biases, strict=True)]
    given = wb.load(tvm.IRModule.from_expr(relay.Function([x, *weights, *biases], relay.Tuple(sums))))
    group = next(g for g in wb.parallel_branches(given) if g.kind == "combinable")
    trace = wb.trace(given, group.passes, opt_level=4)
    after = trace.end.graph
    assert group.change.ops == len(after.ops) - len(given.graph.ops)
    assert [(n.op, n.type) for n in after.ops if n.op in ("nn.dense", "add")] == [
        ("nn.dense", "Tensor[(2, 14), float32]"),
        ("add", "Tensor[(3, 2, 14), float32]"),
    ]
    assert wb.compare_outputs(given, wb.load(trace.result))


def beside_effects(writes: int, *, dead: bool) -> wb.Workload:
    """Two equal chains whose values go into references, and code that nothing uses."""
    x = relay.var("x", shape=(2, 8))
    box, first, second = relay.var("box"), relay.var("first"), relay.var("second")
    ends = [relay.exp(relay.nn.relu(x)) for _ in range(2)]
    body = relay.Tuple([first, second, relay.RefRead(box)])
    for _ in range(writes):
        body = relay.Let(relay.var("_"), relay.RefWrite(box, relay.tanh(x)), body)
    if dead:
        body = relay.Let(relay.var("unused"), relay.sigmoid(x), body)
    for variable, value in ((second, ends[1]), (first, ends[0]), (box, relay.RefCreate(x))):
        body = relay.Let(variable, value, body)
    return wb.load(tvm.IRModule.from_expr(relay.Function([x], body)))


@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize("writes", [0, 1, 3])
def test_change_counts_operators_beside_effects(writes: int, *, dead: bool) -> None:
    w = beside_effects(writes, dead=dead)
    groups = [g for g in parallel_branches(w) if g.passes == "EliminateCommonSubexpr" and g.kind == "identical"]
    real = wb.load(after(w.module, relay.transform.EliminateCommonSubexpr())).graph
    assert {group.change.ops for group in groups} == {len(real.ops) - len(w.graph.ops)}
    check_equal(w.graph, real, groups)


def test_change_counts_operators_of_a_combiner_beside_effects() -> None:
    x, box = relay.var("x", shape=(2, 4)), relay.var("box")
    weights = [relay.var(f"w{n}", shape=(n, 4)) for n in (8, 6)]
    products = [relay.nn.dense(x, w) for w in weights]
    body = relay.Let(relay.var("_"), relay.RefWrite(box, relay.tanh(x)), relay.Tuple(products))
    given = wb.load(tvm.IRModule.from_expr(relay.Function([x, *weights], relay.Let(box, relay.RefCreate(x), body))))
    for group in parallel_branches(given):
        if group.kind == "combinable":
            trace = wb.trace(given, group.passes, opt_level=4)
            assert group.change.ops == len(trace.end.graph.ops) - len(given.graph.ops)


DENSE = """def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32], %v: Tensor[(8, 8), float32]) {{
  (expand_dims(nn.dense(%x, %w, units=8), axis={axis}), expand_dims(nn.dense(%x, %v, units=8), axis={axis}))
}}"""
LONE = """def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], %g: Tensor[(4), float32]) {
  nn.instance_norm(nn.conv2d(%x, %w, kernel_size=[3, 3], channels=4), %g, %g)
}"""


@pytest.mark.parametrize(("text", "dangerous"), [(LONE, 1), (DENSE.format(axis=0), 1), (DENSE.format(axis=-1), 0)])
def test_hazards_are_those_of_tvm(text, dangerous):
    groups = [group for group in wb.parallel_branches(wb.load(text)) if group.passes.startswith("CombineParallel")]
    hazards = [group for group in groups if group.kind == "hazard"]
    assert len(hazards) == dangerous
    for group in groups:
        assert (group.outcome.status == "failed") == (group in hazards)
