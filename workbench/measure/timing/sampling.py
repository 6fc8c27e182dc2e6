"""How often to run: after a warm-up, until the spread settles or the budget ends. Plain numbers, no TVM."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLE_SECONDS = 0.005
"a sample runs the function as often as this takes, so that the clock's own grain does not show"
LEAST, MOST = 10, 200
MOST_RUNS = 100_000
SETTLED = 0.02
"the quartiles of the median over the last half of the samples lie this close, relatively"


def sample(
    run: Callable[[int], float],
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
    first = run(1)
    number = max(1, min(MOST_RUNS, round(SAMPLE_SECONDS / max(first, 1e-9))))
    run(number)
    started = clock()
    samples: list[float] = []
    while len(samples) < MOST:
        samples.append(run(number))
        spent = clock() - started
        progress(1.0 if spent >= budget else spent / budget)
        if len(samples) >= LEAST and (spent > budget or settled(samples)):
            break
    return {"samples": samples, "number": number, "settled": settled(samples)}


def settled(samples: list[float]) -> bool:
    """Whether the second half of the samples has the same median as the first, within SETTLED."""
    if len(samples) < 2 * LEAST:
        return False
    half = len(samples) // 2
    early, late = float(np.median(samples[:half])), float(np.median(samples[half:]))
    return abs(early - late) <= SETTLED * max(early, late)


def quartiles(samples: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.percentile(samples, [25, 50, 75])
    return float(low), float(middle), float(high)


MOST_ROUNDS, HEATS = 1000, 8
Run = Callable[[int], float]


def interleave(
    pair: Callable[[int], tuple[Run, Run]],
    budget: float,
    progress: Callable[[float], None] = lambda _fraction: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Time two functions in turn: what slows the machine down for a while slows both.

    Parameters
    ----------
    pair
        Loads both anew for a heat of that number: each runs its function that many times and gives the mean seconds of one.
        Where two equal programs happen to lie in memory can make a percent between them, and each heat places them anew.
    budget
        Seconds of runs, warm-up and loading not counted; at least LEAST rounds are run whatever it is.

    Returns
    -------
    dict
        `samples_a`, `samples_b` (seconds of one run, entries of one place belong together), `number_a`, `number_b`.
    """
    samples: tuple[list[float], list[float]] = ([], [])
    numbers: list[int] = []
    spent, heat, runs = 0.0, 0, pair(0)
    while True:
        if len(numbers) == 0:
            numbers = [max(1, min(MOST_RUNS, round(SAMPLE_SECONDS / max(run(1), 1e-9)))) for run in runs]
        for run, number in zip(runs, numbers, strict=True):
            run(number)
        spent += _heat(runs, numbers, samples, (heat + 1) * budget / HEATS - spent, clock)
        progress(1.0 if spent >= budget else spent / budget)
        if len(samples[0]) >= MOST_ROUNDS or (spent >= budget and len(samples[0]) >= LEAST):
            break
        heat += 1
        runs = pair(heat)
    return {"samples_a": samples[0], "samples_b": samples[1], "number_a": numbers[0], "number_b": numbers[1]}


def _heat(
    runs: tuple[Run, Run],
    numbers: list[int],
    samples: tuple[list[float], list[float]],
    seconds: float,
    clock: Callable[[], float],
) -> float:
    """Rounds for so many seconds, two at least; the seconds that they took."""
    started, rounds = clock(), 0
    while rounds < 2 or (clock() - started < seconds and rounds < MOST_ROUNDS // HEATS):
        # who goes first alternates: going second may mean warmer or colder caches
        for which in (0, 1) if rounds % 2 == 0 else (1, 0):
            samples[which].append(runs[which](numbers[which]))
        rounds += 1
    return clock() - started
