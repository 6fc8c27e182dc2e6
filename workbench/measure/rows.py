"""A row of `wb.measure`: its columns, what stands in them, and where it goes when it is finished."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.measure.kernels.whole import column, fits
from workbench.measure.status import OK, WRONG
from workbench.measure.store import store as kept
from workbench.measure.store.conditions import CONDITIONS, conditions
from workbench.measure.store.workload_hash import workload_hash
from workbench.measure.timing.sampling import quartiles
from workbench.pipeline.config import Config
from workbench.targets import kind_of

if TYPE_CHECKING:
    import pandas as pd

    from workbench.measure.kernels.kernels import Kernels

COLUMNS = (
    *("config", "target", "asked_target", "pipeline", "status", "message"),
    *("kernels", "functions", "launches", "noops", "traffic_bytes", "flops"),
    *("median_us", "q1_us", "q3_us", "samples", "number", "settled", "method", "build_seconds"),
    *("check", "max_abs_error", "max_rel_error"),
    *("per_kernel", "kernel_method", "kernels_sum_us", "overhead_us", "device", *CONDITIONS),
    *("remote", "server", "workload", "workload_hash", "measured_at", "run"),
)


WHOLE = ("kernels", "functions", "launches", "noops", "traffic_bytes", "flops", "number", "cores", "threads")
"columns of whole numbers; what is not known is NA there, and makes no fraction of the others"


def table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a DataFrame that has every column; a number that a column cannot hold is NA, and the row's message names it."""
    import pandas as pd

    shown = [_held(row) for row in rows]
    frame = pd.DataFrame(shown, columns=list(COLUMNS))
    return frame.assign(**{name: column(row.get(name) for row in shown) for name in WHOLE})


def _held(row: Mapping[str, Any]) -> Mapping[str, Any]:
    lost = [name for name in WHOLE if not fits(row.get(name))]
    if not lost:
        return row
    said = f"{' and '.join(lost)} left out: not a whole number of 64 bits"
    return {**row, **dict.fromkeys(lost), "message": "; ".join(filter(None, (row.get("message"), said)))}


def begun(origin: Workload, config: Config, target: str, run: str) -> dict[str, Any]:
    """A row of which nothing is known but what was asked for.

    Parameters
    ----------
    origin
        What was given to be measured, before any pass.
    run
        What rows of one call have in common.
    """
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    asked = {"config": config.label, "target": target, "asked_target": target, "pipeline": config.pipeline}
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {
        **row,
        **asked,
        **conditions(origin.dialect),
        "message": "",
        "check": "not checked: it was not run",
        "device": device_of(target),
        "workload": origin.name,
        "workload_hash": workload_hash(origin),
        "measured_at": when,
        "run": run,
    }


def new_run() -> str:
    """A name for what is measured in one call."""
    return uuid.uuid4().hex[:12]


def device_of(target: str) -> str:
    """`cpu`, `cuda` or what else a target runs on.

    >>> device_of("llvm -mcpu=core-avx2"), device_of("cuda")
    ('cpu', 'cuda')
    """
    kind = kind_of(target)
    return "cpu" if kind in ("llvm", "c") else kind


def counted(found: Kernels) -> dict[str, Any]:
    """The columns that a count fills."""
    return {
        "target": found.target,
        "kernels": found.calls,
        "functions": found.functions,
        "launches": found.launches,
        "noops": found.noops,
        "traffic_bytes": found.traffic_bytes,
        "flops": found.flops,
        "build_seconds": found.build_seconds,
    }


def timed(answer: Mapping[str, Any], not_checked: str) -> dict[str, Any]:
    """The columns that a run fills.

    Parameters
    ----------
    answer
        Of the job `run`.
    not_checked
        Why the outputs were not compared, where they were not.
    """
    low, middle, high = (1e6 * seconds for seconds in quartiles(answer["samples"]))
    names = (
        *("samples", "number", "settled", "method", "max_abs_error", "max_rel_error", "per_kernel", "kernel_method"),
        *("threads", "gpu_clock_mhz"),
    )
    same = answer.get("same")
    check = f"not checked: {not_checked}" if same is None else OK if same else WRONG
    return {
        **{name: answer.get(name) for name in names},
        "status": WRONG if same is False else OK,
        "message": f"the outputs are not the reference's: {answer['said']}" if same is False else "",
        "check": check,
        "median_us": middle,
        "q1_us": low,
        "q3_us": high,
        **_summed(answer.get("per_kernel"), middle),
    }


def _summed(kernels: list[dict[str, Any]] | None, total_us: float) -> dict[str, Any]:
    if kernels is None:
        return {}
    together = sum(row["median_us"] for row in kernels)
    return {"kernels_sum_us": together, "overhead_us": total_us - together}


def finished(row: dict[str, Any], store: bool) -> dict[str, Any]:
    """The row, and nothing more will come to it: it is kept at once, so that no killed notebook loses it."""
    if store:
        kept.append(row)
    return row
