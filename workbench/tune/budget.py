"""When a run may begin another candidate: its limits, its pauses, and the time that counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tune.background_run import Control

RECENT = 20
"trials whose mean says how long the next will take"
REST_SECONDS = 0.2
"between two looks for a device where there is none"


@dataclass(frozen=True)
class Limit:
    """When a run ends, if not by itself."""

    seconds: float = 60.0
    "for the whole run; a trial that is begun is finished"
    trials: int | None = None
    "for each target, those of the log counted"


class Pace:
    """The clock of a run. Pauses are no time of it."""

    def __init__(self, limit: Limit, targets: Sequence[str], control: Control) -> None:
        self.limit = limit
        self._targets, self._control = tuple(targets), control
        self._begun, self._ended = 0.0, 0.0

    def begin(self) -> None:
        self._begun = self._control.running_clock

    def end(self) -> None:
        self._ended = self._control.running_clock

    @property
    def begun(self) -> bool:
        return bool(self._begun)

    @property
    def elapsed(self) -> float:
        """Seconds so far, or of the whole run when it is over."""
        return (self._ended or self._control.running_clock) - self._begun if self._begun else 0.0

    def going(self) -> bool:
        """Whether a candidate may be begun at this moment."""
        return not self._control.paused and not self._control.stopped()

    def time(self, target: str) -> bool:
        """Whether there is time left for a target: each has an equal part."""
        share = self.limit.seconds * (self._targets.index(target) + 1) / len(self._targets)
        return self.elapsed < share

    def room(self, target: str, begun: int) -> bool:
        """Whether another candidate may be chosen for a target that has so many, all that are begun counted."""
        return self.time(target) and (self.limit.trials is None or begun < self.limit.trials)

    def waited(self) -> bool:
        """Wait while paused; whether to go on."""
        return self._control.wait()

    def rested(self) -> bool:
        """Wait while paused, or else a moment; whether to go on."""
        if self.going():
            time.sleep(REST_SECONDS)
        return self.waited()
