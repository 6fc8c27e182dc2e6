"""Dominators and regions: the laws that define them, checked by removing nodes."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import graphs

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.dominance import VIRTUAL
from workbench.graph.model import Graph, GraphBuilder


@st.composite
def networks(draw: st.DrawFn, most: int = 12) -> Graph:
    """A graph of operators with few inputs each, so that forks and joins are common."""
    builder = GraphBuilder("net", "relay")
    for place in range(draw(st.integers(1, most))):
        inputs = draw(st.lists(st.integers(max(0, place - 4), place - 1), max_size=3)) if place else []
        kind = "op" if inputs else draw(st.sampled_from(["param", "constant"]))
        builder.node(kind, "f", inputs)
    last = len(builder.nodes) - 1
    builder.outputs = draw(st.lists(st.integers(0, last), max_size=2))
    return builder.build()


def reached(starts, steps, without):
    """What can be reached from the starts when one node is taken out."""
    found = {node for node in starts if node != without}
    waiting = list(found)
    while waiting:
        for after in steps[waiting.pop()]:
            if after != without and after not in found:
                found.add(after)
                waiting.append(after)
    return found


def users(graph):
    return [[user for user, _ in uses] for uses in graph.consumers]


def entering(graph):
    return [n.id for n in graph.nodes if not graph.inputs[n.id] and n.kind != "constant"]


def leaving(graph):
    return {*graph.outputs, *(n.id for n in graph.nodes if not graph.consumers[n.id])}


@given(st.one_of(networks(), graphs()))
def test_a_node_dominates_another_if_taking_it_out_cuts_the_other_off(graph):
    tree = graph.dominators()
    everything = reached(entering(graph), users(graph), None)
    for node in range(len(graph.nodes)):
        left = reached(entering(graph), users(graph), node)
        for other in range(len(graph.nodes)):
            cut_off = node in everything and other in everything and other not in left
            assert tree.dominates(node, other) == cut_off


@given(st.one_of(networks(), graphs()))
def test_a_node_post_dominates_another_if_taking_it_out_keeps_the_other_from_the_exit(graph):
    tree = graph.post_dominators()
    for node in range(len(graph.nodes)):
        left = reached(leaving(graph), graph.inputs, node)
        for other in range(len(graph.nodes)):
            assert tree.dominates(node, other) == (other not in left)


@given(networks(30))
def test_the_parent_is_the_nearest_of_all_dominators(graph):
    tree = graph.dominators()
    for node, parent in enumerate(tree.parent):
        above = [other for other in range(node) if tree.dominates(other, node)]
        assert list(tree.above(node)) == above[::-1]
        assert parent == ((above[-1] if above else VIRTUAL) if tree.depth[node] else None)


@given(networks(40))
def test_networkx_finds_the_same_post_dominators(graph):
    reverse = nx.DiGraph([(e.target, e.source) for e in graph.edges])
    reverse.add_edges_from((VIRTUAL, node) for node in leaving(graph))
    theirs = nx.immediate_dominators(reverse, VIRTUAL)
    assert {n: p for n, p in theirs.items() if n != VIRTUAL} == dict(enumerate(graph.post_dominators().parent))


def test_sources_that_are_named_look_past_the_weights():
    builder = GraphBuilder("dense", "relay")
    x, weight = builder.node("param", "x"), builder.node("param", "w")
    dense = builder.node("op", "nn.dense", [x, weight])
    graph = builder.build()
    assert graph.dominators().parent[dense] == VIRTUAL
    tree = graph.dominators([x])
    assert (tree.parent[dense], tree.parent[weight], tree.depth[weight]) == (x, None, 0)


def test_an_empty_graph_has_an_empty_tree():
    assert Graph().dominators().parent == Graph().post_dominators().parent == ()
    assert len(wb.regions(Graph())) == 0


@pytest.mark.parametrize("node", [-1, 1])
def test_a_node_that_is_not_there_is_named(node):
    builder = GraphBuilder("one", "relay")
    builder.node("param", "x")
    graph = builder.build()
    for ask in (
        lambda: graph.dominators([node]),
        lambda: wb.regions(graph).of(node),
        lambda: wb.regions(graph).around(node),
    ):
        with pytest.raises(WorkbenchError, match=f"no node {node}"):
            ask()


def test_a_long_ladder_takes_no_time():
    """Every rung joins the start and the end of a chain: climbing parent by parent would take 10^8 steps."""
    builder = GraphBuilder("ladder", "relay")
    first = last = builder.node("param", "x")
    chain = builder.node("op", "start", [first])
    for _ in range(10_000):
        last = builder.node("op", "f", [last])
    rungs = [builder.node("op", "g", [chain, last]) for _ in range(10_000)]
    tree = builder.build().dominators()
    assert {tree.parent[rung] for rung in rungs} == {first}
