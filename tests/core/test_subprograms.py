"""Any operators of a graph as a program: its inputs and its outputs."""

from __future__ import annotations

import random

import pytest

from workbench.analysis.legality import IllegalEdit
from workbench.analysis.subprograms import check_pairs, operators, subprogram
from workbench.graph.model import Graph, GraphBuilder

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
