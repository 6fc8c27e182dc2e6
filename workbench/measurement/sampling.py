"""The number of samples: after a warm-up, until the spread settles or the budget ends. Plain numbers, no TVM."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Run = Callable[[int], float]
"runs a function that many times and returns the mean seconds of one"
SAMPLE_SECONDS = 0.005
"a sample runs the function as often as this takes, so that the clock's own grain does not show"
LEAST_SAMPLES, MOST_SAMPLES = 10, 200
MOST_RUNS = 100_000
"runs of a sample"
WARM_UP_SAMPLES = 1
"before the first sample, and after each loading in a race"
SETTLED = 0.02
"the quartiles of the median over the last half of the samples lie this close, relatively"


def sample(
    run: Run,
    budget: float,
    progress: Callable[[float], None] = lambda _fraction: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Time a function.

    Parameters
    ----------
    run
        Runs it that many times and gives the mean seconds of one.
    budget
        Seconds to spend after the warm-up; at least LEAST samples are taken whatever it is.

    Returns
    -------
    dict
        `samples` (seconds of one run, in order), `number` (runs a sample), `settled`.
    """
    number = runs_in_sample(run)
    warm_up([run], [number])
    started = clock()
    samples: list[float] = []
    while len(samples) < MOST_SAMPLES:
        samples.append(run(number))
        spent = clock() - started
        progress(1.0 if spent >= budget else spent / budget)
        if len(samples) >= LEAST_SAMPLES and (spent > budget or settled(samples)):
            break
    return {"samples": samples, "number": number, "settled": settled(samples)}


def runs_in_sample(run: Run) -> int:
    """Return the number of runs that take about SAMPLE_SECONDS."""
    return max(1, min(MOST_RUNS, round(SAMPLE_SECONDS / max(run(1), 1e-9))))


def warm_up(runs: Sequence[Run], numbers: Sequence[int]) -> None:
    """Run each function for WARM_UP_SAMPLES samples that are not counted."""
    for _ in range(WARM_UP_SAMPLES):
        for run, number in zip(runs, numbers, strict=True):
            run(number)


def settled(samples: list[float]) -> bool:
    """Return whether the second half of the samples has the same median as the first, within SETTLED."""
    if len(samples) < 2 * LEAST_SAMPLES:
        return False
    half = len(samples) // 2
    early, late = float(np.median(samples[:half])), float(np.median(samples[half:]))
    return abs(early - late) <= SETTLED * max(early, late)


def quartiles(samples: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.percentile(samples, [25, 50, 75])
    return float(low), float(middle), float(high)


MOST_ROUNDS, HEATS = 1000, 8
TURNS = (0, 1, 0)
"which of the two configurations of a race has its turn in a round: the first one twice, so that a race holds its own A/A"


def turns(heat: int) -> Sequence[int]:
    """The places of TURNS in the order in which a heat loads them: the first to be loaded alternates."""
    places = range(len(TURNS))
    return places if heat % 2 == 0 else places[::-1]


def interleave(
    load: Callable[[int], Sequence[Run]],
    budget: float,
    progress: Callable[[float], None] = lambda _fraction: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Time functions in turn: what slows the machine down for a while slows all of them.

    Parameters
    ----------
    load
        Loads all anew for a heat of that number: each runs its function that many times and gives the mean seconds of one.
        Where two equal programs happen to lie in memory can make a percent between them, and each heat places them anew.
    budget
        Seconds of runs, warm-up and loading not counted; at least LEAST rounds are run whatever it is.

    Returns
    -------
    dict
        `samples_a`, `samples_b` (seconds of one run, entries of one place belong together), `number_a`, `number_b`; of a third
        function, which is `a` again, `samples_again`.
    """
    spent, heat, runs = 0.0, 0, load(0)
    samples: list[list[float]] = [[] for _ in runs]
    numbers: list[int] = []
    while True:
        if len(numbers) == 0:
            numbers = [runs_in_sample(run) for run in runs]
        warm_up(runs, numbers)
        spent += _heat(runs, numbers, samples, (heat + 1) * budget / HEATS - spent, clock)
        progress(1.0 if spent >= budget else spent / budget)
        if len(samples[0]) >= MOST_ROUNDS or (spent >= budget and len(samples[0]) >= LEAST_SAMPLES):
            break
        heat += 1
        runs = load(heat)
    found = {"samples_a": samples[0], "samples_b": samples[1], "number_a": numbers[0], "number_b": numbers[1]}
    return found if len(samples) == 2 else found | {"samples_again": samples[2]}


def _heat(
    runs: Sequence[Run],
    numbers: list[int],
    samples: list[list[float]],
    seconds: float,
    clock: Callable[[], float],
) -> float:
    """Rounds for so many seconds, two at least; the seconds that they took."""
    started, rounds = clock(), 0
    while rounds < 2 or (clock() - started < seconds and rounds < MOST_ROUNDS // HEATS):
        # who goes first alternates: going second may mean warmer or colder caches
        places = range(len(runs))
        for which in places if rounds % 2 == 0 else places[::-1]:
            samples[which].append(runs[which](numbers[which]))
        rounds += 1
    return clock() - started
