"""The budget of a run: its limits, its pauses, and the time that counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tuning.background_run import Control

RECENT = 20
"number of latest trials whose mean predicts the duration of the next"
REST_SECONDS = 0.2
"seconds between two checks for a device while there is none"


@dataclass(frozen=True)
class SearchLimit:
    """The limits at which a run ends."""

    seconds: float = 60.0
    "for the whole run; a trial under way is finished"
    trials: int | None = None
    "for each target, including those of the log"


class Budget:
    """The limits and the clock of a run, without pauses."""

    def __init__(self, limit: SearchLimit, targets: Sequence[str], control: Control) -> None:
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
        """The seconds so far, or of the whole run once it is over."""
        return (self._ended or self._control.running_clock) - self._begun if self._begun else 0.0

    def may_begin(self) -> bool:
        """Return whether the run is neither paused nor stopped."""
        return not self._control.paused and not self._control.stopped()

    def has_time(self, target: str) -> bool:
        """Return whether time is left for a target; each has an equal part."""
        share = self.limit.seconds * (self._targets.index(target) + 1) / len(self._targets)
        return self.elapsed < share

    def has_room(self, target: str, begun: int) -> bool:
        """Return whether a target with this number of candidates begun may have another one."""
        return self.has_time(target) and (self.limit.trials is None or begun < self.limit.trials)

    def wait(self) -> bool:
        """Wait while paused; return whether to go on."""
        return self._control.wait()

    def rest(self) -> bool:
        """Wait while paused, otherwise for REST_SECONDS; return whether to go on."""
        if self.may_begin():
            time.sleep(REST_SECONDS)
        return self.wait()
