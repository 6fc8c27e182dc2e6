"""The fusion mirror's reports on graphs made by hand: groups, reasons, cards, changes, assertions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import WIDE, Net
from hypothesis import given
from random_graphs import graphs

import workbench as wb
from workbench.analysis.fusion.reasons import REASONS
from workbench.analysis.fusion.report import as_test
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph

SMALL = "Tensor[(1, 8), float32]"


def kernels(report):
    return ["+".join(group.ops) for group in report.kernels]


def code(report, node):
    decision = report.decided(node)
    assert decision is not None
    return decision.code


# -- one rule each


def test_elementwise_follows_a_complex_operator():
    net = Net()
    dense = net.op("nn.dense")
    relu = net.op("nn.relu", net.op("add", dense, net.x))
    report = wb.explain_fusion(net.done(relu))
    assert kernels(report) == ["nn.dense+add+nn.relu"]
    assert code(report, dense) == "fused"


def test_a_stretched_result_stays_apart_and_the_card_says_what_shape_would_help():
    net = Net()
    dense = net.op("nn.dense", type=SMALL)
    add = net.op("add", dense, net.x)
    report = wb.explain_fusion(net.done(add))
    assert kernels(report) == ["nn.dense", "add"]
    card = report.why(dense, add)
    assert [d.code for d in card.decisions] == ["dominator_kind"]
    assert "stretches nn.dense (node 1)" in card.text
    assert [(c.kind, c.node) for c in card.changes] == [("shape", dense)]


def test_a_reduction_takes_in_what_feeds_it_and_starts_nothing():
    net = Net()
    total = net.op("sum", net.op("exp"), type=SMALL)
    last = net.op("tanh", total, type=SMALL)
    report = wb.explain_fusion(net.done(last))
    assert kernels(report) == ["exp+sum", "tanh"]
    assert code(report, total) == "reduction"


def test_an_opaque_operator_stays_alone():
    net = Net()
    opaque = net.op("cumsum", net.op("exp"))
    report = wb.explain_fusion(net.done(net.op("tanh", opaque)))
    assert kernels(report) == ["exp", "cumsum", "tanh"]
    assert code(report, opaque) == "opaque"


def test_a_value_with_two_ends_has_no_post_dominator_and_a_copy_would_help():
    net = Net()
    start = net.op("exp")
    left, right = net.op("nn.softmax", net.op("tanh", start)), net.op("nn.relu", start)
    report = wb.explain_fusion(net.done(left, right))
    assert code(report, start) == "apart"
    card = report.why(start, right)
    assert [(c.kind, c.node, c.value) for c in card.changes] == [("copy", start, right)]
    assert "used only by nn.relu" in card.text


def test_a_rival_that_was_first_is_named():
    net = Net()
    first, second = net.op("nn.dense"), net.op("nn.dense")
    add = net.op("add", first, second)
    report = wb.explain_fusion(net.done(add))
    assert sorted(kernels(report)) == ["nn.dense", "nn.dense+add"]
    left_out = next(n for n in (first, second) if report.group_of(n) is not report.group_of(add))
    card = report.why(left_out, add)
    assert [(c.kind, c.node) for c in card.changes if c.kind == "cut"] == [("cut", first + second - left_out)]
    assert f"nn.dense (node {first + second - left_out}) is in the kernel" in card.text


def test_depth_counts_nodes_twice_that_lie_on_the_way():
    """transpose -> {exp, tanh} -> add is 4 nodes, and needs max_depth 6."""
    net = Net()
    start = net.op("transpose")
    add = net.op("add", net.op("exp", start), net.op("tanh", start))
    graph = net.done(add)
    assert kernels(wb.explain_fusion(graph, max_depth=6)) == ["transpose+exp+tanh+add"]
    report = wb.explain_fusion(graph, max_depth=5)
    assert code(report, start) == "max_depth"
    card = report.why(start, add)
    assert ("max_depth", 6) in [(c.kind, c.value) for c in card.changes]
    assert "max_depth were 6 instead of 5" in card.text


def test_a_limit_of_parameters_keeps_kernels_small():
    net = Net()
    weights = [net.builder.node("param", f"w{i}", type=WIDE) for i in range(3)]
    value = net.op("exp")
    for weight in weights:
        value = net.op("add", value, weight)
    graph = net.done(value)
    assert kernels(wb.explain_fusion(graph)) == ["exp+add+add+add"]
    report = wb.explain_fusion(graph, max_function_args=3)
    assert len(report.kernels) == 2
    cut = next(d for d in report.decisions if d.code == "max_function_args")
    wanted = [c for c in report.why(cut.node, value).changes if c.kind == "max_function_args"]
    assert len(wanted) == 1
    assert kernels(wb.explain_fusion(graph, max_function_args=wanted[0].value)) == ["exp+add+add+add"]


def test_targets_bring_their_limits():
    graph = Net().done(0)
    limits = [wb.explain_fusion(graph, target=t).settings.max_function_args for t in ("llvm", "opencl", "metal -x=1")]
    assert limits == [0, 128, 31]


def test_fields_of_a_concatenate_join_it_last():
    net = Net()
    first, second = net.op("exp"), net.op("tanh")
    both = net.builder.node("tuple", "tuple", (first, second), type=f"({WIDE}, {WIDE})")
    joined = net.op("concatenate", both)
    report = wb.explain_fusion(net.done(joined))
    assert kernels(report) == ["exp+tanh+concatenate"]
    decision = report.decided(first)
    assert decision is not None
    assert (decision.phase, decision.dominator) == (2, both)


def test_values_that_are_returned_together_stay_apart():
    net = Net()
    first, second = net.op("exp"), net.op("tanh")
    both = net.builder.node("tuple", "tuple", (first, second), type=f"({WIDE}, {WIDE})")
    report = wb.explain_fusion(net.done(both))
    assert kernels(report) == ["exp", "tanh"]
    assert code(report, first) == "tuple"


def test_level_0_merges_nothing_and_the_card_says_so():
    net = Net()
    first = net.op("exp")
    report = wb.explain_fusion(net.done(net.op("tanh", first)), opt_level=0)
    assert kernels(report) == ["exp", "tanh"]
    assert "opt_level 0" in report.why(first, first + 1).text
    assert [c.kind for c in report.why(first, first + 1).changes] == ["opt_level"]


def test_an_operator_without_a_pattern_makes_the_pass_fail():
    net = Net()
    report = wb.explain_fusion(net.done(net.op("nn.layer_norm")))
    assert "nn.layer_norm" in report.failure
    assert "the pass fails" in repr(report)
    assert code(report, 1) == "lacking"


def test_a_let_ends_a_kernel():
    net = Net()
    bound = net.op("exp")
    net.builder.hold(bound, "let", "v")
    report = wb.explain_fusion(net.done(net.op("tanh", bound)))
    assert kernels(report) == ["exp", "tanh"]
    assert "bound by a let" in report.why(bound, bound + 1).text


def test_relax_knows_no_shapes_and_no_block_is_left():
    net = Net("relax")
    dense = net.op("nn.dense", type=SMALL)
    held = net.op("exp", net.op("add", dense, net.x))
    net.builder.hold(held, "block")
    net.builder.nodes[2] = replace(net.builder.nodes[2], pattern=0)
    report = wb.explain_fusion(net.done(net.op("tanh", held)))
    assert kernels(report) == ["nn.dense+add+exp", "tanh"]


# -- reports


def attention():
    net = Net()
    start = net.op("transpose", net.op("nn.dense"))
    left, right = net.op("nn.softmax", start), net.op("exp", start)
    return net.done(net.op("tanh", net.op("add", left, right)))


def test_every_decision_has_a_reason_and_a_sentence_and_goes_into_json():
    for settings in ({}, {"max_depth": 2}, {"max_function_args": 2}, {"opt_level": 0}):
        report = wb.explain_fusion(attention(), **settings)
        for decision in report.decisions:
            assert decision.code in REASONS
            assert decision.sentence.endswith(".")
            assert f"(node {decision.node})" in decision.sentence


@pytest.mark.parametrize("settings", [{}, {"opt_level": 0}])
@pytest.mark.parametrize("dialect", ["relay", "relax"])
@given(graph=graphs())
def test_operators_without_a_kind_are_those_that_a_decision_says_so_of(dialect, settings, graph):
    report = wb.explain_fusion(replace(graph, dialect=dialect), **settings)
    said = {each.node for each in report.decisions if each.code in ("lacking", "unannotated")}
    assert set(report.without_kind) == said


def test_frames_leave_out_what_only_waits():
    report = wb.explain_fusion(attention())
    assert {d.code for d in report.frames}.isdisjoint({"phase", "together"})
    assert [d for d in report.decisions if d in report.frames] == list(report.frames)


@pytest.mark.parametrize("settings", [{}, {"max_depth": 2}, {"max_function_args": 3}])
def test_the_player_ends_at_the_groups_and_begins_with_each_node_alone(settings):
    graph = attention()
    report = wb.explain_fusion(graph, **settings)
    assert report.roots_after(0) == tuple(range(len(graph.nodes)))
    last = report.roots_after(len(report.decisions))
    assert last == tuple(report.group_of(n).root for n in range(len(graph.nodes)))
    kernels = [len(set(report.roots_after(count))) for count in range(len(report.decisions) + 1)]
    assert kernels == sorted(kernels, reverse=True)


def test_frames_are_found_by_reason_by_operator_and_by_outcome():
    report = wb.explain_fusion(attention())
    assert {d.code for d in report.find(code="dominator_kind")} == {"dominator_kind"}
    assert all(
        "add" in (report.graph.nodes[d.node].op, report.graph.nodes[d.dominator].op)
        for d in report.find(op="add", fused=True)
    )
    assert {*report.find(fused=True), *report.find(fused=False)} == {*report.frames}


def test_every_operator_is_settled_and_every_pair_has_a_card():
    graph = attention()
    report = wb.explain_fusion(graph)
    for a in range(len(graph.nodes)):
        assert report.why(a).together
        for b in range(len(graph.nodes)):
            card = report.why(a, b)
            assert card.together == (report.group_of(a) is report.group_of(b))
            assert card.text.startswith(card.headline)
    assert all(report.decided(node.id) for node in graph.ops)


def test_why_a_kernel_is_as_large_as_it_is():
    net = Net()
    relu = net.op("nn.relu", net.op("nn.dense"))
    card = wb.explain_fusion(net.done(relu)).why(relu)
    assert "holds 2 operators (nn.dense, nn.relu)" in card.text
    assert [d.code for d in card.decisions] == ["fused", "held"]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda g: wb.explain_fusion(g).why(99), "no node 99"),
        (lambda g: wb.explain_fusion(g).why(0, -1), "no node -1"),
        (lambda g: wb.explain_fusion(g, max_depth=-1), "negative"),
        (lambda g: wb.explain_fusion("text"), "not str"),
        (lambda g: wb.explain_fusion(Graph()), "Workload or a Graph"),
        (lambda g: wb.assert_fused(g, []), "list of operator names"),
    ],
)
def test_what_cannot_be_asked_is_answered_in_words(ask, said):
    with pytest.raises(WorkbenchError, match=said):
        ask(attention())


# -- assertions


def test_assert_fused_passes_over_what_is_in_one_kernel():
    net = Net()
    graph = net.done(net.op("nn.relu", net.op("add", net.op("nn.dense"), net.x)))
    wb.assert_fused(graph, ["nn.dense", "add", "nn.relu"])
    with pytest.raises(AssertionError, match="max_depth were"):
        wb.assert_fused(graph, ["nn.dense", "add", "nn.relu"], max_depth=2)


def test_a_kernel_copied_as_a_test_passes_and_names_its_operators():
    graph = attention()
    report = wb.explain_fusion(graph)
    snippets = [as_test(report, group.root) for group in report.kernels]
    assert snippets == [
        f"wb.assert_fused(w, [{ops}])" for ops in ("'nn.dense'", "'transpose'", "'nn.softmax', 'add', 'tanh'")
    ]
    for snippet in snippets:
        eval(snippet, {"wb": wb, "w": graph})
    with pytest.raises(WorkbenchError, match="in no kernel"):
        as_test(report, 0)


def test_assert_fused_fails_with_the_card():
    graph = attention()
    with pytest.raises(AssertionError, match="rearranging") as failed:
        wb.assert_fused(graph, ["nn.dense", "transpose", "exp"])
    assert "not in one kernel" in str(failed.value)
    with pytest.raises(AssertionError, match=r"no operator nn\.conv2d"):
        wb.assert_fused(graph, ["nn.conv2d", "add"])
    with pytest.raises(AssertionError, match=r"is used by a nn\.dense"):
        wb.assert_fused(graph, ["exp", "nn.dense"])


def test_assert_kernels_lists_them_with_their_reasons():
    graph = attention()
    count = len(wb.explain_fusion(graph).kernels)
    wb.assert_kernels(graph, at_most=count)
    with pytest.raises(AssertionError, match=f"{count} kernels, and at most {count - 1}") as failed:
        wb.assert_kernels(graph, at_most=count - 1)
    assert str(failed.value).count("\n") == count
