"""Laws of every diff of two graphs. On small graphs, it has the fewest possible edits."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from random import Random

import pytest
from fewest_edits import Fewest, edited, edits
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import graphs, pairs
from test_diff_examples import CHAIN, ONE_CAST, TWO_CASTS

from workbench.graph.changes import MARKS
from workbench.graph.diff import diff
from workbench.graph.identity import label
from workbench.graph.model import Graph
from workbench.widgets.payload import encode_diff


def value(graph: Graph):
    """What a node computes, spelled out: its label and the values of its inputs."""

    @lru_cache(None)
    def of(id):
        return (label(graph.nodes[id]), tuple(of(i) for i in graph.inputs[id]))

    return of


@given(graphs())
def test_a_graph_and_itself_do_not_differ(graph):
    same = diff(graph, graph)
    assert same.empty
    assert sorted(same.kept) == [(id, id) for id in range(len(graph.nodes))]


@given(pairs)
def test_every_node_is_in_exactly_one_class(pair):
    before, after = pair
    d = diff(before, after)
    both = [*d.kept, *d.changed]
    ours = Counter(
        [b for b, _ in both] + [*d.removed] + [b for many, _ in d.merged for b in many] + [b for b, _ in d.split]
    )
    theirs = Counter(
        [a for _, a in both] + [*d.added] + [a for _, a in d.merged] + [a for _, many in d.split for a in many]
    )
    assert ours == Counter(range(len(before.nodes)))
    assert theirs == Counter(range(len(after.nodes)))


@given(pairs)
def test_a_merge_has_several_nodes_before_and_a_split_several_after(pair):
    d = diff(*pair)
    assert all(len(set(many)) == len(many) >= 2 for many, _ in d.merged)
    assert all(len(set(many)) == len(many) >= 2 for _, many in d.split)


@given(pairs)
def test_kept_nodes_have_equal_labels_and_inputs_that_correspond(pair):
    before, after = pair
    d = diff(before, after)
    was, now = value(before), value(after)
    for b, a in d.kept:
        assert label(before.nodes[b]) == label(after.nodes[a])
        assert len(before.inputs[b]) == len(after.inputs[a])
        for i, j in zip(before.inputs[b], after.inputs[a], strict=True):
            assert j in d.mapping.get(i, ()) or was(i) == now(j)


@given(pairs)
def test_changed_nodes_really_differ(pair):
    before, after = pair
    d = diff(before, after)
    was, now = value(before), value(after)
    assert all(was(b) != now(a) for b, a in d.changed)


@given(pairs)
def test_the_diff_read_backwards_counts_the_same(pair):
    before, after = pair
    there, back = diff(before, after).counts, diff(after, before).counts
    swapped = {
        **back,
        "removed": back["added"],
        "added": back["removed"],
        "merged": back["split"],
        "split": back["merged"],
    }
    assert there == swapped


@given(pairs)
def test_an_empty_diff_means_the_same_program(pair):
    before, after = pair
    if diff(before, after).empty:
        was, now = value(before), value(after)
        assert Counter(was(n.id) for n in before.nodes) == Counter(now(n.id) for n in after.nodes)


@given(pairs)
def test_the_marks_that_the_page_reads_say_what_the_diff_says(pair):
    before, after = pair
    d = diff(before, after)
    coded = encode_diff(d, before, after)
    assert [MARKS[m] for m in coded["before_mark"]].count("removed") == len(d.removed)
    assert [MARKS[m] for m in coded["after_mark"]].count("added") == len(d.added)
    assert [MARKS[m] for m in coded["before_mark"]].count("kept") == len(d.kept)
    assert [MARKS[m] for m in coded["after_mark"]].count("kept") == len(d.kept)


def test_the_count_by_every_mapping_on_graphs_one_can_count_by_hand():
    assert Fewest(CHAIN, CHAIN).count() == 0
    assert Fewest(TWO_CASTS, ONE_CAST).count() == 1, "the second cast is gone"
    assert Fewest(ONE_CAST, TWO_CASTS).count() == 1


@given(st.randoms(use_true_random=False))
def test_no_mapping_has_fewer_edits(random):
    before, after = edited(random)
    d = diff(before, after)
    assert d.edits == edits(d) == Fewest(before, after).count()


@pytest.mark.parametrize("seeds", [range(1000), pytest.param(range(1000, 8000), marks=pytest.mark.long)], ids=len)
def test_of_many_edits_none_has_a_mapping_with_fewer(seeds):
    more = Counter()
    for seed in seeds:
        pair = edited(Random(seed))
        more[diff(*pair).edits - Fewest(*pair).count()] += 1
    assert more == {0: len(seeds)}
