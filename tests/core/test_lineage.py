"""Lineage on graphs written by hand: a node is followed by the diff, by its span, or by where it stands."""

from __future__ import annotations

import pytest
from graphs import state, traced

from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace


def chain(*ops: str, spans: tuple[str, ...] = (), kernel: bool = False) -> Graph:
    """A parameter and operators, each reading the one before it, in one kernel if wanted."""
    build = GraphBuilder("g", "relay")
    group = build.group("primitive", "fused", None) if kernel else None
    node = build.node("param", "x", type="T")
    for place, op in enumerate(ops):
        span = spans[place] if place < len(spans) else ""
        node = build.node("op", op, (node,), type="T", span=span, group=group)
    build.outputs.append(node)
    return build.build()


def ops(graph: Graph, ids: tuple[int, ...]) -> list[str]:
    return [graph.nodes[id].op for id in ids]


def test_what_stays_the_same_is_followed_exactly_into_its_kernel() -> None:
    t = traced(chain("exp", "log"), chain("exp", "log", kernel=True))
    found = t.lineage(0, 1, "before")
    assert (found.origins, found.ends, found.sure) == ((1,), (1,), "exact")
    assert found.kernels == ("fused",)


def test_a_variant_of_an_operator_is_a_structural_link() -> None:
    t = traced(chain("exp", "nn.relu", "log"), chain("exp", "nn.leaky_relu", "log"))
    found = t.lineage(0, 2)
    assert ops(t.start.graph, found.origins) == ["nn.relu"]
    assert found.sure == "structural"


def test_an_operator_taken_apart_is_followed_by_the_place_it_stood_in() -> None:
    t = traced(chain("exp", "gelu", "log"), chain("exp", "erf", "multiply", "log"))
    found = t.lineage(0, 2, "before")
    assert ops(t.end.graph, found.ends) == ["erf", "multiply"]
    assert found.sure == "place"
    assert all(ops(t.start.graph, t.lineage(0, id).origins) == ["gelu"] for id in found.ends)


def test_a_span_says_more_than_a_place() -> None:
    before = chain("exp", "gelu", "log", spans=("", "model.py:7"))
    after = chain("exp", "erf", "multiply", "log", spans=("", "", "model.py:7"))
    found = traced(before, after).lineage(0, 2, "before")
    assert (ops(after, found.ends), found.sure) == (["multiply"], "span")


def test_what_was_taken_out_becomes_nothing_not_what_it_read() -> None:
    t = traced(chain("exp", "copy", "log"), chain("exp", "log"))
    assert t.lineage(0, 2, "before").ends == ()
    assert t.lineage(0, 1, "before").ends == (1,)


def test_a_node_of_the_middle_is_followed_both_ways() -> None:
    t = traced(chain("exp", "gelu"), chain("exp", "erf"), chain("exp", "erf", kernel=True))
    found = t.lineage(0, 2)
    assert [len(ids) for ids in found.places] == [1, 1, 1]
    assert found.here == 1
    assert ops(t.start.graph, found.origins) == ["gelu"]
    assert "Pass0: gelu -> erf (place)" in str(found)
    assert "in kernel fused" in str(found)


def test_links_join_the_places_they_are_between() -> None:
    t = traced(chain("exp", "gelu", "log"), chain("exp", "erf", "multiply", "log"), chain("erf", "multiply", "log"))
    for step in range(2):
        for node in t.steps[step].after.nodes:
            found = t.lineage(step, node.id)
            for link in found.links:
                assert link.before in found.places[link.transition]
                assert link.after in found.places[link.transition + 1]


def test_passes_within_passes_are_steps_of_the_way() -> None:
    a, b, c = map(state, (chain("exp"), chain("log"), chain("abs")))
    steps = (
        Step("Outer", a, c, "changed"),
        Step("First", a, b, "changed", depth=1),
        Step("Second", b, c, "changed", depth=1),
    )
    t = Trace("t", "relay", steps, a, 3)
    assert [steps[way.step].name for way in t.transitions] == ["First", "Second"]
    assert t.transitions[0].diff is steps[1].diff


@pytest.mark.parametrize(("step", "node", "words"), [(5, 0, "no step 5"), (0, 99, "no node 99")])
def test_what_is_not_there_is_refused_in_words(step: int, node: int, words: str) -> None:
    with pytest.raises(WorkbenchError, match=words):
        traced(chain("exp"), chain("log")).lineage(step, node)
