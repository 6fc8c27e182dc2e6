"""Diffs after each other: what is true of the one that they make, and of `diff` of two states of a trace."""

from __future__ import annotations

import doctest
from itertools import pairwise

from diff_laws import check, terms
from graphs import traced
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import changed, pairs, programs
from test_diff_examples import CHAIN, ONE_CAST, TWO_CASTS, graph

import workbench as wb
from workbench.graph import changes as module
from workbench.graph.changes import GraphDiff, compose
from workbench.graph.diff import diff, matched
from workbench.graph.model import Graph


@st.composite
def pipelines(draw: st.DrawFn) -> list[Graph]:
    """A program after each of a few edits."""
    found = [draw(programs())]
    for _ in range(draw(st.integers(2, 4))):
        found.append(changed(draw(st.randoms(use_true_random=False)), found[-1], 1))
    return found


def composed(states: list[Graph]) -> GraphDiff:
    return compose([diff(was, now) for was, now in pairwise(states)], states[0], states[-1])


@given(pairs)
def test_an_empty_diff_adds_nothing(pair):
    before, after = pair
    d = diff(before, after)
    assert compose([d, diff(after, after)], before, after) == d
    assert compose([diff(before, before), d], before, after) == d


@given(pairs)
def test_one_diff_is_itself(pair):
    assert compose([diff(*pair)], *pair) == diff(*pair)


@given(pairs)
def test_there_and_back_is_empty(pair):
    before, after = pair
    assert compose([diff(before, after), diff(after, before)], before, before).empty


@given(pipelines())
def test_a_composed_diff_keeps_the_laws(states):
    check(states[0], states[-1], composed(states), composed=True)


@given(pipelines())
def test_whole_is_what_the_steps_made(states):
    trace = traced(*states)
    d, steps = trace.diff, [step.diff for step in trace.steps]
    assert d == compose(steps, states[0], states[-1]) == diff(states[0], states[-1])
    assert diff(states[-1], states[0]) == d.inverse()
    assert steps == [matched(was, now) for was, now in pairwise(states)]
    known = {}
    was, now = terms(known, states[0]), terms(known, states[-1])
    for b in range(len(states[0].nodes)):
        followed = {b}
        for step in steps:
            followed = {a for id in followed for a in step.mapping.get(id, ())}
        images = set(d.mapping.get(b, ()))
        again = {a for a in images - followed if was[b] == now[a]}
        assert images - again <= followed, "a pair is one that the steps made, or a value that was put back"
        assert images or not followed or any(followed & {*d.mapping.get(other, ())} for other in d.mapping)


def test_a_merge_stays_a_merge_whatever_changes_after_it():
    cast = [("cast", "cast", "n"), ("a", "relu", "cast"), ("b", "tanh", "cast"), ("out", "add", "a b")]
    d = composed([TWO_CASTS, ONE_CAST, graph(("x", None, ""), ("n", "abs", "x"), *cast)])
    assert (d.merged, d.added, d.removed) == ((((1, 2), 2),), (1,), ())


@given(pipelines())
def test_a_value_that_is_there_at_both_ends_is_not_removed_and_added(states):
    d = composed(states)
    known = {}
    was, now = terms(known, states[0]), terms(known, states[-1])
    assert not {was[b] for b in d.removed} & {now[a] for a in d.added}


def test_a_node_that_each_pass_changes_is_one_node():
    def state(op: str, axis: int) -> Graph:
        return graph(("x", None, ""), ("a", op, "x", {"attrs": {"axis": axis}}), ("b", "exp", "a"))

    states = [state("nn.conv2d", 1), state("nn.conv2d_NCHWc", 2), state("NCHWc", 2)]
    assert diff(states[0], states[2]).removed == (1,), "from end to end nothing tells that they are one"
    assert composed(states).changed == ((1, 1),)


def test_merges_and_splits_in_a_row():
    assert composed([TWO_CASTS, ONE_CAST, TWO_CASTS]).empty
    assert composed([ONE_CAST, TWO_CASTS, ONE_CAST]).empty
    assert composed([TWO_CASTS, TWO_CASTS, ONE_CAST]) == diff(TWO_CASTS, ONE_CAST)


def test_what_is_put_back_is_kept():
    without = graph(("x", None, ""), ("a", "relu", "x"), ("c", "exp", "a"))
    assert composed([CHAIN, without, CHAIN]).empty


def test_the_rules_have_an_example():
    assert doctest.testmod(module, extraglobs={"wb": wb}).failed == 0
