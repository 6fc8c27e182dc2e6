"""The tables of a notebook, a terminal, the Workbench and the report: their columns, with the text of a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.measurement.verdict import ratio_of
from workbench.terminal import html_table, visible
from workbench.wording import counted, duration, figures, size, time_unit


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
    Column("rule", "Rule"),
)
"the columns shown of a kernel, by name"


class Table(pd.DataFrame):
    """A DataFrame that a notebook and a terminal show by its main columns; a notebook has all of them behind a fold.

    A result of pandas, such as `rows[["config"]]` or `rows.copy()`, is a plain DataFrame.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_columns", None):
            whole = pd.DataFrame(self).to_html(max_rows=20, notebook=True)
        title = f"All {counted(len(self.columns), 'column')}"
        return f"{html_table('', self._lines())}<details><summary>{title}</summary>{whole}</details>"

    def __repr__(self) -> str:
        lines = pd.DataFrame(self._lines())
        return visible(f"{lines.to_string()}\n({counted(len(self.columns), 'column')} in all, see .columns)")

    def _lines(self) -> list[dict[str, str]]:
        """Return the shown columns of each row; one that is empty, or the only target, is left out."""
        lines = [_line(row) for row in self.to_dict("records")]
        used = [name for name in (lines[0] if lines else ()) if any(line[name] for line in lines)]
        targets = {line["Target"] for line in lines}
        return [{name: line[name] for name in used if name != "Target" or len(targets) > 1} for line in lines]


def _line(row: Mapping[str, Any]) -> dict[str, str]:
    first = {"Pass": _pass(row)} if "pass" in row else {"Configuration": MEASURED["config"].cell(row)}
    shown = {MEASURED[name].heading: MEASURED[name].cell(row) for name in ("target", "kernels", "traffic_bytes")}
    race = ratio_of(row)
    return {
        **first,
        **shown,
        "Time": spread(row),
        "Time / all": "" if race is None else f"{race.ratio:.3f} ({race.low:.3f} to {race.high:.3f})",
        "Verdict": str(row.get("verdict") or ""),
        **{MEASURED[name].heading: MEASURED[name].cell(row) for name in ("status", "message")},
    }


def _pass(row: Mapping[str, Any]) -> str:
    """Return the pass of a row; an ablation's first row races all passes against themselves."""
    way = row.get("direction", "")
    return "all passes, against themselves" if way == "control" else f"{way} {row['pass']}".strip()
