"""A saved graph reads back equal; anything else is a LoadError in words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import graphs, json_values

import workbench as wb
from workbench.errors import LoadError
from workbench.graph.json import DEEPEST
from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.nodes import Answers, Joined, Products


@given(graphs())
def test_reads_back_equal(graph):
    assert Graph.from_json(graph.to_json()) == graph


def test_answers_of_tvm_are_saved_again():
    builder = GraphBuilder("g", "relax")
    nodes = [builder.node("op", "relax.exp") for _ in range(2)]
    products = Products((Joined(0, (1,)),), frozenset(nodes), "it raises")
    graph = replace(builder.build(), ask=lambda: Answers({1: 0}, "a loop"), ask_products=lambda: products)
    assert (graph.answers.merged, graph.products) == ({1: 0}, products)
    again = Graph.from_json(Graph.from_json(graph.to_json()).to_json())
    assert (again.answers, again.products) == (graph.answers, graph.products)


def test_load_all_reads_a_saved_graph():
    builder = GraphBuilder("g", "relay")
    builder.node("op", "exp")
    assert [each.graph for each in wb.load_all(builder.build().to_json())] == [builder.build()]


@given(graphs())
def test_json_text_is_stable(graph):
    assert Graph.from_json(graph.to_json()).to_json() == graph.to_json()


@given(graphs(), st.data())
def test_a_truncated_file_is_a_load_error(graph, data):
    text = graph.to_json()
    with pytest.raises(LoadError):
        Graph.from_json(text[: data.draw(st.integers(0, len(text) - 1))])


@given(st.text() | json_values.map(json.dumps))
def test_other_text_is_a_load_error(text):
    with pytest.raises(LoadError):
        Graph.from_json(text)


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_deeply_nested_json_is_a_load_error(depth):
    with pytest.raises(LoadError):
        Graph.from_json("[" * depth + "]" * depth)


@pytest.mark.parametrize("parent", [lambda at: at - 1 if at else None, lambda at: (at + 1) % DEEPEST])
def test_groups_too_deep_or_in_a_ring_are_a_load_error(parent):
    data = GraphBuilder("g", "relay").build().to_data()
    data["groups"] = [{"id": at, "kind": "function", "name": "f", "parent": parent(at)} for at in range(DEEPEST)]
    deeper = {"id": DEEPEST, "kind": "function", "name": "f", "parent": DEEPEST - 1}
    with pytest.raises(LoadError, match=r"damaged|2,200 others"):
        Graph.from_data({**data, "groups": [*data["groups"], deeper]})


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5])
def test_another_version_is_refused_by_number(version):
    data = json.loads(GraphBuilder("g", "relay").build().to_json())
    with pytest.raises(LoadError, match="version"):
        Graph.from_json(json.dumps({**data, "version": version}))


@pytest.mark.parametrize(
    "change",
    [
        {"edges": [[1, 0, 0]]},
        {"edges": [[0, 5, 0]]},
        {"edges": [[0, 1, -1]]},
        {"edges": [[0, 1, "0"]]},
        {"outputs": [2]},
        {"outputs": "01"},
        {"outputs": [0.5]},
        {"nodes": [{"kind": "op", "op": 5}, {"kind": "op", "op": "x"}]},
        {"nodes": [{"kind": "nothing", "op": "x"}, {"kind": "op", "op": "x"}]},
        {"nodes": [{"kind": "op", "op": "x", "group": 3}, {"kind": "op", "op": "x"}]},
        {"nodes": [{"kind": "op", "op": "x", "attrs": [1]}, {"kind": "op", "op": "x"}]},
        {"nodes": [{"kind": "op", "op": "x", "pattern": 99}, {"kind": "op", "op": "x"}]},
        {"nodes": [{"kind": "op", "op": "x", "extra": 1}, {"kind": "op", "op": "x"}]},
        {"groups": [{"id": 0, "kind": "scope", "name": "a", "parent": 0}]},
        {"groups": [{"id": 0, "kind": "scope", "name": "a", "output": 7}]},
        {"name": None},
    ],
)
def test_what_refers_to_nothing_or_has_the_wrong_type_is_damaged(change):
    b = GraphBuilder("g", "relay")
    b.node("op", "add", (b.node("param", "x"),))
    with pytest.raises(LoadError, match="damaged"):
        Graph.from_json(json.dumps({**json.loads(b.build().to_json()), **change}))


def test_an_infinite_attribute_reads_back():
    b = GraphBuilder("g", "relay")
    b.node("op", "clip", attrs={"a_max": float("inf")})
    assert Graph.from_json(b.build().to_json()) == b.build()
