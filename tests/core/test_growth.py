"""Work on a received graph grows in proportion to its text, also where it is deep or wide."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from workbench.experiments.reduce.size import count_operators
from workbench.graph.diff import diff
from workbench.graph.layers import layered, layered_pair
from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.scopes import DEPTH, path_of
from workbench.widgets.payload import DEEPEST, encode_graph


def lines(run: Callable[[], object]) -> int:
    """Count the lines of Python that a call runs."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def nested(size: int) -> Graph:
    """A function in a function, and so on, and an operator in the innermost."""
    builder = GraphBuilder("nested", "relax")
    group = None
    for _ in range(size):
        group = builder.group("function", "f", group)
    data = builder.node("param", "x", type="t", group=0)
    builder.outputs = [builder.node("op", "relax.nn.relu", [data], type="t", group=group)]
    return builder.build()


def wide(size: int, op: str = "relax.add") -> Graph:
    """One operator that takes one value many times."""
    builder = GraphBuilder("wide", "relax")
    data = builder.node("param", "x", type="t")
    builder.outputs = [builder.node("op", op, [data] * size, type="t")]
    return builder.build()


def scoped(size: int) -> Graph:
    """Operators in one deep scope, and as many that a pass made before them."""
    builder = GraphBuilder("scoped", "relax")
    node = builder.node("param", "x", type="t")
    for place in range(20):
        scope = "/".join(["a"] * size) if place >= 10 else ""
        node = builder.node("op", "relax.nn.relu", [node], type="t", scope=scope)
    builder.outputs = [node]
    return builder.build()


def masked(size: int, first: str = "relax.exp") -> Graph:
    """A chain of operators that all take one mask."""
    builder = GraphBuilder("masked", "relax")
    mask = builder.node("param", "mask", type="t")
    node = builder.node("op", first, [builder.node("param", "x", type="t")], type="t")
    for _ in range(size):
        node = builder.node("op", "relax.multiply", [node, mask], type="t")
    builder.outputs = [node]
    return builder.build()


def many(size: int) -> Graph:
    """Functions of one operator each."""
    builder = GraphBuilder("many", "relax")
    for place in range(size):
        group = builder.group("function", f"f{place}", None)
        data = builder.node("param", "x", type="t", group=group)
        builder.outputs = [builder.node("op", "relax.nn.relu", [data], type="t", group=group)]
    return builder.build()


def layer_both(graph: Graph) -> object:
    return layered_pair(graph, graph, diff(graph, graph))


WORK: dict[str, tuple[Callable[[int], Graph], Callable[[Graph], object]]] = {
    "layers of nested groups": (nested, lambda graph: layered(graph)),
    "layers of two nested graphs": (nested, layer_both),
    "layers of many functions": (many, lambda graph: layered(graph)),
    "layers of deep scopes": (scoped, lambda graph: layered(graph)),
    "dot of nested groups": (nested, lambda graph: graph.to_graphviz().source),
    "payload of nested groups": (nested, encode_graph),
    "diff of wide operators": (wide, lambda graph: diff(graph, wide(len(graph.edges), "relax.multiply"))),
    "diff of users of one mask": (masked, lambda graph: diff(graph, masked(len(graph.nodes) - 3, "relax.tanh"))),
    "diff of a lost operand": (wide, lambda graph: diff(graph, wide(len(graph.edges) - 1))),
}


@pytest.mark.parametrize("name", WORK)
def test_work_is_in_proportion_to_size(name: str) -> None:
    make, work = WORK[name]
    small, large = make(150), make(600)
    assert lines(lambda: work(large)) < 8 * lines(lambda: work(small))


def test_inner_scopes_are_left_out_of_a_deep_path() -> None:
    assert path_of(scoped(200).nodes[-1]) == ("a",) * DEPTH


def test_the_page_gets_boxes_of_bounded_depth() -> None:
    sent = encode_graph(nested(2000))
    assert "group" in sent
    assert "node" in sent
    assert len(sent["group"]["kind"]) == DEEPEST
    assert sent["node"]["group"][1:] == bytes([DEEPEST - 1])


def test_a_dot_of_layers_holds_kernels_with_lower_ids() -> None:
    builder = GraphBuilder("layered", "relax")
    kernel = builder.group("primitive", "fused", 1)
    builder.group("scope", "layer", None)
    builder.node("op", "relax.nn.relu", [], group=kernel)
    assert builder.build().to_graphviz().source.index("cluster_1") < builder.build().to_graphviz().source.index("relu")


def test_a_long_chain_of_functions_is_counted_without_recursion() -> None:
    builder = GraphBuilder("calls", "relay")
    for at in range(2000):
        group = builder.group("function", f"f{at}", None)
        builder.node("call", f"@f{at + 1}", group=group)
    builder.node("op", "exp", group=1999)
    assert count_operators(builder.build()) == 1
