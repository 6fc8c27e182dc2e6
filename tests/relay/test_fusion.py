"""The fusion mirror agrees with TVM's own FuseOps: on the samples, on directed programs and on random ones."""

from __future__ import annotations

from random import Random

import pytest
import tvm
from answers import PARTS, numbered
from fusion_answers import RELAY, RELAY_SETTINGS, kernels_of, mirrored, relay_answer
from fusion_programs import Program, marked, real
from small_samples import TWO_LAYERS
from tvm import relay

import workbench as wb


class Tally:
    """Compares, and counts what was compared."""

    def __init__(self) -> None:
        self.graphs = self.comparisons = self.kernels = self.failures = 0
        self.bad: list[tuple[object, dict]] = []

    def compare(self, name: object, module: tvm.IRModule) -> None:
        self.graphs += 1
        graph = wb.load(module).graph
        for chosen in RELAY_SETTINGS:
            ours, failure = mirrored(graph, **chosen)
            theirs, error = really(module, chosen)
            self.comparisons += 1
            self.kernels += len(theirs)
            self.failures += bool(error)
            if bool(failure) != bool(error) or (not failure and ours != theirs):
                self.bad.append((name, chosen))

    def __str__(self) -> str:
        return (
            f"fusion mirror: {self.graphs} graphs, {self.comparisons} comparisons, {self.kernels} groups, "
            f"{self.failures} where the real pass fails, {len(self.bad)} disagreements"
        )


def really(module: tvm.IRModule, settings: dict[str, object]) -> tuple[set, str]:
    """Return the real pass's kernels, or its error, at the settings of the mirror."""
    most = settings.get("max_function_args")
    return real(module, **{"target": f"opencl -max_function_args={most}"} if most else settings)


@pytest.mark.parametrize(
    ("sizes", "least"), [(TWO_LAYERS, 2000), pytest.param({}, 5000, marks=pytest.mark.long)], ids=["small", "full"]
)
def test_every_sample_at_every_setting(sizes, least, tell):
    tally = Tally()
    for name in wb.samples.names("relay"):
        module = relay.transform.SimplifyInference()(wb.samples.load(name, **sizes.get(name, {})).module)
        tally.compare(name, marked(module))
    assert tally.kernels > least
    tell(tally)
    assert not tally.bad, tally.bad[:5]


@PARTS
def test_recorded_fusion(part, tell):
    """The core lane compares the mirror with these answers."""

    def ask(seed):
        module = Program(Random(seed), 10 if seed % 5 else 30).module()
        answers = [relay_answer(*really(module, settings)) for settings in RELAY_SETTINGS]
        return {"graph": wb.load(module).graph.to_data(), **numbered(answers)}

    tell(RELAY.asked_again(ask, part, 400))


# -- where the real pass fails


def test_an_operator_without_a_pattern_is_named_before_anyone_runs_the_pass():
    x, gamma, beta = relay.var("x", shape=(2, 8)), relay.var("g", shape=(8,)), relay.var("b", shape=(8,))
    w = wb.load(relay.Function([x, gamma, beta], relay.nn.layer_norm(relay.exp(x), gamma, beta)))
    _, error = real(w.module)
    assert error
    report = wb.explain_fusion(w)
    assert "nn.layer_norm" in report.failure
    assert "SimplifyInference" in report.failure
    simplified = wb.trace(w, "SimplifyInference").steps[-1].after
    assert wb.explain_fusion(simplified).failure == ""


# -- programs of one idea each

X = relay.TensorType((4, 8), "float32")


def compared(*params_and_body, **settings):
    """The mirror's kernels, by operator, after checking that they are TVM's."""
    *params, body = params_and_body
    w = wb.load(relay.Function(params, body))
    fused = wb.load(relay.transform.FuseOps(settings.get("opt_level", 2))(w.module)).graph
    held = {}
    for node in fused.nodes:
        if (kernel := fused.kernel_of(node.id)) is not None and node.kind == "op":
            held.setdefault(kernel, []).append(node.op)
    report = wb.explain_fusion(w, **settings)
    ours = sorted(group.ops for group in report.kernels)
    assert sorted(map(sorted, ours)) == sorted(map(sorted, held.values()))
    return {"+".join(ops) for ops in ours}


def test_a_scalar_that_two_kernels_read_is_passed_to_both():
    x, one = relay.Var("x", X), relay.const(1.0)
    body = relay.add(relay.nn.softmax(relay.add(x, one)), one)
    graph = wb.load(relay.Function([x], body)).graph
    assert [n.op for n in graph.nodes if n.kind == "constant"] == ["1f"]
    assert mirrored(graph) == real(wb.load(relay.Function([x], body)).module)
    two = relay.add(relay.nn.softmax(relay.add(x, relay.const(1.0))), relay.const(1.0))
    graph = wb.load(relay.Function([x], two)).graph
    assert [n.op for n in graph.nodes if n.kind == "constant"] == ["1f", "1f"]
    assert kernels_of(graph, [g.nodes for g in wb.explain_fusion(graph).kernels]) == mirrored(graph)[0]


def test_a_value_captured_by_a_closure_moves_into_it():
    x, p = relay.Var("x", X), relay.Var("p", X)
    function = relay.Var("f")
    body = relay.Let(function, relay.Function([p], relay.add(p, relay.exp(x))), relay.Call(function, [x]))
    assert compared(x, body) == {"exp+add"}


def test_a_kernel_that_is_there_already_stays_as_it_is():
    x, p = relay.Var("x", X), relay.Var("p", X)
    made = relay.Function([p], relay.tanh(p)).with_attr("Primitive", tvm.tir.IntImm("int32", 1))
    assert compared(x, relay.exp(relay.Call(made, [relay.exp(x)]))) == {"exp", "tanh"}


def test_stop_fusion_is_no_kernel():
    x = relay.Var("x", X)
    assert compared(x, relay.exp(relay.annotation.stop_fusion(relay.tanh(x)))) == {"exp", "tanh"}


def test_a_graph_that_is_fused_already_reports_its_kernels():
    w = wb.samples.load("mlp")
    fused = wb.trace(w, "SimplifyInference,FuseOps").steps[-1].after
    report = wb.explain_fusion(fused)
    assert len(report.kernels) == fused.kernel_count
    assert all(group.given for group in report.kernels)
    assert {d.code for d in report.decisions if d.phase is None} == {"kernel"}


def test_dynamic_data_dependent_operators_are_opaque():
    stop = relay.Var("n", relay.TensorType((), "int32"))
    full = relay.arange(relay.const(0), stop, relay.const(1), "int32")
    shaped = relay.Var("s", relay.TensorType((2,), "int64"))
    x = relay.Var("x", X)
    graph = wb.load(relay.Function([x, stop, shaped], relay.Tuple([relay.reshape(x, shaped), full]))).graph
    assert {n.op: n.pattern for n in graph.ops} == {"dyn.reshape": 8, "arange": 8}


def test_the_groups_of_bert_hold_each_node_once():
    w = wb.samples.load("bert")
    steps = wb.trace(w, "SimplifyInference,FuseOps").steps
    report = wb.explain_fusion(steps[0].after)
    assert len(report.kernels) == steps[1].after.kernel_count
    assert sorted(n for group in report.groups for n in group.nodes) == list(range(len(steps[0].after.nodes)))
    assert all(report.group_of(n) is group for group in report.groups for n in group.nodes)


def test_the_mask_is_what_enters_the_region_of_the_attention_between_split_and_the_last_transpose():
    graph = wb.samples.load("attention").graph
    op = {node.op: node.id for node in graph.ops}
    region = wb.regions(graph).between(op["split"], op["transpose"])
    assert region is not None
    assert not region.single_entry
    assert [(graph.nodes[e.source].op, graph.nodes[e.target].op) for e in region.inputs] == [("multiply", "add")]
    assert [graph.nodes[n].op for n in region.nodes].count("transpose") == 5
    assert len(wb.explain_fusion(graph).kernels) == 10


def test_two_complex_operators_that_a_merge_put_off_would_join_end_the_pass_and_the_mirror_says_so():
    x, weight = relay.Var("x", X), relay.var("w", shape=(8, 8))
    late = relay.nn.dense(relay.cumsum(x, axis=1), relay.cumsum(weight, axis=1))
    early = relay.nn.dense(x, weight)
    last = relay.add(relay.add(late, early), early)
    module = marked(tvm.IRModule.from_expr(relay.Function([x, weight], last)))
    _, error = real(module, target="opencl -max_function_args=16")
    assert "anchor_ref == nullptr" in error
    report = wb.explain_fusion(wb.load(module), max_function_args=16)
    assert "max_function_args" in report.failure
    assert wb.explain_fusion(wb.load(module)).failure == ""


def test_null_compiler_is_no_compiler():
    """As InlineCompilerFunctions leaves it: TVM's FuseOps fuses inside."""
    x, y = relay.var("x", shape=(4, 8)), relay.var("y", shape=(4, 8))
    inner = relay.Function([y], relay.nn.relu(relay.exp(y))).with_attr("Compiler", None)
    workload = wb.load(relay.Function([x], relay.Call(inner, [x])))
    assert [kernel.ops for kernel in wb.explain_fusion(workload).kernels if not kernel.given] == [("exp", "nn.relu")]
    assert all(group.kind == "function" for group in workload.graph.groups)


def test_defuse_ops_refuses_what_would_end_the_process():
    text = """def @main(%x: Tensor[(2, 3), float32]) {
      %1 = fn (%z: Tensor[(2, 3), float32]) { fn (%y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { add(%z, %y) } };
      %2 = %1(%x);
      %2(%x)
    }"""
    (step,) = wb.trace(wb.load(text), "DefuseOps").steps
    assert "DefuseOps loses the variable y" in step.error


def test_defuse_ops_opens_functions_in_functions():
    """As a composite is in an offloaded function."""
    x, y, z = (relay.var(name, shape=(2, 3)) for name in "xyz")
    inner = relay.Function([z], relay.nn.relu(relay.exp(z)))
    outer = relay.Function([y], relay.Call(inner, [y]))
    trace = wb.trace(wb.load(relay.Function([x], relay.Call(outer, [x]))), "DefuseOps")
    assert [(node.op, len(trace.end.graph.groups)) for node in trace.end.graph.ops] == [("exp", 1), ("nn.relu", 1)]
