"""The cost of one boundary: a row of `wb.boundary_costs`, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Any

from workbench.analysis.fusion.boundaries import Boundary
from workbench.measurement.boundaries.trial import Trial
from workbench.measurement.columns import duration, size


@dataclass(frozen=True)
class BoundaryCost:
    """The cost of one boundary."""

    boundary: Boundary
    predicted: tuple[float, float] | None = None
    "seconds that one kernel saves, as an interval; None where the calibration does not support a prediction"
    note: str = ""
    "the reason for no prediction, or its condition"
    trial: Trial | None = None
    peak_bytes: int | None = None
    "bytes that one kernel adds to the peak of the memory plan; None where it was not asked for"

    @property
    def dearness(self) -> tuple[bool, float, int]:
        """Return the order of the list: by predicted seconds, then those without a prediction by bytes."""
        moved = (self.boundary.read or 0) + (self.boundary.written or 0)
        return self.predicted is not None, sum(self.predicted or ()) / 2, moved

    @property
    def measured(self) -> Trial | None:
        """Return the trial, if its seconds count."""
        return None if self.trial is None or self.trial.objection else self.trial

    def to_data(self) -> dict[str, Any]:
        """Return the row of the table."""
        found, low_high = self.boundary, self.predicted or (None, None)
        tried = self.measured
        return {
            "source": found.source,
            "targets": found.targets,
            "producer": found.operators[0],
            "consumer": found.operators[1],
            "type": found.type,
            "joined": found.joined,
            "bytes_written": found.written,
            "bytes_read": found.read,
            "launches": found.launches,
            "legal": not found.refusal,
            "reason": found.refusal,
            "predicted_low": low_high[0],
            "predicted_high": low_high[1],
            "note": "; ".join(part for part in (self.note, self.trial and self.trial.objection) if part),
            "peak_bytes": self.peak_bytes,
            "measured": None if tried is None else tried.saved,
            "measured_low": None if tried is None else tried.low,
            "measured_high": None if tried is None else tried.high,
            "answer": "" if self.trial is None else self.trial.answer,
        }


CELLS = ("bytes", "launches", "one kernel saves", "measured")


def cells(row: BoundaryCost) -> tuple[str, ...]:
    """Return the bytes, the launches, the predicted and the measured saving of a boundary in words."""
    found = row.boundary
    moved = "unknown" if found.read is None or found.written is None else size(found.read + found.written)
    predicted = "" if row.predicted is None else f"{saving(row.predicted[0])} to {saving(row.predicted[1])}"
    tried = row.measured
    measured = "" if tried is None else f"{saving(tried.low)} to {saving(tried.high)}"
    return moved, str(found.launches), predicted, measured


def saving(seconds: float) -> str:
    """Return a difference of times in words: `1.2 µs`, `-300 ns`."""
    if isinf(seconds):
        return "unknown"
    return f"{'-' if seconds < 0 else ''}{duration(abs(seconds) * 1e6)}"
