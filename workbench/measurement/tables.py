"""The tables of `wb.measure`, `wb.history`, `wb.ablate` and `wb.waterfall`, which are shown by their main columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workbench.measurement.columns import MEASURED, spread
from workbench.measurement.verdict import ratio_of
from workbench.terminal import html_table, visible
from workbench.wording import counted


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
