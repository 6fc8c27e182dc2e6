"""The graphs of the kernels of two aligned builds, and the difference between them."""

from __future__ import annotations

from hypothesis import given
from test_alignment import built, fused, programs

from workbench.analysis.alignment import ONE, KernelGraphs, align, kernel_graphs
from workbench.graph.model import Graph, GraphBuilder


def drawn(left: Graph, right: Graph) -> KernelGraphs:
    return kernel_graphs(align(left, right))


def test_a_kernel_is_one_node_with_its_operators_and_the_input_is_drawn_once():
    shown = drawn(fused([[("exp", "layer.1.Exp"), ("exp", "layer.1.Log")]]), fused([[("exp", "layer.1.Exp")]]))
    x, kernel = shown.left.nodes
    assert (x.kind, x.op) == ("param", "x")
    assert (kernel.op, kernel.name, kernel.scope) == ("exp + 1", "fused", "layer.1")
    assert kernel.attrs == {"operators": "exp x 2", "computes": "layer.1.Exp, layer.1.Log", "operations": 12}
    assert [(edge.source, edge.target) for edge in shown.left.edges] == [(0, 1)]
    assert shown.left.outputs == (1,)


def test_the_marks_are_those_of_the_alignment():
    shown = drawn(
        built([("layout_transform", ""), ("exp", "ab"), ("log", "c"), ("log", "d"), ("exp", "e"), ("exp", "f")]),
        built([("exp", "a"), ("exp", "b"), ("log", "cd"), ("log", "e"), ("exp", "f")]),
    )
    changes = shown.changes
    assert (changes.split, changes.merged) == (((2, (1, 2)),), (((3, 4), 3),))
    assert (changes.kept, changes.changed) == (((0, 0), (6, 5)), ((5, 4),))
    assert (changes.removed, changes.added) == ((1,), ())


def test_a_parameter_of_one_side_is_not_drawn():
    builder = GraphBuilder("g", "relax")
    x, weight = (builder.node("param", name, type="Tensor[(2, 3), float32]") for name in ("x", "weight"))
    builder.outputs = [builder.node("op", "add", [x, weight], type="Tensor[(2, 3), float32]", source=("a",))]
    shown = drawn(built([("add", "a")]), builder.build())
    assert [node.op for node in shown.right.nodes] == ["x", "add"]


def test_a_value_is_followed_through_a_tuple_outside_of_kernels():
    builder = GraphBuilder("g", "relay")
    x = builder.node("param", "x", type="Tensor[(2, 3), float32]")
    first, second = (builder.node("op", op, [x], type="Tensor[(2, 3), float32]", source=(op,)) for op in ("exp", "log"))
    both = builder.node("tuple", "", [first, second])
    builder.outputs = [builder.node("op", "concatenate", [both], type="Tensor[(4, 3), float32]", source=("c",))]
    graph = builder.build()
    assert [(e.source, e.target) for e in drawn(graph, graph).left.edges] == [(0, 1), (0, 2), (1, 3), (2, 3)]


@given(programs, programs)
def test_each_kernel_is_a_node_and_each_node_has_one_mark(left: Graph, right: Graph):
    alignment = align(left, right)
    shown = kernel_graphs(alignment)
    changes = shown.changes
    for at, graph in enumerate((shown.left, shown.right)):
        kernels = [node.id for node in graph.nodes if node.kind == "call"]
        assert list(shown.nodes[at]) == list(range(len((alignment.left, alignment.right)[at].kernels)))
        assert sorted(shown.nodes[at].values()) == kernels
    many, few = ([pair[at] for pair in changes.merged] for at in (0, 1))
    one, several = ([pair[at] for pair in changes.split] for at in (0, 1))
    pairs = [*changes.kept, *changes.changed]
    before = [*(b for b, _ in pairs), *(id for ids in many for id in ids), *one, *changes.removed]
    after = [*(a for _, a in pairs), *few, *(id for ids in several for id in ids), *changes.added]
    assert sorted(before) == [node.id for node in shown.left.nodes]
    assert sorted(after) == [node.id for node in shown.right.nodes]


@given(programs)
def test_a_build_and_itself_have_only_kept_kernels_where_they_align_one_to_one(graph: Graph):
    alignment = align(graph, graph)
    moves = [group for group in alignment.groups if any(group.moves)]
    if all(group.kind == ONE for group in alignment.groups) and not moves:
        shown = kernel_graphs(alignment)
        assert shown.changes.empty
        assert shown.left == shown.right
