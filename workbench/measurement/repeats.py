"""The number of samples: after a warm-up, until the spread settles or the budget ends. Plain numbers, no TVM."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.measurement.verdict import is_decided

Run = Callable[[int], float]
"runs a function that many times and returns the mean seconds of one"
SAMPLE_SECONDS = 0.005
"a sample repeats the function for this time, so that the clock's resolution does not matter"
LEAST_SAMPLES, MOST_SAMPLES = 10, 200
MOST_RUNS = 100_000
"runs of a sample"
WARM_UP_SAMPLES = 1
"before the first sample, and after each loading in a race"
SETTLED = 0.02
"relative distance of the medians of the two halves of the samples"


def sample(
    run: Run,
    budget: float,
    progress: Callable[[float], None] = lambda _fraction: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Time a function: `samples` (seconds of one run, in order), `number` (runs a sample), `settled`.

    The budget is seconds after the warm-up; at least LEAST_SAMPLES samples are taken in any case.
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
    """Return lower quartile, median, upper quartile."""
    low, middle, high = np.percentile(samples, [25, 50, 75])
    return float(low), float(middle), float(high)


MOST_ROUNDS, HEATS = 1000, 8
TURNS = (0, 1, 0)
"the order of the two configurations in a round of a race: the first one twice, so that a race includes its own A/A"


def turns(heat: int) -> Sequence[int]:
    """Return the indices of TURNS in the order in which a heat loads them: the first one alternates."""
    places = range(len(TURNS))
    return places if heat % 2 == 0 else places[::-1]


def interleave(
    load: Callable[[int], Sequence[Run]],
    budget: float,
    progress: Callable[[float], None] = lambda _fraction: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Time functions in turn, so that a temporary slowdown of the machine affects all of them.

    `load` loads all functions again for each heat: the addresses of two equal programs in memory can make a difference of one
    percent, and each heat changes them. The budget is seconds of runs, without warm-up and loading; the race ends after half of the
    heats if it is decided.

    The answer has `samples_a`, `samples_b` (seconds of one run, entries of the same index belong together), `number_a`,
    `number_b`; of a third function, which is `a` again, `samples_again`.
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
        if len(samples) == len(TURNS) and heat >= HEATS // 2 and is_decided(*samples):
            progress(1.0)
            break
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
    """Run rounds for so many seconds, at least two; return the seconds that they took."""
    started, rounds = clock(), 0
    while rounds < 2 or (clock() - started < seconds and rounds < MOST_ROUNDS // HEATS):
        # the first one alternates: the caches are warmer or colder for the second one
        places = range(len(runs))
        for which in places if rounds % 2 == 0 else places[::-1]:
            samples[which].append(runs[which](numbers[which]))
        rounds += 1
    return clock() - started
