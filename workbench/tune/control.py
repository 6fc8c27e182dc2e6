"""Pause, resume and stop of what runs in one thread, from another."""

from __future__ import annotations

import threading
import time


class Control:
    """What a run looks at between trials, and what ends the trial in flight."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paused = False
        self._stopped = False
        self._paused_at = 0.0
        "when the pause began that lasts"
        self._ended_pauses = 0.0
        "seconds"

    def pause(self) -> None:
        """Begin no new trial; the one in flight ends as it would."""
        self._set(paused=True)

    def resume(self) -> None:
        """Go on after a pause."""
        self._set(paused=False)

    def stop(self) -> None:
        """End now; the trial in flight is given up, and is tried again by whoever goes on."""
        self._set(stopped=True)

    def _set(self, paused: bool | None = None, stopped: bool | None = None) -> None:
        with self._changed:
            was, now = self.paused, time.perf_counter()
            self._paused = self._paused if paused is None else paused
            self._stopped = self._stopped if stopped is None else stopped
            if self.paused and not was:
                self._paused_at = now
            if was and not self.paused:
                self._ended_pauses += now - self._paused_at
            self._changed.notify_all()

    @property
    def paused(self) -> bool:
        return self._paused and not self._stopped

    @property
    def running_clock(self) -> float:
        """A clock, in seconds, that stands still in a pause."""
        with self._changed:
            now = self._paused_at if self.paused else time.perf_counter()
            return now - self._ended_pauses

    def stopped(self) -> bool:
        """Whether to end now; the child process is ended by it too."""
        return self._stopped

    def wait(self) -> bool:
        """Wait while paused; whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._paused)
        return not self._stopped
