"""Layers that are found from structure: on models written out here, and what holds of any graph."""

from __future__ import annotations

import graphlib
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import graphs, pairs, programs

from workbench.graph.diff import diff
from workbench.graph.layers import layered, layered_pair
from workbench.graph.model import Graph, GraphBuilder

# -- models


class Model:
    """Builds a graph of one function, parameters where they are used."""

    def __init__(self) -> None:
        self.builder = GraphBuilder("model", "relay")
        self.main = self.builder.group("function", "main", None)

    def op(self, name: str, *inputs: int, type: str = "t") -> int:
        return self.builder.node("op", name, inputs, type=type, group=self.main)

    def param(self, name: str) -> int:
        return self.builder.node("param", name, type="w", group=self.main)

    def weighted(self, op: str, x: int, type: str = "t") -> int:
        return self.op(op, x, self.param(f"p{len(self.builder.nodes)}"), type=type)

    def chain(self, x: int, *ops: str) -> int:
        for op in ops:
            x = self.op(op, x)
        return x

    def done(self, *results: int) -> Graph:
        out = results[0] if len(results) == 1 else self.builder.node("tuple", "tuple", results, group=self.main)
        self.builder.outputs = [out]
        self.builder.returns(self.main, out)
        return self.builder.build()

    def attention(self, x: int, other: int, mask: int) -> int:
        """Queries from x, keys and values from the other."""
        q, k, v = (self.weighted("dense", source) for source in (x, other, other))
        scores = self.op("softmax", self.op("add", self.op("batch_matmul", q, k), mask))
        return self.op("add", x, self.weighted("dense", self.op("batch_matmul", scores, v)))

    def feed_forward(self, x: int) -> int:
        inner = self.op("gelu", self.weighted("dense", x))
        return self.op("add", x, self.weighted("dense", inner))

    def residual(self, x: int, type: str, shortcut: bool) -> int:
        inner = self.weighted("batch_norm", self.weighted("conv2d", x, type), type)
        inner = self.weighted("batch_norm", self.weighted("conv2d", self.op("relu", inner, type=type), type), type)
        beside = self.weighted("batch_norm", self.weighted("conv2d", x, type), type) if shortcut else x
        return self.op("relu", self.op("add", inner, beside, type=type), type=type)


def transformer(layers: int) -> Graph:
    m = Model()
    x, mask = m.param("ids"), m.op("cast", m.param("mask"))
    x = m.weighted("take", x)
    for _ in range(layers):
        x = m.weighted("layer_norm", m.attention(x, x, mask))
        x = m.weighted("layer_norm", m.feed_forward(x))
    return m.done(m.chain(x, "pool", "softmax"))


def names(graph: Graph, parent: str = "main") -> list[str]:
    return [g.name for g in graph.groups if g.kind == "scope" and graph.groups[g.parent or 0].name == parent]


def counts(graph: Graph) -> list[int]:
    """Operators in each layer."""
    return [
        sum(graph.nodes[id].kind == "op" for id in members)
        for group, members in zip(graph.groups, graph.members, strict=True)
        if group.kind == "scope" and members
    ]


@pytest.mark.parametrize("layers", [2, 12, 200])
def test_the_layers_of_a_transformer(layers):
    found = layered(transformer(layers))
    assert names(found) == [f"layer {i}" for i in range(layers)]
    assert counts(found) == [15] * layers


def test_a_mask_that_every_layer_reads_is_in_none_and_a_weight_is_with_its_reader():
    found = layered(transformer(12))
    outside = {found.nodes[id].op for id in found.members[0]}
    assert outside == {"ids", "mask", "cast", "take", "pool", "softmax", "p3"}
    assert sum(node.kind == "param" for node in found.nodes) == 3 + 12 * 8


def test_residual_blocks_are_in_stages_where_their_shape_changes():
    m = Model()
    x = m.chain(m.weighted("conv2d", m.param("data")), "relu", "max_pool")
    for type in "abcd":
        for place in range(2):
            x = m.residual(x, type, shortcut=type != "a" and place == 0)
    found = layered(m.done(m.chain(x, "pool", "softmax")))
    assert names(found) == [f"stage {i}" for i in range(4)]
    assert [names(found, f"stage {i}") for i in range(4)] == [
        [f"layer {2 * i}", f"layer {2 * i + 1}"] for i in range(4)
    ]
    assert counts(found) == [7, 7, 9, 7, 9, 7, 9, 7]


def test_a_decoder_and_the_encoder_that_feeds_all_of_it():
    m = Model()
    mask = m.param("mask")
    x, y = m.weighted("take", m.param("source")), m.weighted("take", m.param("target"))
    for _ in range(4):
        x = m.feed_forward(m.attention(x, x, mask))
    for _ in range(6):
        y = m.feed_forward(m.attention(m.attention(y, y, mask), x, mask))
    found = layered(m.done(y))
    assert names(found) == [f"layer {i}" for i in range(10)]
    assert counts(found) == [13] * 4 + [22] * 6


def test_layers_that_return_their_keys_too():
    m = Model()
    x, mask, keys = m.weighted("take", m.param("ids")), m.param("mask"), []
    for _ in range(6):
        k = m.weighted("dense", x)
        keys.append(m.op("transpose", k))
        x = m.feed_forward(m.op("add", x, m.weighted("dense", m.op("softmax", m.op("add", k, mask)))))
    found = layered(m.done(x, *keys))
    assert counts(found) == [10] * 6


def test_layers_without_skip_connections():
    m = Model()
    x = m.param("data")
    for _ in range(5):
        x = m.op("relu", m.weighted("batch_norm", m.weighted("bias_add", m.weighted("conv2d", x))))
    assert counts(layered(m.done(m.op("softmax", x)))) == [4] * 5


def test_nothing_that_repeats_gives_no_layers():
    m = Model()
    chain = m.done(m.chain(m.param("x"), *["relu"] * 100))
    assert layered(chain) is chain
    m = Model()
    different = m.done(m.chain(m.param("x"), *[f"op_{'x' * i}" for i in range(50)]))
    assert layered(different) is different


def long_and_different(count: int) -> Graph:
    """Operators of which no two are alike, each with a weight, and every seventh reading one far above it."""
    m = Model()
    made = [m.param("x")]
    for i in range(count):
        beside = [made[i // 2]] if i % 7 == 0 else []
        # letters: numbers at the end of a name are not part of the operator
        made.append(m.op("op_" + f"{i:b}".translate({48: "a", 49: "b"}), made[-1], m.param(f"p{i}"), *beside))
    return m.done(made[-1])


def test_a_long_graph_without_repetition_is_cut_into_parts_that_can_be_read():
    graph = layered(long_and_different(2000))
    assert len(names(graph)) == 59
    assert max(counts(graph)) == 34
    sorter: graphlib.TopologicalSorter[int | None] = graphlib.TopologicalSorter()
    for edge in graph.edges:
        source, target = graph.nodes[edge.source].group, graph.nodes[edge.target].group
        if source != target:
            sorter.add(target, source)
    sorter.prepare()
    beside = [node for node in graph.nodes if node.group == 0]
    assert len(beside) < 5, "weights are in the part that reads them"


def test_what_can_be_read_at_once_is_not_cut():
    assert names(layered(long_and_different(300))) == []


@pytest.mark.parametrize("at", [0, 5, 11])
def test_an_odd_layer_is_a_layer_and_the_others_keep_their_names(at):
    m = Model()
    x, mask = m.weighted("take", m.param("ids")), m.param("mask")
    for layer in range(12):
        odd = [m.op("cast", m.op("tanh", m.op("sigmoid", x)))] if layer == at else [x]
        x = m.feed_forward(m.attention(odd[0], x, mask))
    assert len(names(layered(m.done(x)))) == 12


def test_parameters_with_a_numbered_path_name_their_layer():
    m = Model()
    x = m.param("data")
    for layer in range(4):
        for op in ("conv2d", "bias_add", "batch_norm", "prelu"):
            x = m.op(op, x, m.param(f"features.{layer}.{op}.weight"))
    assert names(layered(m.done(x))) == [f"features.{i}" for i in range(4)]


def test_a_kernel_across_two_layers_is_in_neither():
    graph = transformer(4)
    norm = [node.id for node in graph.ops if node.op == "layer_norm"][3]  # the last node of layer 1
    q = min(user for user, _ in graph.consumers[norm] if graph.nodes[user].op == "dense")
    kernel = graph.groups[0].id + 1
    fused = [replace(n, group=kernel) if n.id in (norm, q) else n for n in graph.nodes]
    groups = (*graph.groups, replace(graph.groups[0], id=kernel, kind="primitive", name="fused", parent=0))
    found = layered(replace(graph, nodes=tuple(fused), groups=groups))
    held = {found.nodes[id].group for id in (norm, q)}
    assert [(found.groups[g or 0].kind, found.groups[found.groups[g or 0].parent or 0].name) for g in held] == [
        ("primitive", "main")
    ]
    assert counts(found)[:4] == [15, 14, 14, 15]  # the kernel holds one of each


def test_paths_of_the_importer_come_before_structure():
    graph = transformer(4)
    scope = {id: f"encoder/layer_{place // 6}" for place, id in enumerate(n.id for n in graph.ops)}
    told = replace(graph, nodes=tuple(replace(n, scope=scope.get(n.id, "")) for n in graph.nodes))
    assert names(layered(told)) == [f"layer_{i}" for i in range(11)]  # a scope around everything says nothing
    spans = [replace(n, span=f"/{scope[n.id]}/Op:0:0") if n.id in scope else n for n in graph.nodes]
    assert layered(replace(graph, nodes=tuple(spans))).groups == layered(told).groups


# -- what holds of any graph


@st.composite
def models(draw: st.DrawFn) -> Graph:
    """A random block over and over, its operators in kernels of random sizes, each of one result."""
    m = Model()
    block, x, mask = draw(programs()), m.param("x"), m.param("mask")
    for _ in range(draw(st.integers(1, 5))):
        place: dict[int, int] = {}
        for node, inputs in zip(block.nodes, block.inputs, strict=True):
            if node.kind == "param":
                place[node.id] = {"x": x, "y": mask}.get(node.op, -1)
                place[node.id] = m.param("w") if place[node.id] < 0 else place[node.id]
            else:
                place[node.id] = m.op(node.op, *(place[i] for i in inputs), type=node.type)
        x = place[block.outputs[0]]
    return fused(draw, m.done(m.op("tanh", x)))


def fused(draw: st.DrawFn, graph: Graph) -> Graph:
    nodes, groups = list(graph.nodes), list(graph.groups)
    for node in reversed(graph.nodes):
        users = {user for user, _ in graph.consumers[node.id]}
        if node.kind != "op" or not draw(st.booleans()):
            continue
        above = [nodes[user].group for user in users]
        if len(users) == 1 and above[0] != 0:
            nodes[node.id] = replace(node, group=above[0])
        else:
            groups.append(replace(groups[0], id=len(groups), kind="primitive", name="fused", parent=0, output=node.id))
            nodes[node.id] = replace(node, group=len(groups) - 1)
    return replace(graph, nodes=tuple(nodes), groups=tuple(groups))


def chain(graph: Graph, id: int) -> list[int]:
    """The groups around a node, outermost first."""
    return [group.id for group in graph.ancestors(graph.nodes[id].group)][::-1]


def scopes(graph: Graph, id: int) -> list[str]:
    return [graph.groups[g].name for g in chain(graph, id) if graph.groups[g].kind == "scope"]


@given(models())
def test_boxes_are_a_tree_around_the_same_nodes_and_kernels(graph):
    found = layered(graph)
    assert all(group.id == place for place, group in enumerate(found.groups))
    assert [group.kind for group in found.groups[: len(graph.groups)]] == [group.kind for group in graph.groups]
    assert all(group.kind == "scope" for group in found.groups[len(graph.groups) :])
    assert all(chain(found, id)[:1] == chain(graph, id)[:1] for id in range(len(graph.nodes)))
    assert [replace(n, group=None) for n in found.nodes] == [replace(n, group=None) for n in graph.nodes]
    assert (found.edges, found.outputs) == (graph.edges, graph.outputs)

    def without_scopes(g: Graph, id: int) -> list[tuple[str, int | None]]:
        return [(g.groups[at].kind, g.groups[at].output) for at in chain(g, id) if g.groups[at].kind != "scope"]

    assert all(without_scopes(found, id) == without_scopes(graph, id) for id in range(len(graph.nodes)))


@given(models())
def test_boxes_beside_each_other_do_not_wait_for_each_other(graph):
    found = layered(graph)
    waits: dict[tuple[int, ...], graphlib.TopologicalSorter] = defaultdict(graphlib.TopologicalSorter)
    for edge in found.edges:
        source, target = chain(found, edge.source), chain(found, edge.target)
        shared = 0
        while source[shared:] and target[shared:] and source[shared] == target[shared]:
            shared += 1
        ends = [
            (path[shared] if path[shared:] else f"node {id}")
            for path, id in ((source, edge.source), (target, edge.target))
        ]
        waits[tuple(source[:shared])].add(ends[1], ends[0])
    for level in waits.values():
        level.prepare()  # raises CycleError


@given(models())
def test_names_of_variables_make_no_layers(graph):
    renamed = replace(
        graph,
        nodes=tuple(
            replace(n, op=f"v{n.id}_", name=f"lv{n.id}") if n.kind == "param" else replace(n, name=f"lv{n.id}")
            for n in graph.nodes
        ),
    )
    assert [n.group for n in layered(renamed).nodes] == [n.group for n in layered(graph).nodes]


@given(graphs())
def test_any_graph_can_be_layered_and_layered_again(graph):
    once = layered(graph)
    assert layered(once).groups == once.groups
    assert Graph.from_json(once.to_json()) == once


@given(models())
def test_layers_are_no_part_of_the_program(graph):
    assert diff(graph, layered(graph)).empty


@given(pairs | st.tuples(models(), models()))
def test_what_is_still_there_is_in_the_same_layer_on_both_sides(pair):
    changes = diff(*pair)
    before, after = layered_pair(pair[0], pair[1], changes)
    assert [n.op for n in before.nodes] == [n.op for n in pair[0].nodes]
    assert [n.op for n in after.nodes] == [n.op for n in pair[1].nodes]
    if not any(group.kind == "primitive" for graph in pair for group in graph.groups):
        assert all(scopes(before, b) == scopes(after, a) for b, a in changes.kept if before.inputs[b])


def test_a_pass_that_renames_every_operator_of_a_layer_moves_no_border():
    was = transformer(6)
    now = replace(was, nodes=tuple(replace(n, op="tanh") if n.op == "gelu" else n for n in was.nodes))
    before, after = layered_pair(was, now, diff(was, now))
    assert [n.group for n in before.nodes] == [n.group for n in after.nodes]
    assert counts(before) == [15] * 6
