"""A row of `wb.measure`: its columns, its status, and the table of several rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.dialects.compiler.results import FAILED as FAILED
from workbench.dialects.compiler.results import OK as OK
from workbench.errors import Untrusted, WorkbenchError
from workbench.measurement.machine import conditions
from workbench.pipeline.config import Config
from workbench.target_text import kind_of

if TYPE_CHECKING:
    import pandas as pd


WRONG = "wrong"
"its outputs differ from the reference's; it has times, but never wins"
CRASHED = "crashed"
TIMEOUT = "timeout"
OUT_OF_MEMORY = "out of memory"
CANCELLED = "cancelled"
INTERRUPTED = "interrupted"
"Ctrl-C or the notebook's stop button came before it was measured"
NOT_MEASURED = "not measured"
"there is no device for its target: it has counts, and the message names the missing device"
NO_SERVER = "no server"
"the tracker lent no device: not a fault of the configuration, and it may lend one later"
UNTRUSTED = Untrusted.status
"kernels came with the program, and the user has not said that its author is trusted: nothing was compiled"

COUNTED = "counted"
"it has counts; no time was requested"
PENDING, RUNNING = "pending", "running"
"it waits; it is being measured"
UNDER_WAY = (PENDING, RUNNING)

ALL = (OK, WRONG, FAILED, CRASHED, TIMEOUT, OUT_OF_MEMORY, CANCELLED, INTERRUPTED, NOT_MEASURED, NO_SERVER, UNTRUSTED)
BROKEN = (WRONG, FAILED, CRASHED, TIMEOUT, OUT_OF_MEMORY)
"the configuration's own fault"


def status_of(error: WorkbenchError) -> str:
    """Return the status for an error; an error without one is a failure."""
    return getattr(error, "status", FAILED)


def failure(status: object, message: object) -> str:
    """Return the sentence of a row without numbers, `failed: reason`; empty if nothing failed.

    >>> failure("timeout", "it took longer than 60 s"), failure("ok", "")
    ('timeout: it took longer than 60 s', '')
    """
    if not isinstance(status, str) or status in ("", OK, COUNTED, *UNDER_WAY):
        return ""
    return f"{status}: {message}" if isinstance(message, str) and message else status


@dataclass(frozen=True)
class Row:
    """A configuration measured for a target; the fields, in order, are the columns of `wb.measure`.

    An unknown value is None.
    """

    config: str
    target: str
    asked_target: str
    pipeline: str
    status: str | None = None
    message: str = ""
    kernels: int | None = None
    functions: int | None = None
    launches: int | None = None
    noops: int | None = None
    traffic_bytes: int | None = None
    peak_bytes: int | None = None
    flops: int | None = None
    median_us: float | None = None
    q1_us: float | None = None
    q3_us: float | None = None
    samples: Sequence[float] | None = None
    "seconds of one run each"
    number: int | None = None
    "runs of a sample"
    settled: bool | None = None
    method: str | None = None
    build_seconds: float | None = None
    check: str | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    per_kernel: Sequence[Mapping[str, Any]] | None = None
    kernel_method: str | None = None
    kernels_sum_us: float | None = None
    overhead_us: float | None = None
    device: str | None = None
    tvm: str | None = None
    dialect: str | None = None
    cpu: str | None = None
    cpu_features: str | None = None
    cores: int | None = None
    threads: int | None = None
    gpu: str | None = None
    gpu_clock_mhz: float | None = None
    driver: str | None = None
    machine: str | None = None
    remote: str | None = None
    server: str | None = None
    workload: str | None = None
    workload_hash: str | None = None
    measured_at: str | None = None
    run: str | None = None

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))

    def failed(self, error: WorkbenchError) -> Row:
        return replace(self, status=status_of(error), message=str(error))


COLUMNS = tuple(field.name for field in fields(Row))
WHOLE = tuple(field.name for field in fields(Row) if field.type == "int | None")
"columns of whole numbers; an unknown value is NA there, so that the others stay whole numbers"
OF_THIS_MACHINE = ("cpu", "cpu_features", "cores", "threads", "gpu", "gpu_clock_mhz", "driver", "machine")
"columns that differ on a device of a tracker"


def table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return a DataFrame with every column. A number that a column cannot hold is NA, and the row's message names it."""
    import pandas as pd

    shown = []
    for row in rows:
        lost = [name for name in WHOLE if not fits(getattr(row, name))]
        said = f"{' and '.join(lost)} left out: not a whole number of 64 bits" if lost else ""
        message = "; ".join(filter(None, (row.message, said)))
        shown.append({**vars(row), **dict.fromkeys(lost), "message": message})
    frame = pd.DataFrame(shown, columns=list(COLUMNS))
    return frame.assign(**{name: column(row[name] for row in shown) for name in WHOLE})


def new_row(origin: Workload, config: Config, target: str, run: str) -> Row:
    """Return a row of a workload before any pass and its measurement; all rows of a call have the same `run`."""
    return Row(
        config=config.label,
        target=target,
        asked_target=target,
        pipeline=config.pipeline,
        check="not checked: it was not run",
        device=device_of(target),
        **conditions(origin.dialect),
        workload=origin.name,
        workload_hash=workload_hash(origin),
        measured_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        run=run,
    )


def device_of(target: str) -> str:
    """Return the kind of device of a target: `cpu`, `cuda` or another.

    >>> device_of("llvm -mcpu=core-avx2"), device_of("cuda")
    ('cpu', 'cuda')
    """
    kind = kind_of(target)
    return "cpu" if kind in ("llvm", "c") else kind


def fits(value: Any) -> bool:
    """Return whether a column can hold a value; None is NA there.

    >>> fits(2**63 - 1), fits(2**63), fits(None), fits(float("nan")), fits(0.5)
    (True, False, True, False, False)
    """
    if value is None:
        return True
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return whole == value and -(2**63) <= whole < 2**63


def column(values: Iterable[Any]) -> pd.api.extensions.ExtensionArray:
    """Return the column of these values. A plain DataFrame would turn all of them into fractions for one None."""
    import pandas as pd

    return pd.array([int(value) if value is not None and fits(value) else None for value in values], dtype="Int64")


def workload_hash(workload: Workload) -> str:
    """Return 16 hexadecimal digits of the module's text, the parameters' shapes and the sizes it runs with.

    They do not depend on the values of parameters or the workload's name.
    """
    params = workload.params.items()
    given = sorted(f"{name} {tuple(int(extent) for extent in array.shape)} {array.dtype}" for name, array in params)
    sizes = [f"{name}={size}" for name, size in sorted(workload.shapes.items())]
    parts = [workload.dialect, workload.text(), *given, *sizes]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
