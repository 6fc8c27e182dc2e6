"""Hypothesis strategies: graphs, and pairs of a graph and what a pass might have made of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

from hypothesis import strategies as st

from workbench.graph.identity import label
from workbench.graph.model import Graph, GraphBuilder, Node
from workbench.graph.nodes import GROUP_KINDS, KINDS, PATTERNS

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


OPS = ("add", "relu", "cast")


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
        builder.node("op", draw(st.sampled_from(OPS)), inputs, type=draw(st.sampled_from("ttu")), attrs=attrs)
    builder.outputs = [len(builder.nodes) - 1]
    return builder.build()


@st.composite
def edited(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """A program, and the same after a few edits such as passes make."""
    before = draw(programs())
    return before, changed(draw(st.randoms(use_true_random=False)), before, 3)


pairs = st.one_of(edited(), st.tuples(programs(), programs()))

# -- edits, which Hypothesis draws by a Random of its own, and other tests by a seed

Row = tuple[int, Node, list[int]]
"a node's id, the node, and the ids that it reads"
NEW = -1
"the id of a node that an edit adds"


def changed(random: Random, graph: Graph, most: int) -> Graph:
    """Return the graph after one edit or more, as an object of its own."""
    for _ in range(random.randint(1, most)):
        graph = random.choice(EDITS)(random, graph)
    return built(rows_of(graph))


def rows_of(graph: Graph) -> list[Row]:
    return [(node.id, node, list(inputs)) for node, inputs in zip(graph.nodes, graph.inputs, strict=True)]


def built(rows: list[Row]) -> Graph:
    """Return the graph of the rows; what no row before has is left out of a node's inputs."""
    builder, place = GraphBuilder("p", "relay"), {}
    for id, node, inputs in rows:
        read = [place[i] for i in inputs if i in place]
        place[id] = builder.node(node.kind, node.op, read, type=node.type, attrs=node.attrs)
    builder.outputs = [len(builder.nodes) - 1]
    return builder.build()


def inserted(random: Random, graph: Graph) -> Graph:
    """Put a new operator between a node and some of its users."""
    rows, at = rows_of(graph), random.randrange(len(graph.nodes))
    users = graph.consumers[at]
    for user, index in [use for use in users if random.random() < 0.7] or users:
        rows[user][2][index] = NEW
    node = replace(graph.nodes[at], kind="op", op=random.choice(OPS), type="t", attrs={})
    return built([*rows[: at + 1], (NEW, node, [at]), *rows[at + 1 :]])


def deleted(random: Random, graph: Graph) -> Graph:
    """Take a node out; its users use its first input."""
    at = random.randrange(len(graph.nodes))
    return without(graph, at, graph.inputs[at][:1]) if len(graph.nodes) > 1 else graph


def without(graph: Graph, gone: int, instead: tuple[int, ...]) -> Graph:
    rows = [
        (id, node, [i for use in inputs for i in (instead if use == gone else (use,))])
        for id, node, inputs in rows_of(graph)
    ]
    return built([row for row in rows if row[0] != gone])


def merged(random: Random, graph: Graph) -> Graph:
    """Make one node of two equal ones, where there are two."""
    labels = [label(node) for node in graph.nodes]
    pairs = [
        (a, b)
        for a, b in combinations(range(len(labels)), 2)
        if graph.nodes[a].kind == "op" and labels[a] == labels[b] and graph.inputs[a] == graph.inputs[b]
    ]
    if not pairs:
        return inserted(random, graph)
    kept, gone = random.choice(pairs)
    return without(graph, gone, (kept,))


def copied(random: Random, graph: Graph) -> Graph:
    """Compute an operator twice; its last user reads the copy."""
    used = [node.id for node in graph.ops if graph.consumers[node.id]]
    if not used:
        return graph
    rows, at = rows_of(graph), random.choice(used)
    reads = rows[max(user for user, _ in graph.consumers[at])][2]
    reads[:] = [NEW if i == at else i for i in reads]
    return built([*rows[: at + 1], (NEW, *rows[at][1:]), *rows[at + 1 :]])


def relabelled(random: Random, graph: Graph) -> Graph:
    """Give an operator another attribute, operator or type."""
    if not graph.ops:
        return graph
    at = random.choice(graph.ops).id
    change = random.choice([{"attrs": {"axis": 2}}, {"op": random.choice(OPS)}, {"type": "v"}])
    return built([(id, replace(node, **change) if id == at else node, inputs) for id, node, inputs in rows_of(graph)])


def rewired(random: Random, graph: Graph) -> Graph:
    """Let a node read another value."""
    if not graph.edges:
        return graph
    rows, edge = rows_of(graph), random.choice(graph.edges)
    rows[edge.target][2][edge.index] = random.randrange(edge.target)
    return built(rows)


EDITS = (inserted, deleted, merged, copied, relabelled, rewired)
