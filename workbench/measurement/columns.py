"""The columns that tables show of a measured row and of a kernel, with the text of a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.wording import duration, figures, size, time_unit


def spread(row: Mapping[str, Any]) -> str:
    """Return the median of a row with its quartiles; empty where it was not timed."""
    if not is_known(row.get("median_us")):
        return ""
    factor, unit = time_unit(row["median_us"])
    low, middle, high = (figures(row[name] * factor) for name in ("q1_us", "median_us", "q3_us"))
    return f"{middle} {unit} ({low} to {high})"


def function_name(name: object) -> str:
    """Return a compiled function's name as the boxes of the graph have it.

    >>> function_name("tvmgen_default_fused_nn_dense_add")
    'fused_nn_dense_add'
    """
    return str(name).removeprefix("tvmgen_default_")


def kernel_name(row: Mapping[str, Any]) -> str:
    """Return the name of a kernel in a row of `wb.kernels`, or of a measurement of each kernel."""
    return function_name(row["function"] if "function" in row else row["name"])


def is_known(value: Any) -> bool:
    """Return whether a table has a value: not None, NaN or NA."""
    import pandas as pd

    return not pd.isna(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"


@dataclass(frozen=True)
class Column:
    """A column that tables show."""

    name: str
    "in a row of `wb.measure`, or of `wb.kernels`"
    heading: str
    text: Callable[[Any], str] = str
    "the text of a known value"
    unknown: str = ""
    "the text of an unknown value"
    brief: bool = True
    "whether the command line and the Workbench show it; the report shows all"
    hint: str = ""
    "the Workbench's tooltip of the heading"

    def cell(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.name)
        return self.text(value) if is_known(value) else self.unknown


def _by_name(*columns: Column) -> Mapping[str, Column]:
    return {column.name: column for column in columns}


MEASURED = _by_name(
    Column("config", "Configuration"),
    Column("target", "Target"),
    Column("status", "Status"),
    Column("kernels", "Kernels", _count, hint="Calls of compiled functions in one run"),
    Column("functions", "Functions", _count, hint="Distinct compiled functions: equal kernels are shared"),
    Column("launches", "Launches", _count, brief=False),
    Column("traffic_bytes", "Read and written", size, brief=False),
    Column("peak_bytes", "Peak memory", size, hint="The most bytes of storages that the executor holds at once"),
    Column(
        "median_us",
        "Time (median)",
        duration,
        hint="Median of the repeats after warm-up; the bar's whisker is the middle half of the samples",
    ),
    Column("q1_us", "Lower quartile", duration),
    Column("q3_us", "Upper quartile", duration),
    Column("check", "Outputs", brief=False),
    Column("message", "Message"),
)
"the columns shown of a row of `wb.measure`, by name"
BRIEF = tuple(name for name, column in MEASURED.items() if column.brief)
KERNEL = _by_name(
    Column("index", "#"),
    Column("function", "Kernel", function_name),
    Column("op", "Operator"),
    Column("launches", "Launches", _count),
    Column("bytes_read", "Read", size),
    Column("bytes_written", "Written", size),
    Column("flops", "FLOP", _count, unknown="unknown"),
    Column("median_us", "Time", duration),
    Column("share", "Share", lambda value: f"{value:.1%}"),
)
"the columns shown of a kernel, by name"
