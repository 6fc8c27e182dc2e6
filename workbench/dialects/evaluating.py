"""Timing one compiled function with TVM's time_evaluator: the same in every TVM, Relay's and Relax's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REPEATS = 5
MOST_RUNS = 10_000


def evaluated(module: Any, function: str, arguments: Sequence[Any], device: Any, budget: float) -> list[float]:
    """Seconds of one run, REPEATS times, in about `budget` seconds altogether; one warm-up run is not counted."""

    def samples(number: int, repeat: int) -> list[float]:
        timed = module.time_evaluator(function, device, number=number, repeat=repeat)
        return [float(seconds) for seconds in timed(*arguments).results]

    once = samples(1, 1)[0]
    return samples(max(1, min(MOST_RUNS, int(budget / REPEATS / max(once, 1e-7)))), REPEATS)
