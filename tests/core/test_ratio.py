"""Which of two is faster, on noise of a known kind: the interval holds the truth, and equal programs are not told apart."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf

import numpy as np
import pytest

from workbench.measurement.verdict import NEUTRAL, compared, repetition

RACES = 400
Noise = Callable[[np.random.Generator, int], np.ndarray]


def even(random: np.random.Generator, rounds: int) -> np.ndarray:
    """Each run is off by 5 % or so."""
    return random.normal(0, 0.05, rounds)


def spikes(random: np.random.Generator, rounds: int) -> np.ndarray:
    """One run in ten is interrupted and takes half as long again, or far longer."""
    return random.normal(0, 0.01, rounds) + (random.random(rounds) < 0.1) * random.exponential(0.5, rounds)


def drifting(random: np.random.Generator, rounds: int) -> np.ndarray:
    """A run is slow for the reason that the one before it was."""
    found, last = np.empty(rounds), 0.0
    for place, step in enumerate(random.normal(0, 0.02, rounds)):
        found[place] = last = 0.6 * last + step
    return found


def raced(noise: Noise, ratio: float, rounds: int, seed: int):
    random = np.random.default_rng(seed)
    first, second = np.exp(noise(random, rounds)) * 1e-3 * ratio, np.exp(noise(random, rounds)) * 1e-3
    return compared(first.tolist(), second.tolist())


@pytest.mark.parametrize("rounds", [10, 30, 200])
@pytest.mark.parametrize("noise", [even, spikes])
def test_the_interval_holds_the_truth_as_often_as_it_says(noise: Noise, rounds: int) -> None:
    held = sum(low <= 1.1 <= high for low, high in _intervals(noise, 1.1, rounds))
    # 95 %, less three standard deviations of counting 400 races
    assert held / RACES >= 0.95 - 3 * (0.95 * 0.05 / RACES) ** 0.5


@pytest.mark.parametrize("rounds", [50, 200])
def test_runs_that_resemble_the_ones_before_count_for_less(rounds: int) -> None:
    held = sum(low <= 1.0 <= high for low, high in _intervals(drifting, 1.0, rounds))
    assert held / RACES >= 0.88


def _intervals(noise: Noise, ratio: float, rounds: int):
    found = [raced(noise, ratio, rounds, seed) for seed in range(RACES)]
    return [(each.low, each.high) for each in found]


@pytest.mark.parametrize("rounds", [10, 30, 200])
@pytest.mark.parametrize("noise", [even, spikes, drifting])
def test_a_program_is_not_faster_than_itself(noise: Noise, rounds: int) -> None:
    answers = [raced(noise, 1.0, rounds, seed).answer for seed in range(RACES)]
    assert answers.count("can't tell") >= 0.97 * RACES


@pytest.mark.parametrize(("ratio", "answer"), [(1.1, "yes"), (1 / 1.1, "no")])
@pytest.mark.parametrize("noise", [even, spikes, drifting])
def test_ten_percent_are_found_in_200_rounds(noise: Noise, ratio: float, answer: str) -> None:
    answers = [raced(noise, ratio, 200, seed).answer for seed in range(RACES)]
    assert answers.count(answer) >= 0.95 * RACES


def test_what_slows_both_decides_nothing() -> None:
    """A machine that is three times slower for a while: medians of the two lists would need far more rounds."""
    random = np.random.default_rng(1)
    weather = np.repeat(random.choice([1.0, 3.0], 20), 10)
    first, second = (weather * np.exp(random.normal(0, 0.01, 200)) for _ in range(2))
    found = compared((1.05 * first).tolist(), second.tolist())
    assert found.answer == "yes"
    assert found.low <= 1.05 <= found.high


def test_a_difference_inside_the_neutral_band_is_not_told_however_sure() -> None:
    assert compared([1.0 + NEUTRAL / 2] * 1000, [1.0] * 1000).answer == "can't tell"


def test_too_few_rounds_give_no_interval() -> None:
    found = compared([2.0, 2.1], [1.0, 1.1])
    assert (found.low, isinf(found.high), found.answer) == (0.0, True, "can't tell")


def test_swapping_the_two_turns_the_answer_over() -> None:
    random = np.random.default_rng(3)
    first, second = np.exp(random.normal(0.2, 0.05, 50)), np.exp(random.normal(0, 0.05, 50))
    there, back = compared(first, second), compared(second, first)
    assert (there.answer, back.answer) == ("yes", "no")
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.low == pytest.approx(1 / back.high)


def test_repetition_is_one_for_independent_rounds_and_grows_with_blocks() -> None:
    random = np.random.default_rng(5)
    assert repetition(random.normal(size=2000)) < 1.3
    # each value ten times in a row: ten rounds say what one says
    assert 6 < repetition(np.repeat(random.normal(size=200), 10)) < 15
