"""The calls of runs with their rows, and the values of a reference run, each kept until its last use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.debugging.kernel_errors.build_values import Made
from workbench.dialects.compiler.run_calls import RanCall


def aligned(rows: Sequence[Mapping[str, Any]], calls: Iterable[RanCall]) -> Iterator[tuple[int | None, RanCall]]:
    """Yield the calls of a run with their rows, which are in the same order; None for a call without a row."""
    place = 0
    for call in calls:
        wanted = (i for i in range(place, len(rows)) if rows[i]["function"] == call.function and not rows[i]["noop"])
        row = next(wanted, None)
        place = place if row is None else row + 1
        yield row, call


class ReferenceRun:
    """The values of the reference, computed when they are asked for and dropped after their last use.

    Parameters
    ----------
    calls
        The calls of the run, with their rows.
    needs
        For each call of the build the values that it may be compared with.
    """

    def __init__(self, calls: Iterator[tuple[int | None, RanCall]], needs: Mapping[int, Iterable[Made]]) -> None:
        self.calls = calls
        self.needs = {call: set(values) for call, values in needs.items()}
        self.users: dict[Made, set[int]] = {}
        for call, values in self.needs.items():
            for made in values:
                self.users.setdefault(made, set()).add(call)
        self.kept: dict[Made, np.ndarray] = {}
        self.reached = -1
        "the newest call"

    def value(self, made: Made) -> np.ndarray | None:
        """Return a value; None if the run does not make it."""
        while self.reached < made[0] and self._advance():
            pass
        return self.kept.get(made)

    def _advance(self) -> bool:
        row, call = next(self.calls, (None, None))
        if call is None:
            return False
        if row is not None:
            self.reached = row
            for place, written in enumerate(call.written):
                if self.users.get((row, place)):
                    self.kept[row, place] = call.input(written)
        return True

    def release(self, call: int) -> None:
        """Drop the values that only this call of the build needs."""
        for made in self.needs.get(call, ()):
            self.users[made].discard(call)
            if not self.users[made]:
                self.kept.pop(made, None)
