"""ddmin: the result shows the symptom and no item of it can be left out; the number of tests is bounded."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.experiments.ddmin import ddmin


class Asked:
    """A symptom that shows where all items of one of the causes are; it counts its tests."""

    def __init__(self, *causes: set[int]) -> None:
        self.causes = causes
        self.tests = 0

    def __call__(self, some: tuple[int, ...]) -> bool:
        self.tests += 1
        assert list(some) == sorted(some), "the order of the items is kept"
        return any(cause <= set(some) for cause in self.causes)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, list[set[int]]]:
    size = draw(st.integers(1, 40))
    places = st.sets(st.integers(0, size - 1), min_size=1, max_size=min(5, size))
    return size, draw(st.lists(places, min_size=1, max_size=3))


@given(cases())
def test_no_item_of_the_result_can_be_left_out(case: tuple[int, list[set[int]]]) -> None:
    size, causes = case
    shows = Asked(*causes)
    found = ddmin(range(size), shows)
    assert shows(found)
    for item in found:
        assert len(found) == 1 or not shows(tuple(each for each in found if each != item))


@given(cases())
def test_a_single_cause_is_found_itself(case: tuple[int, list[set[int]]]) -> None:
    size, causes = case
    assert set(ddmin(range(size), Asked(causes[0]))) == causes[0]


@given(cases())
def test_number_of_tests_is_within_zellers_bound(case: tuple[int, list[set[int]]]) -> None:
    size, causes = case
    shows = Asked(*causes)
    ddmin(range(size), shows)
    assert shows.tests <= size**2 + 3 * size


@pytest.mark.parametrize("size", [2, 3, 13, 64, 300])
def test_one_item_takes_two_tests_a_halving(size: int) -> None:
    for cause in {0, size // 3, size - 1}:
        shows = Asked({cause})
        assert ddmin(range(size), shows) == (cause,)
        assert shows.tests <= 2 * ceil(log2(size))


def test_an_unresolved_test_counts_as_no() -> None:
    # two items that only build together with a third
    assert ddmin(range(4), lambda some: {0, 3} <= set(some) and 1 in some) == (0, 1, 3)
