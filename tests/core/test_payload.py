"""What the page reads: the columns decode to the graph they were made of."""

from __future__ import annotations

import json
import sys
from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from random_graphs import graphs, pairs

from workbench.graph.diff import diff
from workbench.graph.model import GraphBuilder
from workbench.graph.nodes import GROUP_KINDS, KINDS
from workbench.widgets.payload import encode_diff, encode_graph, narrow

NARROWER = {"I": {1: "B", 2: "H"}, "i": {1: "b", 2: "h"}}


def decoded(column: bytes, code: str, count: int = 0) -> list[int]:
    """Return the values of a column; of one whose number of values is known, as the page does (js/graph/payload.ts)."""
    values = array(NARROWER.get(code, {}).get(len(column) // count, code) if count else code)
    values.frombytes(column)
    return values.tolist()


def test_columns_are_little_endian_of_the_sizes_in_the_contract():
    assert sys.byteorder == "little"
    assert [array(code).itemsize for code in "BbHIi"] == [1, 1, 2, 4, 4]


@pytest.mark.parametrize(("most", "bytes_each"), [(0xFF, 1), (0x100, 2), (0xFFFF, 2), (0x10000, 4)])
def test_a_narrow_column_has_as_few_bytes_as_its_largest_value_needs(most, bytes_each):
    values = [0, most, 7]
    assert len(narrow("I", values)) == 3 * bytes_each
    assert decoded(narrow("I", iter(values)), "I", 3) == values
    signed = [-1, most // 2, -(most // 2) - 1]
    assert decoded(narrow("i", signed), "i", 3) == signed
    assert len(narrow("i", signed)) == 3 * bytes_each


@given(graphs())
def test_every_field_of_every_node_decodes(graph):
    payload = encode_graph(graph)
    node, strings = payload["node"], payload["strings"]

    def text(column):
        return [strings[n] for n in decoded(node[column], "I", len(graph.nodes))]

    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    assert [KINDS[k] for k in decoded(node["kind"], "B")] == [n.kind for n in graph.nodes]
    assert text("label_s") == [n.op for n in graph.nodes]
    assert text("type_s") == [n.type for n in graph.nodes]
    assert text("name_s") == [n.name for n in graph.nodes]
    assert text("span_s") == [n.span for n in graph.nodes]
    assert [json.loads(t) if t else {} for t in text("attrs_s")] == [n.attrs for n in graph.nodes]
    assert decoded(node["pattern"], "b") == [-1 if n.pattern is None else n.pattern for n in graph.nodes]


@given(graphs())
def test_edges_and_outputs_decode(graph):
    payload = encode_graph(graph)
    edge, m = payload["edge"], len(graph.edges)
    columns = (decoded(edge["source"], "I", m), decoded(edge["target"], "I", m), decoded(edge["index"], "H"))
    assert list(zip(*columns, strict=True)) == [(e.source, e.target, e.index) for e in graph.edges]
    assert [payload["strings"][n] for n in decoded(edge["type_s"], "I", m)] == [e.type for e in graph.edges]
    assert decoded(payload["output"], "I") == list(graph.outputs)


@given(graphs())
def test_groups_nest_as_in_the_graph_apart_from_a_lone_function_around_everything(graph):
    payload = encode_graph(graph)
    group, strings = payload["group"], payload["strings"]
    count = len(group["kind"])
    names = [strings[n] for n in decoded(group["name_s"], "I", count)]
    parents = decoded(group["parent"], "i", count)
    homes = decoded(payload["node"]["group"], "i", len(graph.nodes))
    roots = [g for g in graph.groups if g.parent is None]
    hidden = roots[0] if len(roots) == 1 and roots[0].kind == "function" else None

    def path(place):
        return () if place < 0 else (*path(parents[place]), names[place])

    def true_path(id):
        return tuple(g.name for g in reversed(list(graph.ancestors(id))) if g is not hidden)

    assert [path(home) for home in homes] == [true_path(n.group) for n in graph.nodes]
    shown = [g for g in graph.groups if g is not hidden]
    assert [GROUP_KINDS[k] for k in decoded(group["kind"], "B")] == [g.kind for g in shown]


@given(pairs)
def test_pairs_are_the_mapping(pair):
    before, after = pair
    d = diff(before, after)
    flat = decoded(encode_diff(d, before, after)["pairs"], "I")
    assert set(zip(flat[::2], flat[1::2], strict=True)) == {(b, a) for b, many in d.mapping.items() for a in many}


def test_attributes_that_are_no_json_are_shown_as_text():
    b = GraphBuilder("g", "relay")
    b.node("op", "x", attrs={"device": object, "bad": float("nan")})
    payload = encode_graph(b.build())
    assert json.loads(payload["strings"][decoded(payload["node"]["attrs_s"], "I", 1)[0]], parse_constant=refuse)[
        "device"
    ]


def refuse(word):
    raise AssertionError(f"{word} is not JSON, and the page's JSON.parse throws on it")


@given(graphs())
def test_strings_come_before_the_columns(graph):
    assert list(encode_graph(graph))[:2] == ["version", "strings"]


@given(graphs())
def test_graph_is_encoded_once(graph):
    assert encode_graph(graph) is encode_graph(graph)
    assert encode_graph(graph) == encode_graph(replace(graph))
