"""The cost of moving a byte and of calling a kernel on this machine, kept on the disk."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from workbench.graph.received import Damaged, contents, fields, parse
from workbench.measurement import store
from workbench.measurement.machine import Bandwidth, Spread, bandwidth, conditions
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never, silent, worker

FILE = "machine-costs.json"
"in the folder of the file of measurements"
LARGEST = 1 << 24
"bytes of the file"
ROWS = 16
"of the values of the second chains, for the threads of TVM to share"
BUDGET = 0.3
"seconds of timing a chain"
STEADY = 2.0
"most of the ratio of a call's highest time to its lowest; it is below 1.5 on an idle machine"
_known: dict[str, MachineCosts] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class MachineCosts:
    """The costs of this machine for one TVM and target."""

    bandwidth: Bandwidth
    call: Spread
    "seconds of one call of a kernel without work, on one row"
    call_of_rows: Spread
    "the same on several rows, which schedules spread over threads"
    method: str
    "a description of the measurement of the calls"

    @property
    def is_steady(self) -> bool:
        """Return whether the machine was calm enough to keep the costs for other days."""
        return all(call.high <= STEADY * call.low for call in (self.call, self.call_of_rows))

    def seconds(self, moved: float, working_set: float, call: Spread) -> Spread:
        """Return the seconds of moving bytes and of a call, with the spread of the measurements.

        >>> rate, call = Spread(1e9, 2e9, 4e9), Spread(1e-6, 1e-6, 2e-6)
        >>> MachineCosts(Bandwidth((1,), (rate,), ""), call, call, "").seconds(4000, 1000, call)
        Spread(low=2e-06, middle=3e-06, high=6e-06)
        """
        rate = self.bandwidth.at(working_set)
        return Spread(moved / rate.high + call.low, moved / rate.middle + call.middle, moved / rate.low + call.high)


def machine_costs(
    dialect: str, target: str, *, progress: Progress = silent, cancelled: Callable[[], bool] = never
) -> MachineCosts:
    """Return the costs of this machine for a target of its CPU: from the disk, or measured in a few seconds.

    The TVM of the dialect builds the kernels that are timed. Costs of a busy machine are not kept.
    """
    now = conditions(dialect)
    key = " ".join(str(part) for part in (now["machine"], dialect, now["tvm"], now["threads"], target))
    with _lock:
        if key not in _known:
            kept = _read().get(key)
            found = None if kept is None else _from_data(kept)
            if found is None:
                found = _measure(dialect, target, int(now["threads"]), progress, cancelled)
                if found.is_steady:
                    _write(key, found)
            _known[key] = found
        return _known[key]


def slope(calls: Sequence[int], samples: Sequence[Sequence[float]]) -> Spread:
    """Return the seconds of one more call, from the times of chains of different lengths.

    The median is that of the shortest and the longest chain; the extremes are those of all pairs.

    >>> slope([10, 20, 40], [[1.0, 1.0], [2.0, 2.0], [4.5, 4.5]])
    Spread(low=0.1, middle=0.11666666666666667, high=0.125)
    """
    times = [median(each) for each in samples]
    pairs = [(i, j) for j in range(len(calls)) for i in range(j)]
    slopes = [(times[j] - times[i]) / (calls[j] - calls[i]) for i, j in pairs]
    whole = (times[-1] - times[0]) / (calls[-1] - calls[0])
    return Spread(max(0.0, min(slopes)), max(0.0, whole), max(0.0, *slopes))


def _measure(
    dialect: str, target: str, threads: int, progress: Progress, cancelled: Callable[[], bool]
) -> MachineCosts:
    progress("Measuring this machine: calls of kernels", 0.0)
    asked = {"dialect": dialect, "target": target, "budget": BUDGET}
    one, many = (
        worker().run("chains", None, {**asked, "rows": rows}, timeout=TIMEOUT, progress=progress, cancelled=cancelled)
        for rows in (1, ROWS)
    )
    progress("Measuring this machine: bandwidth", 0.9)
    row, rows = (slope(found["calls"], found["samples"]) for found in (one, many))
    kernels = ", ".join(map(str, many["calls"]))
    method = (
        f"call: slope of the time of chains of {kernels} kernels on 256 bytes, in one row and in {ROWS}, "
        f"which run on {'the threads of TVM' if many['parallel'] else 'one thread'}"
    )
    return MachineCosts(bandwidth(threads if many["parallel"] else 1), row, rows, method)


# -- the file


def _read() -> Mapping[str, Any]:
    """Return the contents of the file; nothing if it is missing or damaged, since it can be measured again."""
    kept = store.place()
    try:
        found = {} if kept is None else parse(contents(kept.with_name(FILE), LARGEST))
    except (OSError, Damaged):
        return {}
    return found if isinstance(found, dict) else {}


def _write(key: str, found: MachineCosts) -> None:
    kept = store.place()
    if kept is None:
        return
    path = kept.with_name(FILE)
    text = json.dumps({**_read(), key: asdict(found)}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        warnings.warn(f"the costs of this machine are not kept: {error.strerror}", RuntimeWarning, stacklevel=2)


def _from_data(data: object) -> MachineCosts | None:
    """Return the costs that were written; None if they are damaged."""
    try:
        whole = fields(data, {"bandwidth": dict, "call": dict, "call_of_rows": dict, "method": str})
        row, rows = _spread(whole["call"]), _spread(whole["call_of_rows"])
        return MachineCosts(_curve(whole["bandwidth"]), row, rows, whole["method"])
    except Damaged:
        return None


def _curve(data: object) -> Bandwidth:
    found = fields(data, {"sizes": list, "rates": list, "method": str})
    rates, sizes = tuple(map(_spread, found["rates"])), found["sizes"]
    whole = all(type(size) is int and size > 0 for size in sizes)
    if not rates or len(rates) != len(sizes) or not whole or sizes != sorted(set(sizes)):
        raise Damaged("the sizes do not fit the rates")
    if any(rate.low == 0 for rate in rates):
        raise Damaged("a rate is 0")
    return Bandwidth(tuple(sizes), rates, found["method"])


def _spread(data: object) -> Spread:
    found = fields(data, dict.fromkeys(("low", "middle", "high"), float))
    values = [found[name] for name in ("low", "middle", "high")]
    if values[0] < 0 or values != sorted(values):
        raise Damaged("a spread is not ascending")
    return Spread(*values)
