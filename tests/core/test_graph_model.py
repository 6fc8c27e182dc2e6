"""The Graph itself: order, groups, kernels, depth."""

from __future__ import annotations

import gc
import re

import pytest
from hypothesis import given
from random_graphs import graphs

from workbench.graph.diff import diff
from workbench.graph.model import Graph, GraphBuilder, collector_paused, depth


def fused_pair():
    """x -> [kernel: add -> relu] -> neg, with a composite inside the kernel."""
    b = GraphBuilder("main", "relay")
    main = b.group("function", "main", None)
    kernel = b.group("primitive", "fused_add_relu", main)
    inner = b.group("composite", "relu", kernel)
    x = b.node("param", "x", type="t", group=main)
    add = b.node("op", "add", (x, x), group=kernel)
    relu = b.node("op", "nn.relu", (add,), group=inner)
    b.outputs = [b.node("op", "negative", (relu,), group=main)]
    return b.build()


def test_an_argument_used_twice_is_two_edges_in_argument_order():
    graph = fused_pair()
    assert graph.inputs[1] == (0, 0)
    assert graph.consumers[0] == ((1, 0), (1, 1))
    assert [edge.type for edge in graph.edges[:2]] == ["t", "t"]


def test_a_kernel_is_the_outermost_fused_group():
    graph = fused_pair()
    assert [graph.kernel_of(i) for i in range(4)] == [None, 1, 1, None]
    assert [group.name for group in graph.ancestors(2)] == ["relu", "fused_add_relu", "main"]
    assert graph.members == ((0, 3), (1,), (2,))


def test_kernels_counts_fused_groups_that_compute_and_operators_outside_one():
    graph = fused_pair()
    assert graph.kernel_count == 2
    b = GraphBuilder("empty kernel", "relay")
    b.node("param", "x", group=b.group("primitive", "identity", None))
    assert b.build().kernel_count == 0


def test_an_empty_graph_has_no_kernels_no_ops_and_no_depth():
    graph = GraphBuilder("", "relay").build()
    assert (graph.kernel_count, graph.ops, depth(graph)) == (0, (), 0)


@given(graphs())
def test_inputs_and_consumers_are_the_edges_read_from_both_ends(graph):
    forward = {(e.source, e.target, e.index) for e in graph.edges}
    assert forward == {(s, t, i) for t, uses in enumerate(graph.inputs) for i, s in enumerate(uses)}
    assert forward == {(s, t, i) for s, uses in enumerate(graph.consumers) for t, i in uses}


@given(graphs())
def test_depth_is_the_longest_path_and_the_nesting(graph):
    def below(id):
        return 1 + max((below(source) for source in graph.inputs[id]), default=0)

    def nesting(id):
        return 0 if id is None else 1 + nesting(graph.groups[id].parent)

    longest = max((below(node.id) for node in graph.nodes), default=0)
    assert depth(graph) == longest + max((nesting(group.id) for group in graph.groups), default=0)


def test_a_chain_deeper_than_pythons_stack_has_its_depth():
    b = GraphBuilder("chain", "relay")
    at = b.node("param", "x")
    for _ in range(20_000):
        at = b.node("op", "negative", (at,))
    assert depth(b.build()) == 20_001


@given(graphs())
def test_graphviz_text_holds_every_node_and_edge_and_no_markup_of_a_name(graph):
    source = graph.to_graphviz().source
    assert source.count(" -> ") >= len(graph.edges)
    assert "label=<" not in source


def chained(*ops: str) -> Graph:
    builder = GraphBuilder("g", "relax")
    at = builder.node("param", "x")
    for op in ops:
        at = builder.node("op", op, [at])
    return builder.build()


@pytest.mark.parametrize(
    ("ops", "kernels"),
    [
        (("nn.relu", "on_device", "exp"), 2),
        (("relax.reshape", "relax.nn.relu"), 2),
        (("relax.reshape",), 1),
        (("fused_add", "relax.reshape"), 1),
        (("fused_add", "relax.reshape", "relax.exp"), 3),
        (
            (
                "relax.vm.alloc_storage",
                "relax.vm.alloc_tensor",
                "fused_add",
                "relax.vm.kill_object",
                "vm.builtin.reshape",
            ),
            1,
        ),
        (("vm.builtin.paged_attention_kv_cache_append",), 1),
    ],
)
def test_kernel_is_work(ops: tuple[str, ...], kernels: int) -> None:
    assert chained(*ops).kernel_count == kernels


def test_a_diff_in_a_notebook_is_a_table_of_counts():
    graph = chained("exp", "add")
    assert re.match('<p>no change</p><table><tr><th style="[^"]*">kept</th>', diff(graph, graph)._repr_html_())


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_paused_for_a_call_and_then_as_before(enabled):
    @collector_paused()
    def call():
        seen.append(gc.isenabled())
        raise KeyError

    seen: list[bool] = []
    if not enabled:
        gc.disable()
    try:
        for _ in range(2):
            with pytest.raises(KeyError):
                call()
            assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert seen == [False, False]
