"""The growth of a pass's time with the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from workbench.dialects.base import Workload
from workbench.testing.attempt import Subject
from workbench.testing.programs import Kind
from workbench.wording import counted

OPERATORS = (50, 100, 200, 400, 800, 1600, 3200)
"of the timed programs"
REPEATS = 3
STEEP = 1.6
"the exponent of a pass that takes more than time in proportion; the noise of a shared machine is below"
LEAST, CLEAR = 80, 0.05
"operators of the smallest program, and seconds of the largest, that a steep growth is said of"
SHORT, LONG = 0.002, 2.0
"seconds: below, the clock and the fixed cost decide; above, it is not timed on larger programs"


@dataclass(frozen=True)
class Scaling:
    """The best of a few times of the pass on programs of growing size, in seconds of a processor."""

    points: tuple[tuple[int, float], ...]
    "operators, and seconds"

    @property
    def exponent(self) -> float | None:
        """The e of time as operators to the power of e, over the last three sizes; None if it is too short to say."""
        (few, short), (many, long) = self.points[-3:][0], self.points[-1]
        return math.log(long / short) / math.log(many / few) if len(self.points) > 2 and short > SHORT else None

    @property
    def is_steep(self) -> bool:
        """True if each of the last two doublings took clearly more than twice the time, from LEAST operators on."""
        last = self.points[-3:]
        if self.exponent is None or last[0][0] < LEAST or last[-1][1] < CLEAR:
            return False
        return all(math.log(b[1] / a[1]) > STEEP * math.log(b[0] / a[0]) for a, b in pairwise(last))

    def __str__(self) -> str:
        (few, short), (many, long) = self.points[0], self.points[-1]
        said = f"{short * 1e3:.2g} ms for {counted(few, 'operator')}, {long * 1e3:.3g} ms for {many:,}"
        return said if self.exponent is None else f"time grows as n^{self.exponent:.1f}: {said}"


def timed(subject: Subject, kind: Kind, seed: int, goes_on: Callable[[], bool]) -> Scaling | None:
    """Time the pass on larger and larger programs; None if fewer than two could be timed.

    A steep growth is timed again: on a busy machine the processor's caches hold less of the program.
    """
    programs: dict[int, Workload] = {}
    times: dict[int, float] = {}
    for size in OPERATORS:
        # programs of even seeds have matches of the pattern
        workload = kind.numbered(seed // 2 * 2, size)
        best = _best(subject, workload, goes_on)
        if best is None:
            break
        place = len(workload.graph.ops)
        programs[place], times[place] = workload, best
        if best > LONG:
            break
    if len(times) < 2:
        return None
    for place in [*times][-3:] if Scaling(tuple(times.items())).is_steep else ():
        times[place] = min(times[place], _best(subject, programs[place], lambda: True) or times[place])
    return Scaling(tuple(times.items()))


def _best(subject: Subject, workload: Workload, goes_on: Callable[[], bool]) -> float | None:
    """Return the best of a few times; None if the pass fails, or the time is over."""
    times: list[float] = []
    for _ in range(REPEATS):
        steps = subject.run(workload).steps
        if any(step.error for step in steps) or not goes_on():
            return None
        times.append(sum(step.busy for step in steps))
    return min(times)
