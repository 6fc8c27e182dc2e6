"""The columns that tables show of a measured row and of a kernel, with the text of a value; and its readable unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def time_unit(microseconds: float) -> tuple[float, str]:
    """Return a readable unit for a time, as the factor from microseconds and the unit.

    >>> time_unit(0.25)
    (1000.0, 'ns')
    >>> time_unit(2500)
    (0.001, 'ms')
    """
    if microseconds < 1:
        return 1e3, "ns"
    if microseconds < 1e3:
        return 1.0, "µs"
    return (1e-3, "ms") if microseconds < 1e6 else (1e-6, "s")


def byte_unit(count: float) -> tuple[float, str]:
    """Return a readable unit for a size, as the factor from bytes and the unit.

    >>> byte_unit(2_500_000)
    (1e-06, 'MB')
    """
    if abs(count) < 10_000:
        return 1.0, "bytes"
    if abs(count) < 999.5e3:
        return 1e-3, "kB"
    return (1e-6, "MB") if abs(count) < 999.5e6 else (1e-9, "GB")


def figures(value: float) -> str:
    """Return a number with three significant figures, without an exponent.

    >>> figures(1234.5), figures(0.1234)
    ('1,234', '0.123')
    """
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def duration(microseconds: float) -> str:
    """Return a time in a readable unit: `5.1 µs`."""
    factor, unit = time_unit(microseconds)
    return f"{figures(microseconds * factor)} {unit}"


def size(count: float) -> str:
    """Return bytes in a readable unit: `2.5 MB`."""
    factor, unit = byte_unit(count)
    return f"{figures(count * factor)} {unit}"


def spread(row: Mapping[str, Any]) -> str:
    """Return the median of a row with its quartiles; empty where it was not timed."""
    if not is_known(row.get("median_us")):
        return ""
    factor, unit = time_unit(row["median_us"])
    low, middle, high = (figures(row[name] * factor) for name in ("q1_us", "median_us", "q3_us"))
    return f"{middle} {unit} ({low} to {high})"


def kernel_name(name: object) -> str:
    """Return a kernel's name without the common prefix of kernel names.

    >>> kernel_name("tvmgen_default_fused_nn_dense_add")
    'nn_dense_add'
    """
    text = str(name)
    return text.removeprefix("tvmgen_default_").removeprefix("fused_") or text


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
        """Return the text of its value in a row."""
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
    Column("name", "Kernel", kernel_name),
    Column("op", "Operator"),
    Column("launches", "Launches", _count),
    Column("bytes_read", "Read", size),
    Column("bytes_written", "Written", size),
    Column("flops", "FLOP", _count, unknown="unknown"),
    Column("median_us", "Time", duration),
    Column("share", "Share", lambda value: f"{value:.1%}"),
)
"the columns shown of a kernel, by name"
