"""Times of kernels beside the calls they belong to. Plain values, no TVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from workbench.dialects.facets import KernelTime


def kernel_rows(calls: Sequence[Mapping[str, Any]], times: Iterable[KernelTime]) -> list[dict[str, Any]]:
    """One row a timed call: `index` in the table of calls, `name`, `function`, `op`, `median_us`, `share` of all kernels' time.

    Both come in execution order. Calls that run nothing are left out; a time whose call is not in the table (an arm of an
    `if` that ran twice) has no index.
    """
    rows: list[dict[str, Any]] = []
    place = 0
    for time in times:
        index = next((i for i in range(place, len(calls)) if calls[i]["function"] == time.function), None)
        if index is not None:
            place = index + 1
        call = {} if index is None else calls[index]
        if call.get("noop"):
            continue
        rows.append(
            {
                "index": index,
                "name": call.get("name", time.function),
                "function": time.function,
                "op": call.get("op"),
                "median_us": median(time.samples) * 1e6,
            }
        )
    total = sum(row["median_us"] for row in rows)
    return [{**row, "share": row["median_us"] / total if total else 0.0} for row in rows]
