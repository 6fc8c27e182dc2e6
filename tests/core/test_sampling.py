"""How often to run: told by a clock that the test moves."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.measurement.repeats import (
    HEATS,
    LEAST_SAMPLES,
    MOST_ROUNDS,
    MOST_RUNS,
    MOST_SAMPLES,
    SAMPLE_SECONDS,
    interleave,
    quartiles,
    sample,
    settled,
)
from workbench.measurement.verdict import NOISE, Side, compared, judge


class Machine:
    """A function that takes `seconds` each time, on a clock of its own."""

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self.seconds = list(seconds)
        self.calls: list[int] = []

    def run(self, number: int) -> float:
        took = self.seconds[min(len(self.calls), len(self.seconds) - 1)]
        self.calls.append(number)
        self.now += took * number
        return took

    def clock(self) -> float:
        return self.now


def timed(machine: Machine, budget: float, **how):
    return sample(machine.run, budget, clock=machine.clock, **how)


def test_a_steady_function_stops_as_soon_as_it_has_settled():
    found = timed(Machine(1e-3), budget=100)
    assert found["settled"]
    assert len(found["samples"]) == 2 * LEAST_SAMPLES


def test_a_sample_repeats_a_short_function_and_not_a_long_one():
    assert timed(Machine(1e-4), 1)["number"] == round(SAMPLE_SECONDS / 1e-4)
    assert timed(Machine(1.0), 1)["number"] == 1
    assert timed(Machine(0.0), 1)["number"] == MOST_RUNS


def test_the_least_number_of_samples_is_taken_whatever_the_budget():
    assert len(timed(Machine(10.0), budget=0.5)["samples"]) == LEAST_SAMPLES
    assert len(timed(Machine(10.0), budget=0.0)["samples"]) == LEAST_SAMPLES


def test_a_noisy_function_stops_when_the_budget_is_spent():
    machine = Machine(1.0, 1.0, *(float(n) for n in range(1, 300)))
    found = timed(machine, budget=200)
    assert not found["settled"]
    assert machine.now >= 200
    assert sum(found["samples"][:-1]) <= 200


def test_never_more_than_the_most_samples():
    drifting = [1e-3 * 1.01**n for n in range(1000)]
    assert len(timed(Machine(*drifting), budget=1e9)["samples"]) == MOST_SAMPLES


def test_the_warm_up_is_not_a_sample():
    machine = Machine(5.0, 5.0, 1.0)
    assert set(timed(machine, budget=0.0)["samples"]) == {1.0}


def test_progress_rises_to_the_end():
    seen: list[float] = []
    timed(Machine(1.0), budget=8, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_settled_compares_the_halves():
    assert not settled([1.0] * (2 * LEAST_SAMPLES - 1))
    assert settled([1.0] * LEAST_SAMPLES + [1.01] * LEAST_SAMPLES)
    assert not settled([1.0] * LEAST_SAMPLES + [1.1] * LEAST_SAMPLES)


def test_quartiles_stand_in_order():
    low, middle, high = quartiles([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (low, middle, high) == (2.0, 3.0, 4.0)
    assert quartiles([7.0]) == (7.0, 7.0, 7.0)


@pytest.mark.parametrize("budget", [-1.0, 0.0])
def test_no_budget_is_no_division_by_zero(budget):
    assert timed(Machine(1.0), budget)["samples"]


class Pair:
    """Two functions on one clock, and what was asked of them in order."""

    def __init__(self, first: float, second: float) -> None:
        self.now = 0.0
        self.seconds = {"a": first, "b": second}
        self.order: list[str] = []
        self.heats: list[int] = []

    def load(self, heat: int):
        self.heats.append(heat)
        return [self.runner("a"), self.runner("b")]

    def runner(self, name: str):
        def run(number: int) -> float:
            self.order.append(name)
            self.now += self.seconds[name] * number
            return self.seconds[name]

        return run

    def race(self, budget: float, **how):
        return interleave(self.load, budget, clock=lambda: self.now, **how)


def test_a_race_gives_each_as_many_runs_in_turn():
    pair = Pair(1e-3, 2e-3)
    found = pair.race(4.0)
    assert len(found["samples_a"]) == len(found["samples_b"])
    assert set(found["samples_a"]) == {1e-3}
    assert set(found["samples_b"]) == {2e-3}
    assert 4.0 <= sum(found["samples_a"]) * found["number_a"] + sum(found["samples_b"]) * found["number_b"] < 4.5


def test_a_race_loads_both_anew_for_each_heat():
    pair = Pair(1e-3, 1e-3)
    pair.race(4.0)
    assert pair.heats == list(range(HEATS))


def test_who_goes_first_alternates():
    pair = Pair(1.0, 1.0)
    pair.race(100.0)
    # the first heat: both are tried once and warmed up, then rounds
    assert pair.order[4:12] == ["a", "b", "b", "a", "a", "b", "b", "a"]


def test_a_race_has_a_least_and_a_most():
    assert len(Pair(10.0, 10.0).race(0.0)["samples_a"]) >= LEAST_SAMPLES
    assert len(Pair(1e-6, 1e-6).race(1e9)["samples_a"]) <= MOST_ROUNDS + 2


def test_the_progress_of_a_race_rises_to_the_end():
    seen: list[float] = []
    Pair(1e-2, 1e-2).race(4.0, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


class Noisy(Pair):
    """A pair whose first one runs twice, with a factor for each loading of each of the three."""

    def __init__(self, seconds: tuple[float, float, float], spread: float, loads: float, seed: int = 0) -> None:
        super().__init__(0, 0)
        self.times, self.spread, self.loads = seconds, spread, loads
        self.random = np.random.default_rng(seed)

    def load(self, heat: int):
        self.heats.append(heat)
        return [self.one(seconds * np.exp(self.random.normal(0, self.loads))) for seconds in self.times]

    def one(self, seconds: float):
        def run(number: int) -> float:
            took = seconds * np.exp(self.random.normal(0, self.spread))
            self.now += took * number
            return took

        return run

    def judged(self):
        found = self.race(2.0)
        a, b, again = (found[f"samples_{name}"] for name in ("a", "b", "again"))
        return judge(Side("a"), Side("b"), compared(a, b), [compared(a, again)])


@pytest.mark.parametrize(
    ("factor", "spread", "heats", "answer"),
    [
        (0.5, 0.01, HEATS // 2, "yes"),
        (20, 0.01, HEATS // 2, "no"),
        (1, 0.01, HEATS // 2, "can't tell"),
        # the border of the neutral zone, and a ratio that is not yet known well
        (1.02, 0.01, HEATS, "can't tell"),
        (0.5, 0.3, HEATS, "yes"),
    ],
)
def test_a_race_ends_when_it_is_decided(factor: float, spread: float, heats: int, answer: str):
    pair = Noisy((1e-3, factor * 1e-3, 1e-3), spread, 0.0)
    assert pair.judged().answer == answer
    assert len(pair.heats) == heats


def test_a_race_on_a_noisy_machine_uses_its_budget_and_claims_nothing():
    pair = Noisy((1e-3, 5e-4, 1.1e-3), 0.01, 0.0)
    assert pair.judged().reason == NOISE
    assert len(pair.heats) == HEATS


def test_early_ends_claim_no_difference_of_equal_programs():
    """The addresses of a loaded program make up to one percent, which the rounds of a heat share."""
    pairs = [Noisy((1e-3, 1e-3, 1e-3), 0.01, 0.005, seed) for seed in range(100)]
    assert {pair.judged().answer for pair in pairs} == {"can't tell"}
    assert any(len(pair.heats) < HEATS for pair in pairs)
