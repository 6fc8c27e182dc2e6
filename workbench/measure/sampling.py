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
