"""Hypothesis strategies: graphs, and pairs of a graph and what a pass might have made of it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.nodes import GROUP_KINDS, KINDS, PATTERNS, Edge

hostile_text = st.one_of(
    st.sampled_from(
        ["", "add", "nn.conv2d", "<img src=x onerror=alert(1)>", "a\nb", '"', "\\", "é\u202e", "onnx::a/b:0.1"]
    ),
    st.text(max_size=8),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 64), 1 << 64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | hostile_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
attributes = st.dictionaries(st.text(max_size=4), json_values, max_size=3)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A graph that uses everything the model has: every kind, nested groups, hostile names, repeated arguments."""
    builder = GraphBuilder(draw(hostile_text), draw(st.sampled_from(["relay", "relax"])))
    for place in range(draw(st.integers(0, 4))):
        parent = draw(st.none() | st.integers(0, place - 1)) if place else None
        builder.group(draw(st.sampled_from(GROUP_KINDS)), draw(hostile_text), parent, draw(attributes))
    in_group = st.none() | st.integers(0, len(builder.groups) - 1) if builder.groups else st.none()
    for place in range(draw(st.integers(0, 10))):
        inputs = draw(st.lists(st.integers(0, place - 1), max_size=3)) if place else []
        builder.node(
            draw(st.sampled_from(KINDS)),
            draw(hostile_text),
            inputs,
            type=draw(hostile_text),
            attrs=draw(attributes),
            group=draw(in_group),
            name=draw(hostile_text),
            scope=draw(hostile_text),
            span=draw(hostile_text),
            pattern=draw(st.none() | st.sampled_from(sorted(PATTERNS))),
            line=draw(st.integers(0, 9)),
            source=tuple(draw(st.lists(hostile_text, max_size=2))),
            held=draw(st.sampled_from(["", "let", "block"])),
        )
    if builder.nodes:
        for group in builder.groups:
            builder.takes(group.id, draw(st.lists(st.integers(0, len(builder.nodes) - 1), max_size=2)))
        builder.outputs = draw(st.lists(st.integers(0, len(builder.nodes) - 1), max_size=2))
    return builder.build()


@st.composite
def programs(draw: st.DrawFn) -> Graph:
    """A small program with few operators and few types, so that equal values, and near misses, are common."""
    builder = GraphBuilder("p", "relay")
    for name in draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3, unique=True)):
        builder.node("param", name, type="t")
    for value in draw(st.lists(st.sampled_from("01"), max_size=2)):
        builder.node("constant", f"meta[{len(builder.nodes)}]", type="t", attrs={"digest": value})
    for _ in range(draw(st.integers(0, 9))):
        inputs = draw(st.lists(st.integers(0, len(builder.nodes) - 1), min_size=1, max_size=2))
        attrs = draw(st.sampled_from([{}, {}, {"axis": 1}]))
        builder.node(
            "op", draw(st.sampled_from(["add", "relu", "cast"])), inputs, type=draw(st.sampled_from("ttu")), attrs=attrs
        )
    builder.outputs = [len(builder.nodes) - 1]
    return builder.build()


@st.composite
def edited(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """A program, and the same after a few edits such as passes make."""
    before = after = draw(programs())
    for _ in range(draw(st.integers(1, 3))):
        after = draw(st.sampled_from(EDITS))(draw, after)
    return before, after


pairs = st.one_of(edited(), st.tuples(programs(), programs()))


def _rebuilt(graph: Graph, rows: list[tuple[int, tuple[int, ...]]]) -> Graph:
    """A graph of these (old node, old producers) rows; producers that are not among the rows before are left out."""
    builder, place = GraphBuilder(graph.name, graph.dialect), {}
    for old, inputs in rows:
        node = graph.nodes[old]
        kept = [place[i] for i in inputs if i in place]
        new = builder.node(node.kind, node.op, kept, type=node.type, attrs=node.attrs)
        place.setdefault(old, new)
    builder.outputs = [len(builder.nodes) - 1] if builder.nodes else []
    return builder.build()


def _rows(graph: Graph) -> list[tuple[int, tuple[int, ...]]]:
    return list(enumerate(graph.inputs))


def relabelled(draw: st.DrawFn, graph: Graph) -> Graph:
    at = draw(st.integers(0, len(graph.nodes) - 1))
    nodes = [replace(node, attrs={"axis": 2}) if node.id == at else node for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes))


def without_one(draw: st.DrawFn, graph: Graph) -> Graph:
    """One node taken out; what used it uses its first input."""
    at = draw(st.integers(0, len(graph.nodes) - 1))
    first = graph.inputs[at][:1]
    rows = [
        (i, tuple(j for use in inputs for j in (first if use == at else (use,))))
        for i, inputs in _rows(graph)
        if i != at
    ]
    return _rebuilt(graph, rows) if rows else graph


def with_one_more(draw: st.DrawFn, graph: Graph) -> Graph:
    """A cast put behind one node."""
    at = draw(st.integers(0, len(graph.nodes) - 1))
    builder, place = GraphBuilder(graph.name, graph.dialect), {}
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        place[node.id] = builder.node(node.kind, node.op, [place[i] for i in inputs], type=node.type, attrs=node.attrs)
        if node.id == at:
            place[at] = builder.node("op", "cast", [place[at]], type="u")
    builder.outputs = [place[i] for i in graph.outputs]
    return builder.build()


def with_a_copy(draw: st.DrawFn, graph: Graph) -> Graph:
    """One node computed twice; its last use reads the copy."""
    at = draw(st.integers(0, len(graph.nodes) - 1))
    last = max((user for user, _ in graph.consumers[at]), default=None)
    if last is None or graph.nodes[at].kind != "op":
        return graph
    builder, place, copy = GraphBuilder(graph.name, graph.dialect), {}, 0
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        read = [copy if node.id == last and i == at else place[i] for i in inputs]
        place[node.id] = builder.node(node.kind, node.op, read, type=node.type, attrs=node.attrs)
        if node.id == at:
            copy = builder.node(node.kind, node.op, read, type=node.type, attrs=node.attrs)
    builder.outputs = [place[i] for i in graph.outputs]
    return builder.build()


def rewired(draw: st.DrawFn, graph: Graph) -> Graph:
    if not graph.edges:
        return graph
    at = draw(st.integers(0, len(graph.edges) - 1))
    edge = graph.edges[at]
    source = draw(st.integers(0, edge.target - 1))
    new = Edge(source, edge.target, edge.index, graph.nodes[source].type)
    return replace(graph, edges=(*graph.edges[:at], new, *graph.edges[at + 1 :]))


EDITS = (relabelled, without_one, with_one_more, with_a_copy, rewired)
