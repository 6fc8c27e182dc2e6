"""`wb.report`: counts and times of configurations as one HTML file, with the numbers in CSV files next to it.

The page runs no script and loads nothing, and all text from a program is escaped.
"""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from workbench.colours import DARK, LIGHT
from workbench.dialects.base import Workload, workload_of
from workbench.errors import WorkbenchError, writing
from workbench.experiments.waterfall import waterfall as stages_of
from workbench.measurement.kernels import Kernels, kernels_config
from workbench.measurement.machine import ceilings
from workbench.measurement.measure import DEFAULT, measure, raise_interrupt
from workbench.measurement.overlay import joined
from workbench.measurement.tables import KERNEL, MEASURED, Column
from workbench.pipeline.config import Config
from workbench.plots.configurations import headline, kernel_count, launch_overhead, runtime
from workbench.plots.kernels import cpu_gpu, handovers, kernel_times, roofline
from workbench.plots.passes import ablation, waterfall
from workbench.plots.rows import conditions, failures, kind
from workbench.plots.style import to_both
from workbench.quoting import csv_text
from workbench.target_text import TargetLike, target_texts
from workbench.wording import counted, figures, size
from workbench.worker.parent import Progress, never

LONG = 60
"characters of a cell from which it is broken into lines"


def report(
    workload: Workload,
    configs: Iterable[Any] = DEFAULT,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    *,
    path: str | Path = "report.html",
    budget: float = 1.0,
    stages: bool = True,
    ablated: pd.DataFrame | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Path:
    """Measure configurations and write the results to an HTML report.

    Parameters
    ----------
    configs, targets, budget
        As for `wb.measure`; kernels are also timed one by one.
    path
        The HTML file. It opens from disk, runs no script and loads nothing. Next to it are NAME.rows.csv, NAME.samples.csv,
        NAME.kernels.csv and, if there is such data, NAME.waterfall.csv and NAME.ablation.csv.
    stages
        Whether to count the compiler's own passes one by one (`wb.waterfall`).
    ablated
        A result of `wb.ablate` to include.

    Returns
    -------
    Path
        The path of the HTML file.

    Raises
    ------
    WorkbenchError
        The path cannot be written.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> import tempfile
    >>> path = wb.report(w, [3], path=tempfile.mkdtemp() + "/report.html", budget=0.05, stages=False)
    >>> path.name
    'report.html'
    """
    workload = workload_of(workload, "report")
    path = report_path(path)
    made = [Config.of(config) for config in configs]
    wanted = target_texts(targets)
    rows = measure(workload, made, wanted, budget=budget, per_kernel=True, progress=progress, cancelled=cancelled)
    raise_interrupt(rows)
    files = Files(path)
    sections = [*_runs(rows, files), *_kernels(workload, made, rows, files)]
    for target in wanted if stages else ():
        staged = stages_of(workload, target=target, timed=False)
        pictures = tuple(to_both(waterfall, staged, 6, what=what) for what in ("kernels", "traffic_bytes"))
        title = f"The compiler's passes, switched on one by one, {kind(target)}"
        sections.append(Section(title, pictures=pictures, files=files.csv(f"waterfall.{kind(target)}", staged)))
    if ablated is not None:
        drawn = to_both(ablation, ablated, max(len(ablated) - 1, 2))
        sections.append(Section("Without each pass", pictures=(drawn,), files=files.csv("ablation", ablated)))
    call = f"wb.report(w, [{', '.join(map(_written, made))}], {list(wanted)!r}, budget={budget})"
    sections.append(
        Section("To make it again", code=f"import workbench as wb\n\nw = wb.load(module, params)\n{call}\n")
    )
    files.write(path, page(f"{workload.name}: kernels and time", _summary(workload, rows), sections))
    return path


def report_path(path: str | Path) -> Path:
    """Return the path of a report; raises WorkbenchError."""
    path = Path(path).expanduser()
    if path.suffix.lower() != ".html" or not path.parent.is_dir():
        raise WorkbenchError(f"a report is an .html file in a folder that there is; {path.name!r} is not")
    return path


class Files:
    """The files next to a report."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def csv(self, name: str, table: pd.DataFrame) -> tuple[str]:
        """Write a table and return the file's name. Text that a spreadsheet would take for a formula is escaped."""
        path = self._report.with_name(f"{self._report.stem}.{name}.csv")
        self.write(path, csv_text(table))
        return (path.name,)

    def json(self, data: object) -> tuple[str]:
        path = self._report.with_suffix(".json")
        self.write(path, json.dumps(data, indent=1, allow_nan=False))
        return (path.name,)

    def write(self, path: Path, text: str) -> None:
        with writing(path):
            path.write_text(text, encoding="utf-8", errors="replace")


def _summary(workload: Workload, rows: pd.DataFrame) -> list[str]:
    each: list[dict[str, Any]] = rows.to_dict("records")
    said = [f"{workload.name} ({workload.dialect}), measured {each[0]['measured_at']}", conditions(rows)]
    return [*said, headline(each), *failures(each)]


def _runs(rows: pd.DataFrame, files: Files) -> list[Section]:
    samples = [
        {"config": row["config"], "asked_target": row["asked_target"], "run": row["run"], "seconds": seconds}
        for row in rows.to_dict("records")
        for seconds in row["samples"] or ()
    ]
    saved = files.csv("rows", rows.drop(columns=["samples", "per_kernel"])) + files.csv(
        "samples", pd.DataFrame(samples)
    )
    count = rows["config"].nunique()
    found = [
        Section("Kernels", pictures=(to_both(kernel_count, rows, len(rows)),)),
        Section("Time", pictures=(to_both(runtime, rows, count),)),
        Section("What a run costs beyond its kernels", pictures=(to_both(launch_overhead, rows, len(rows)),)),
    ]
    if rows["device"].nunique() > 1:
        found.append(Section("CPU and CUDA, kernel by kernel", pictures=(to_both(cpu_gpu, rows, 7),)))
    return [*found, Section("Every row", table=_cells(rows, MEASURED.values()), files=saved)]


def _kernels(workload: Workload, configs: list[Config], rows: pd.DataFrame, files: Files) -> list[Section]:
    """Return sections on the fastest configuration's kernels on each target; the last one's where none was timed."""
    sections, tables = [], []
    for target in rows["asked_target"].unique():
        mine: list[dict[str, Any]] = rows.loc[rows["asked_target"] == target].to_dict("records")
        right = [place for place, each in enumerate(mine) if each["status"] == "ok"]
        place = min(right, key=lambda place: mine[place]["median_us"], default=len(mine) - 1)
        config, row = configs[place], pd.DataFrame([mine[place]])
        if config.pipeline:
            continue
        found = kernels_config(workload, config, target)
        times = row if isinstance(row["per_kernel"].iloc[0], list) else None
        table = joined(found, times)
        tables.append(table.assign(config=config.label, asked_target=target))
        sections.append(_of_target(found, table, row, f"{kind(target)}, {config.label}"))
    saved = files.csv("kernels", pd.concat(tables)) if tables else ()
    return [*sections, Section("The kernels' numbers", files=saved)] if saved else sections


def _of_target(found: Kernels, table: pd.DataFrame, row: pd.DataFrame, name: str) -> Section:
    table.attrs = {"conditions": conditions(row), "method": row["kernel_method"].iloc[0] or ""}
    pictures = [to_both(handovers, found.handovers, 2)]
    if "median_us" in table:
        roof = ceilings() if row["device"].iloc[0] == "cpu" else None
        pictures = [
            to_both(kernel_times, table, min(table["op"].nunique(), 12), most=12),
            to_both(kernel_times, table, min(len(table), 12), by="kernel", most=12),
            to_both(roofline, table, 8, ceilings=roof),
            *pictures,
        ]
    said = f"{counted(found.calls, 'call')} of {counted(found.functions, 'function')}, {size(found.traffic_bytes)} read and written"
    columns = [column for name, column in KERNEL.items() if name in table]
    return Section(name, (said, *found.notes), tuple(pictures), _cells(table, columns))


def _cells(rows: pd.DataFrame, columns: Iterable[Column]) -> list[list[str]]:
    columns = list(columns)
    lines = ([column.cell(row) for column in columns] for row in rows.to_dict("records"))
    return [[column.heading for column in columns], *lines]


def rows_of_text(table: pd.DataFrame) -> list[list[str]]:
    """Return a table as rows of cells with the header first: names in one text, nothing for an unknown value."""
    return [list(map(str, table.columns)), *([_text(value) for value in row] for row in table.itertuples(index=False))]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return figures(value) if isfinite(value) else ""
    return "" if value is None or value is pd.NA else str(value)


def _written(config: Config) -> str:
    plain = Config()
    said = {name: value for name, value in config.to_data().items() if value != getattr(plain, name)}
    if set(said) <= {"opt_level"}:
        return str(config.opt_level)
    return repr({name: list(value) if isinstance(value, tuple) else value for name, value in said.items()})


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    heading: str
    words: tuple[str, ...] = ()
    pictures: tuple[tuple[str, str, str], ...] = ()
    "each as SVG for light and for dark pages, and its title, which is the alternative text"
    table: Sequence[Sequence[str]] = ()
    "rows of cells; the first is the header"
    code: str = ""
    files: tuple[str, ...] = ()
    "names of files next to the report"


def page(title: str, summary: Iterable[str], sections: Iterable[Section]) -> str:
    """Return the text of the HTML file."""
    said = "".join(f"<li>{html.escape(line)}</li>" for line in summary)
    parts = "".join(map(_section, sections))
    light, dark = (
        f"--ink: {each.text}; --dim: {each.dim}; --line: {each.faint}; --page: {each.page}; --raised: {each.band};"
        for each in (LIGHT, DARK)
    )
    return _PAGE.format(title=html.escape(title), summary=said, parts=parts, light=light, dark=dark)


def _section(section: Section) -> str:
    words = "".join(f"<p>{html.escape(line)}</p>" for line in section.words)
    pictures = "".join(map(_picture, section.pictures))
    code = f"<pre>{html.escape(section.code)}</pre>" if section.code else ""
    files = "".join(f'<a href="{html.escape(quote(name))}">{html.escape(name)}</a> ' for name in section.files)
    beside = f"<p class='files'>{files}</p>" if files else ""
    return f"<section><h2>{html.escape(section.heading)}</h2>{words}{pictures}{_table(section.table)}{code}{beside}</section>"


def _picture(shown: tuple[str, str, str]) -> str:
    light, dark = (f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" for svg in shown[:2])
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
    return f'<picture>{source}<img src="{light}" alt="{html.escape(shown[2])}"></picture>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head, *lines = rows
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    cells = ([f"<td{' class=long' * (len(cell) > LONG)}>{html.escape(cell)}</td>" for cell in line] for line in lines)
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in cells)
    return f"<div class='table'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


_PAGE = """<!doctype html>
<html lang="en" data-workbench="report">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tvm-workbench">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ margin: 24px auto; padding: 0 20px; max-width: 1500px; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); }}
h1 {{ font-size: 1.5em; margin: 0; }} h2 {{ font-size: 1.1em; margin: 0 0 6px; }} p {{ margin: 4px 0; color: var(--dim); }}
ul {{ margin: 8px 0 20px; padding-left: 20px; }} main {{ display: grid; gap: 28px 36px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }}
section {{ min-width: 0; border-top: 1px solid var(--line); padding-top: 12px; }} section:has(.table, pre) {{ grid-column: 1 / -1; }}
section:has(.table) picture {{ display: inline-block; width: min(100%, 720px); }} img {{ width: 100%; max-width: 760px; height: auto; }}
.table {{ overflow-x: auto; max-height: 520px; overflow-y: auto; }} table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }}
td.long {{ white-space: normal; min-width: 36em; overflow-wrap: anywhere; }}
th {{ position: sticky; top: 0; background: var(--page); color: var(--dim); font-weight: 500; }}
pre {{ background: var(--raised); padding: 10px 12px; overflow-x: auto; font-size: 13px; border-radius: 4px; }} .files a {{ margin-right: 12px; color: inherit; }}
</style>
</head>
<body>
<h1>{title}</h1>
<ul>{summary}</ul>
<main>{parts}</main>
</body>
</html>
"""
