"""The diff has the fewest edits there are, on graphs small enough to look at every mapping."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from fewest_edits import Fewest, edited, edits
from hypothesis import given
from hypothesis import strategies as st
from test_diff_examples import CHAIN, ONE_CAST, TWO_CASTS

from workbench.graph.diff import diff


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
