"""`wb.history`: what was measured before, of this machine and this TVM unless all is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import installed
from workbench.measure.rows import COLUMNS
from workbench.measure.store.conditions import conditions, machine
from workbench.measure.store.store import Store, place
from workbench.measure.store.workload_hash import workload_hash
from workbench.worker.cuda import gpu

if TYPE_CHECKING:
    import pandas as pd

APART = ("machine", "tvm")
"two rows that differ in one of these are never compared silently"


def history(workload: Workload | None = None, *, everywhere: bool = False) -> pd.DataFrame:
    """Rows of `wb.measure` as they were kept, newest last.

    Parameters
    ----------
    workload
        Rows of this workload only: those whose `workload_hash` is the same.
    everywhere
        Rows of other machines, of devices behind a tracker and of other TVMs too.

    Returns
    -------
    pandas.DataFrame
        The columns of `wb.measure`. `attrs["note"]` says what was left out, or what is mixed; it is empty otherwise.
    """
    import pandas as pd

    path = place()
    rows, unread = Store(path).read(None if workload is None else workload_hash(workload)) if path else ([], 0)
    if not everywhere:
        chosen = _from_here(rows, workload)
        note = _left_out(len(rows) - len(chosen))
    else:
        chosen = rows
        note = _mixed(rows)
    frame = pd.DataFrame(chosen, columns=_columns(chosen))
    frame.attrs["note"] = "; ".join(part for part in (note, _unread(unread)) if part)
    return frame


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    """Those of `wb.measure`, then what another version of us kept besides."""
    return list(dict.fromkeys((*COLUMNS, *(name for row in rows for name in row))))


def _from_here(rows: list[dict[str, Any]], workload: Workload | None) -> list[dict[str, Any]]:
    here = _here(workload.dialect if workload else installed())
    return [row for row in rows if all(row.get(name) == value for name, value in here.items())]


def _here(dialect: str | None) -> dict[str, Any]:
    """What a row of this machine says; of this machine and any TVM where none is installed."""
    if dialect is None:
        found = gpu()
        return {"machine": machine("" if found is None else found.name)}
    now = conditions(dialect)
    return {name: now[name] for name in APART}


def _unread(count: int) -> str:
    return f"{'1 damaged row' if count == 1 else f'{count} damaged rows'} left out" if count else ""


def _left_out(count: int) -> str:
    if not count:
        return ""
    rows = "1 row" if count == 1 else f"{count} rows"
    return f"{rows} of other machines, devices or TVMs left out; wb.history(..., everywhere=True) shows all"


def _mixed(rows: list[dict[str, Any]]) -> str:
    kinds = {tuple(row.get(name) for name in APART) for row in rows}
    if len(kinds) < 2:
        return ""
    return f"these rows are mixed: {len(kinds)} different pairs of machine and TVM; compare times only within one"
