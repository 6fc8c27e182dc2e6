"""Readers of tables of `wb.measure` and `wb.kernels` for the plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.measurement.row import failure
from workbench.plots.style import complete
from workbench.target_text import kind_of
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Rows = list[dict[str, Any]]
TIMED = ("config", "median_us", "q1_us", "q3_us")


def row_names(data: pd.DataFrame) -> list[str]:
    """Return the name of each row: its configuration, and its target where there are several."""
    asked = data["asked_target"] if "asked_target" in data else data.get("target")
    if asked is None or asked.nunique() < 2:
        return [str(name) for name in data["config"]]
    return [f"{name}, {kind(target)}" for name, target in zip(data["config"], asked, strict=True)]


def kind(target: Any) -> str:
    """Return the kind of a target."""
    try:
        word = kind_of(str(target))
    except WorkbenchError:  # in a row that other software wrote
        word = "?"
    return {"llvm": "CPU", "c": "CPU", "cuda": "CUDA"}.get(word, word)


def device(row: Row) -> str:
    """Return the device of a row: `CPU` or `CUDA`."""
    said = row.get("device")
    return str(said).upper() if isinstance(said, str) and said else kind(row.get("target", "llvm"))


def conditions(data: pd.DataFrame) -> str:
    """Return the machine and the method of the measurement, in one line."""
    threads = [int(value) for value in _values(data, "threads")]
    many = f"{'/'.join(map(str, threads))} thread{'' if threads == [1] else 's'}" if threads else ""
    said = (_each(data, "cpu"), _each(data, "gpu"), many, _each(data, "target"), _each(data, "tvm", "TVM "))
    return " · ".join(filter(None, said))


def failed(row: Row) -> str:
    """Return the word that replaces the numbers of a failed row; empty where nothing failed."""
    return str(row["status"]) if failure(row.get("status"), row.get("message")) else ""


def failures(rows: Iterable[Row], name: str = "config") -> list[str]:
    """Return the messages of the rows that failed, each with the row's name, and its device where there are several."""
    rows = list(rows)
    several = name == "config" and len({device(row) for row in rows}) > 1
    said = [(row, failure(row.get("status"), row.get("message"))) for row in rows]
    return [f"! {row.get(name)}{f', {device(row)}' if several else ''}: {words}" for row, words in said if words]


def with_failures(finding: str, rows: Iterable[Row]) -> str:
    """Return a finding with the number of failed rows: `1 failed`; rows without a device are `not measured`."""
    words = Counter(word for row in rows if (word := failed(row)))
    return "; ".join(filter(None, (finding, ", ".join(f"{many} {word}" for word, many in words.items()))))


def _values(data: pd.DataFrame, column: str) -> list[Any]:
    return list(dict.fromkeys(data[column].dropna())) if column in data else []


def _each(data: pd.DataFrame, column: str, before: str = "") -> str:
    found = [str(value) for value in _values(data, column) if str(value)]
    more = [counted(len(found) - 2, "other")] if len(found) > 2 else []
    return before + " and ".join([*found[:2], *more]) if found else ""


def kernel_rows(data: pd.DataFrame) -> pd.DataFrame:
    """Return a table of timed kernels, one row each: `index`, `name`, `op`, `median_us` and other known columns.

    `data` is such a table; or rows of `wb.measure(..., per_kernel=True)`, of which the first with kernel times is used.
    """
    import pandas as pd

    if "per_kernel" not in data:
        return complete(data, "name", "median_us")
    for row in data.to_dict("records"):
        if isinstance(row["per_kernel"], list) and row["per_kernel"]:
            table = pd.DataFrame(row["per_kernel"])
            table.attrs = {"conditions": conditions(pd.DataFrame([row])), "method": row.get("kernel_method") or ""}
            return complete(table, "name", "median_us")
    return pd.DataFrame({"name": [], "op": [], "median_us": []})


def kernel_conditions(data: pd.DataFrame) -> str:
    """Return the line below a plot of kernels."""
    return " · ".join(filter(None, (data.attrs.get("conditions", ""), data.attrs.get("method", ""))))
