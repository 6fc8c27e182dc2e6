"""Regions: what is in one, what enters it, how they nest; and any operators of a graph as a program."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from test_dominance import networks, reached, users

import workbench as wb
from workbench.analysis.legality import IllegalEdit
from workbench.analysis.subprograms import check_pairs, operators, subprogram
from workbench.graph.model import Graph, GraphBuilder


def before(graph, node):
    return reached([node], graph.inputs, None)


@given(networks(20))
def test_a_region_is_all_that_lies_on_a_way_from_entry_to_exit(graph):
    for region in wb.regions(graph):
        between = reached([region.entry], users(graph), None) & before(graph, region.exit)
        assert set(region.nodes) == between
        assert len(region.nodes) > 2


@given(networks(20))
def test_what_enters_beside_the_entry_is_listed_and_nothing_leaves_but_by_the_exit(graph):
    for region in wb.regions(graph):
        entering = {
            (e.source, e.target, e.index)
            for e in graph.edges
            if e.target in region and e.target != region.entry and e.source not in region
        }
        assert {(e.source, e.target, e.index) for e in (*region.inputs, *region.constants)} == entering
        leaving = [e for e in graph.edges if e.source in region and e.target not in region]
        assert sorted((e.target, e.index) for e in leaving) == sorted((e.target, e.index) for e in region.outputs)
        assert all(e.source == region.exit for e in leaving)


@given(networks(12))
def test_a_region_goes_on_to_any_later_post_dominator(graph):
    found = wb.regions(graph)
    for entry in range(len(graph.nodes)):
        for exit in range(len(graph.nodes)):
            region = found.between(entry, exit)
            assert (region is not None) == (exit in found.tree.above(entry))
            if region is not None:
                between = reached([entry], users(graph), None) & before(graph, exit)
                assert set(region.nodes) == between
                assert all(e.source == exit for e in graph.edges if e.source in region and e.target not in region)


@given(networks(20))
def test_the_entry_of_a_single_entry_region_dominates_all_of_it(graph):
    """But for what only constants reach, which is in no tree."""
    tree = graph.dominators()
    for region in wb.regions(graph):
        if region.single_entry:
            assert all(tree.dominates(region.entry, n) for n in region.nodes if tree.depth[region.entry])


@given(networks(25))
def test_single_entry_regions_nest(graph):
    closed = [r for r in wb.regions(graph) if r.single_entry and not r.constants]
    for a in closed:
        for b in closed:
            shared = set(a.nodes) & set(b.nodes)
            inside = shared in (set(a.nodes), set(b.nodes))
            assert inside or shared <= {a.entry, a.exit} & {b.entry, b.exit}


@given(networks(20))
def test_stepping_outward_meets_every_region_around_a_node_smallest_first(graph):
    found = wb.regions(graph)
    for node in range(len(graph.nodes)):
        around = found.around(node)
        assert {r.entry for r in around} == {r.entry for r in found if node in r}
        assert [len(r.nodes) for r in around] == sorted(len(r.nodes) for r in around)
    for region in found:
        parent = found.parent(region)
        holding = [r for r in found if set(r.nodes) > set(region.nodes)]
        assert (parent is None) == (not holding)
        if parent:
            assert len(parent.nodes) == min(len(r.nodes) for r in holding)


def masked(builder):
    """split, then a mask added on one of two ways."""
    x, mask, weight = (builder.node("param", name) for name in ("x", "mask", "weight"))
    fork = builder.node("op", "split", [x])
    added = builder.node("op", "add", [fork, mask])
    dense = builder.node("op", "nn.dense", [added, weight])
    join = builder.node("op", "transpose", [builder.node("op", "nn.batch_matmul", [dense, fork])])
    return mask, weight, fork, dense, join


def test_the_mask_that_enters_a_region_is_named_with_the_node_it_enters_by():
    builder = GraphBuilder("attention", "relay")
    mask, weight, fork, dense, join = masked(builder)
    graph = builder.build()
    region = wb.regions(graph, fixed=["weight"]).of(fork)
    assert region is not None
    assert not region.single_entry
    assert [(e.source, graph.nodes[e.target].op, e.index) for e in region.inputs] == [(mask, "add", 1)]
    assert [(e.source, e.target) for e in region.constants] == [(weight, dense)]
    assert wb.regions(graph, fixed=["weight", "mask"]).of(fork).single_entry
    assert wb.regions(graph).of(join) is None


TENSOR = "Tensor[(4), float32]"


def split_graph() -> Graph:
    """x -> split -> (.0, .1) -> concatenate((.0, .1, c)) -> relu."""
    b = GraphBuilder("split", "relay")
    group = b.group("function", "main", None)
    x = b.node("param", "x", type=TENSOR, group=group)
    split = b.node("op", "split", (x,), type=f"({TENSOR}, {TENSOR})", group=group)
    fields = [b.node("get_item", f".{i}", (split,), type=TENSOR, group=group) for i in range(2)]
    constant = b.node("constant", "c", type=TENSOR, group=group)
    joined = b.node("tuple", "tuple", (*fields, constant), type=f"({TENSOR}, {TENSOR}, {TENSOR})", group=group)
    whole = b.node("op", "concatenate", (joined,), type=TENSOR, group=group)
    b.outputs.append(b.node("op", "nn.relu", (whole,), type=TENSOR, group=group))
    return b.build()


def test_fields_of_a_missing_operator_are_inputs() -> None:
    found = subprogram(split_graph(), [6])
    assert (found.inputs, found.outputs, found.between) == ((2, 3), (6,), {5})


def test_fields_of_a_chosen_operator_are_between() -> None:
    found = subprogram(split_graph(), [1, 6])
    assert (found.inputs, found.outputs, found.between) == ((0,), (6,), {2, 3, 5})


def test_program_need_not_be_convex() -> None:
    found = subprogram(split_graph(), [1, 7])
    assert (found.inputs, found.outputs) == ((0, 6), (1, 7))


@pytest.mark.parametrize(
    ("nodes", "words"), [([], "no operator"), ([0], "x .node 0. is not"), ([99], "node 99 is not")]
)
def test_others_are_refused(nodes: list[int], words: str) -> None:
    with pytest.raises(IllegalEdit, match=words):
        subprogram(split_graph(), nodes)


@pytest.mark.parametrize("pair", [(7, 7), (6, 7), (6, 1), (6,), (6, 99)])
def test_pair_of_other_types_or_order_is_refused(pair: tuple[int, ...]) -> None:
    with pytest.raises(IllegalEdit):
        check_pairs(split_graph(), [pair])


def test_pair_of_one_type_is_accepted() -> None:
    check_pairs(split_graph(), [(7, 6), (6, 0)])


def test_every_value_that_is_read_is_computed_or_an_input() -> None:
    random.seed(0)
    graph = split_graph()
    known = operators(graph)
    for _ in range(50):
        found = subprogram(graph, random.sample(known, random.randint(1, len(known))))
        inside = {*found.operators, *found.between}
        for node in inside:
            for source in graph.inputs[node]:
                assert source in inside or source in found.inputs or graph.nodes[source].kind == "constant"
        assert not inside & set(found.inputs)
        assert set(found.outputs) <= set(found.operators)
