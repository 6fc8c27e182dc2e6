"""Laws of every diff of two graphs. On small graphs, it has the fewest possible edits."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from diff_laws import check, terms
from fewest_edits import Fewest, edited, edits
from hypothesis import given
from random_graphs import graphs, pairs
from test_diff_examples import CHAIN, ONE_CAST, TWO_CASTS

from workbench.graph.changes import MARKS
from workbench.graph.diff import diff
from workbench.widgets.payload import encode_diff


@given(graphs())
def test_a_graph_and_itself_do_not_differ(graph):
    same = diff(graph, graph)
    assert same.empty
    assert sorted(same.kept) == [(id, id) for id in range(len(graph.nodes))]


@given(pairs)
def test_a_diff_keeps_its_laws(pair):
    check(*pair, diff(*pair))


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
    if diff(*pair).empty:
        known = {}
        assert Counter(terms(known, pair[0])) == Counter(terms(known, pair[1]))


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


@pytest.mark.parametrize("seeds", [range(1000), pytest.param(range(1000, 8000), marks=pytest.mark.long)], ids=len)
def test_of_many_edits_none_has_a_mapping_with_fewer(seeds):
    more = Counter()
    for seed in seeds:
        pair = edited(Random(seed))
        found = diff(*pair)
        assert found.edits == edits(found)
        more[found.edits - Fewest(*pair).count()] += 1
    assert more == {0: len(seeds)}
