"""A Trial: one candidate with all its results, and the objectives that are read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.errors import MeasureError, UnknownName, WorkbenchError
from workbench.graph.received import Damaged, fields
from workbench.measurement.row import ALL, OK
from workbench.pipeline.config import Config

OBJECTIVES = {
    "time": "median_us",
    "kernels": "kernels",
    "bytes": "handover_bytes",
    "peak_bytes": "peak_bytes",
    "build": "build_seconds",
}
"objective -> the value to minimise"
COUNTED = ("kernels", "bytes", "peak_bytes")
"objectives that need no build"
ILLEGAL, PRUNED = "illegal", "pruned"
STATUSES = (*ALL, ILLEGAL, PRUNED)


@dataclass(frozen=True)
class Trial:
    """One candidate for one target. Only those with status `ok` may win."""

    number: int
    "in the order in which they were tried, from 0"
    target: str
    config: Config
    "the configuration to rerun it with"
    chosen: Mapping[str, Any] = field(hash=False)
    "name of a knob -> the choice; empty for the compiler's default"
    status: str = OK
    "a status of wb.measure, or `illegal` (refused before anything ran) or `pruned` (its counts are too bad to build it)"
    reason: str = ""
    "why it cannot win"
    values: Mapping[str, float | int | None] = field(default_factory=dict, hash=False)
    "kernels, handover_bytes, traffic_bytes, peak_bytes; median_us, q1_us, q3_us, build_seconds where it was built"
    fingerprint: str = ""
    "hash of its final module (measurement/count.py)"
    like: int | None = None
    "the trial with the same final module that was measured instead"
    seconds: float = 0.0
    "its duration; and the part in the child process: counting, building, running"
    working: float = 0.0
    checked: bool = False
    "whether its outputs were compared with the reference's"

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def key(self) -> str:
        """The identity of its target and configuration, see `key_of`."""
        return key_of(self.target, self.config)

    def costs(self, objectives: Sequence[str]) -> tuple[float, ...] | None:
        """Return the values to minimise, in that order; None where it may not win or one of them is not known."""
        found = [self.values.get(OBJECTIVES[name]) for name in objectives]
        if not self.ok or any(value is None for value in found):
            return None
        return tuple(float(value) for value in found if value is not None)

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_data(data: Any) -> Trial:
        """Return the Trial of which `to_data` made this data; Damaged if a field is missing, unknown or of another type."""
        row = fields(data, _NEEDED) | fields(data, _OPTIONAL, optional=True)
        if data.keys() - row.keys() - {"like"} or row.get("status", OK) not in STATUSES:
            raise Damaged("a trial in it has an unknown field or status")
        for name, value in row.get("values", {}).items():
            if value is not None and type(value) not in (int, float):
                raise Damaged(f"{name[:80]!r} of a trial is not a number")
        if data.get("like") is not None:
            row |= fields(data, {"like": int})
        try:
            return Trial(**{**row, "config": Config.of(row["config"])})
        except MeasureError as error:
            raise Damaged(f"{error!s:.120}") from None


_NEEDED = {"number": int, "target": str, "config": dict, "chosen": dict}
_OPTIONAL = {
    "status": str,
    "reason": str,
    "values": dict,
    "fingerprint": str,
    "seconds": float,
    "working": float,
    "checked": bool,
}


def key_of(target: str, config: Config) -> str:
    """Return a key that equal candidates share before they run: the target and the configuration without its name."""
    return repr((target, sorted((config.to_data() | {"name": ""}).items(), key=lambda item: item[0])))


def objectives_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of objectives; refuse an unknown one, none and the same one twice."""
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in OBJECTIVES:
            raise UnknownName("objective", str(name), OBJECTIVES)
    if not names or len(set(names)) < len(names):
        raise WorkbenchError(f"give one objective or several different ones of {', '.join(OBJECTIVES)}")
    return names


def dominates(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether the first is not worse in any value and better in at least one.

    >>> dominates((1, 2), (1, 3)), dominates((1, 3), (2, 2))
    (True, False)
    """
    return all(a <= b for a, b in zip(first, second, strict=True)) and tuple(first) != tuple(second)


def front(trials: Sequence[Trial], objectives: Sequence[str]) -> list[Trial]:
    """Return the trials that no other dominates, the best by the first objective first; of equal ones the first tried."""
    costs = {trial.number: cost for trial in trials if (cost := trial.costs(objectives)) is not None}
    first: dict[tuple[float, ...], Trial] = {}
    for trial in trials:
        if trial.number in costs and not any(dominates(other, costs[trial.number]) for other in costs.values()):
            first.setdefault(costs[trial.number], trial)
    return [first[cost] for cost in sorted(first)]
