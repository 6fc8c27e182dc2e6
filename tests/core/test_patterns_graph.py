"""Patterns matched against a Graph alone, with no TVM."""

from __future__ import annotations

import pytest
from hypothesis import given
from random_graphs import graphs, programs

import workbench as wb
from workbench.analysis.patterns import matcher
from workbench.analysis.patterns.pattern import PatternError
from workbench.analysis.patterns.report import NEEDS_TVM
from workbench.graph.model import Graph, GraphBuilder


def attention() -> Graph:
    """The outline of an attention: split, two arms, a mask that joins one of them, and where they meet."""
    b = GraphBuilder("attention", "relay")
    x = b.node("param", "x", type="Tensor[(2, 4), float32]")
    mask = b.node("param", "mask", type="Tensor[(2, 4), float32]")
    split = b.node("op", "split", [x])
    arms = [b.node("op", "exp", [b.node("get_item", f".{i}", [split])]) for i in (0, 1)]
    bias = b.node("op", "negative", [mask])
    masked = b.node("op", "add", [arms[0], bias])
    join = b.node("op", "multiply", [masked, arms[1]])
    b.outputs = [b.node("op", "transpose", [join], attrs={"axes": [1, 0]})]
    return b.build()


DOMINATES = 'dominates(is_op("split")(None), wildcard(), is_op("transpose")(wildcard()))'


def test_a_value_from_outside_is_named_with_its_way_and_where_it_enters():
    graph = attention()
    found = wb.match(graph, DOMINATES)
    assert not found.matches
    (miss,) = found.near_misses
    assert (miss.root, miss.reason, graph.nodes[miss.node].op) == (10, "enters-from-outside", "negative")
    told = miss.domination
    (escape,) = told.escapes
    assert escape.kind == "enters"
    assert [graph.nodes[n].op for n in escape.path] == ["mask", "negative", "add"]
    assert graph.nodes[escape.through].op == "add"
    assert (told.region.entry, told.region.exit, told.region.nodes) == (2, 10, (2, 3, 4, 5, 6, 8, 9, 10))
    assert [(edge.source, edge.target) for edge in told.region.inputs] == [(7, 8)]
    assert told.would_match


def test_with_the_mask_made_of_the_parents_value_it_matches():
    graph = attention()
    b = GraphBuilder("plain", "relay")
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        b.node(node.kind, "tanh" if node.op == "negative" else node.op, [2 if i == 1 else i for i in inputs])
    assert [match.nodes for match in wb.match(b.build(), DOMINATES).matches] == [tuple(range(2, 11))]


def test_the_parents_other_way_out_is_named():
    b = GraphBuilder("g", "relay")
    x = b.node("param", "x")
    split = b.node("op", "split", [x])
    ends = [b.node("op", "transpose", [b.node("get_item", f".{i}", [split])]) for i in (0, 1)]
    b.outputs = [b.node("tuple", "tuple", ends)]
    graph = b.build()
    found = wb.match(graph, DOMINATES)
    assert [miss.reason for miss in found.near_misses] == ["leaves-the-region"] * 2
    (escape,) = found.near_misses[0].domination.escapes
    assert escape.kind == "leaves"
    assert [graph.nodes[n].op for n in escape.path] == ["split", ".1"]
    assert found.near_misses[0].domination.region is None, "no transpose is behind both"


def test_a_near_miss_says_the_furthest_sub_pattern_and_the_node():
    found = wb.match(attention(), 'is_op("add")(is_op("exp")(wildcard()), is_constant())')
    (miss,) = found.near_misses
    assert found.pattern.nodes[miss.pattern].kind == "constant"
    assert miss.reason == "no-constant"
    assert "negative" in miss.sentence
    assert found.at(miss.root) is miss
    assert "wanted: a constant" in str(found)


def test_attributes_types_and_names():
    graph = attention()
    assert wb.match(graph, "is_op('transpose')(None).has_attr({'axes': [1, 0]})").matches
    assert (
        wb.match(graph, "is_op('transpose')(None).has_attr({'axes': [0, 1]})").near_misses[0].reason
        == "attribute-differs"
    )
    assert wb.match(graph, "is_op('negative')(is_var('mask').has_shape([2, 4]).has_dtype('float32'))").matches
    assert wb.match(graph, "is_op('negative')(wildcard().has_type(TensorType((2, 4))))").matches
    assert wb.match(graph, "is_op('negative')(wildcard().has_shape([2, 3]))").near_misses[0].reason == "shape-differs"


def test_what_cannot_be_suggested_is_said_in_a_sentence():
    graph = attention()
    for nodes, says in [
        ([], "no operator among"),
        ([0, 1], "no operator among"),
        ([4, 6], "not connected"),
        ([2, 3, 5], "give 2 values"),
        ([7, 9], "not connected"),
        ("ab", "list of ids"),
    ]:
        with pytest.raises(wb.WorkbenchError, match=says):
            wb.pattern_for(graph, nodes)
    with pytest.raises(wb.WorkbenchError, match="no node 99"):
        wb.pattern_for(graph, [99])
    with pytest.raises(PatternError, match="not a pattern"):
        wb.match(graph, 3)
    with pytest.raises(wb.WorkbenchError, match="has no nodes to match"):
        wb.match(3, "wildcard()")


def test_nodes_of_two_functions_are_refused():
    b = GraphBuilder("g", "relay")
    groups = [b.group("function", name, None) for name in ("main", "other")]
    nodes = []
    for group in groups:
        x = b.node("param", "x", group=group)
        nodes.append(b.node("op", "exp", [x], group=group))
    with pytest.raises(PatternError, match=r"2 functions \(main, other\)"):
        wb.pattern_for(b.build(), nodes)


@given(programs())
def test_a_suggestion_matches_what_was_chosen(graph):
    chosen = [node.id for node in graph.ops][-3:]
    try:
        suggested = wb.pattern_for(graph, chosen, exact=False)
    except PatternError:
        return
    (here,) = [each for each in wb.match(graph, suggested.code).matches if each.root not in suggested.elsewhere]
    assert {n for n in here.nodes if graph.nodes[n].kind == "op"} == set(chosen)


@given(graphs())
def test_any_graph_can_be_asked(graph):
    for text in ("wildcard()(None)", DOMINATES, "is_op('add')(wildcard(), is_constant())"):
        assert str(wb.match(graph, text))


def test_ways_that_double_with_each_diamond_are_counted_and_not_walked():
    b = GraphBuilder("ladder", "relay")
    value = b.node("op", "exp", [b.node("param", "x")])
    for _ in range(40):
        value = b.node("op", "add", [b.node("op", "tanh", [value]), b.node("op", "sqrt", [value])])
    b.outputs = [b.node("op", "negative", [value])]
    found = wb.match(b.build(), 'dominates(is_op("exp")(None), wildcard(), is_op("negative")(None))')
    assert [len(match.nodes) for match in found.matches] == [122]
    # a walk takes one step for its expression; a diamond's doubles that of what is above it: f(k) = 3 + 2 f(k - 1), f(0) = 1
    assert f"TVM walks {2**42 - 2:,} steps" in found.notes[0]


def test_an_operator_that_is_not_there_is_named():
    found = wb.match(attention(), 'is_op("transposed")(None)')
    assert found.notes == ("the graph has no transposed at all; did you mean transpose?",)


def test_types_and_shapes_of_relax_are_read():
    b = GraphBuilder("g", "relax")
    x = b.node("param", "x", type='R.Tensor((2, 3), dtype="float32")')
    shape = b.node("shape", "(3, 2)", type="R.Shape([3, 2])")
    split = b.node("op", "relax.exp", [x])
    b.outputs = [b.node("op", "relax.permute_dims", [b.node("op", "relax.reshape", [split, shape])])]
    graph = b.build()
    assert wb.match(graph, 'is_op("relax.exp")(wildcard().has_shape([2, 3]).has_dtype("float32"))').matches
    assert wb.match(graph, 'dominates(is_op("relax.exp")(None), wildcard(), is_op("relax.permute_dims")(None))').matches


def test_a_graph_alone_has_the_own_matchers_answer_labelled():
    found = wb.match(attention(), 'is_op("add")(wildcard(), wildcard())')
    assert found.matches
    assert found.not_tried == NEEDS_TVM
    assert found.not_tried in str(found)


def test_long_paths(monkeypatch):
    monkeypatch.setattr(matcher, "VISITS", 0)
    monkeypatch.setattr(matcher, "VISITS_PER_ROW", 20)
    b = GraphBuilder("chain", "relay")
    value = b.node("op", "tanh", [b.node("param", "x")])
    for _ in range(150):
        value = b.node("op", "exp", [value])
    b.outputs = [value]
    found = wb.match(b.build(), 'dominates(is_op("tanh")(wildcard()), wildcard(), is_op("exp")(wildcard()))')
    assert len(found.matches) == 150


@pytest.mark.parametrize(("op", "ends"), [("add", "match in both orders"), ("subtract", r"at node \d+ \(\w+\)")])
def test_too_many_visits(monkeypatch, op, ends):
    monkeypatch.setattr(matcher, "VISITS", 0)
    monkeypatch.setattr(matcher, "VISITS_PER_ROW", 1)
    with pytest.raises(PatternError, match=f"more steps .*{ends}$"):
        wb.match(attention(), f'is_op("{op}")(None) | wildcard()')
