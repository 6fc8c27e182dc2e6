"""`wb.report`: counts and times of configurations as one HTML file, with the numbers beside it as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError, writing
from workbench.measure.kernels.kernels import Kernels, kernels_config
from workbench.measure.kernels.overlays import joined
from workbench.measure.local import DEFAULT, measure, raise_interrupt
from workbench.measure.timing.ceilings import ceilings
from workbench.measure.waterfall import waterfall as staged
from workbench.pipeline.config import Config
from workbench.plots.ablation import ablation
from workbench.plots.counts import kernel_count
from workbench.plots.cpu_gpu import cpu_gpu
from workbench.plots.handovers import handovers
from workbench.plots.kernel_times import kernel_times
from workbench.plots.overhead import launch_overhead
from workbench.plots.report_page import Section, page, picture
from workbench.plots.roofline import roofline
from workbench.plots.rows import conditions, failures, kind
from workbench.plots.style import byte_unit, figures, time_unit
from workbench.plots.times import headline, runtime
from workbench.plots.waterfall import waterfall
from workbench.targets import TargetLike, target_texts
from workbench.worker.parent import Progress, never

WIDE = ("samples", "per_kernel")
"columns of lists: the samples go to a file of their own"
SHOWN = ("config", "asked_target", "status", "kernels", "functions", "launches", "traffic_bytes", "median_us", "q1_us", "q3_us", "check", "message")  # fmt: skip


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
    """Measure, and write down what was found.

    Parameters
    ----------
    configs, targets, budget
        As `wb.measure` takes them; kernels are timed one by one too.
    path
        The HTML file. It opens from disk, runs no script and loads nothing. Beside it are NAME.rows.csv, NAME.samples.csv,
        NAME.kernels.csv and, where there are any, NAME.waterfall.csv and NAME.ablation.csv.
    stages
        Whether to count the compiler's own passes one by one (`wb.waterfall`).
    ablated
        What `wb.ablate` found, to be in the report.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    WorkbenchError
        The place cannot be written.
    """
    path = Path(path).expanduser()
    if path.suffix.lower() != ".html" or not path.parent.is_dir():
        raise WorkbenchError(f"a report is an .html file in a folder that there is; {path.name!r} is not")
    made = [Config.of(config) for config in configs]
    wanted = target_texts(targets)
    rows = measure(workload, made, wanted, budget=budget, per_kernel=True, progress=progress, cancelled=cancelled)
    raise_interrupt(rows)
    files = Files(path)
    sections = [
        *_runs(rows, files),
        *_kernels(workload, made, rows, files),
        *_passes(workload, wanted, stages, ablated, files),
    ]
    sections.append(_again(made, wanted, budget))
    files.write(path, page(f"{workload.name}: kernels and time", _summary(workload, rows), sections))
    return path


class Files:
    """The files beside a report."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def csv(self, name: str, table: pd.DataFrame) -> tuple[str]:
        """Write a table; gives the file's name. Text that a spreadsheet would take for a formula is kept from it."""
        path = self._report.with_name(f"{self._report.stem}.{name}.csv")
        self.write(path, table.map(_harmless).to_csv(index=False))
        return (path.name,)

    def write(self, path: Path, text: str) -> None:
        """Write a file whole.

        Raises
        ------
        WorkbenchError
            It cannot be written.
        """
        with writing(path):
            path.write_text(text, encoding="utf-8", errors="replace")


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and re.match(r"[=+@\t\r]|-[^0-9]", value) else value


def _summary(workload: Workload, rows: pd.DataFrame) -> list[str]:
    each: list[dict[str, Any]] = rows.to_dict("records")
    said = [f"{workload.name} ({workload.dialect}), measured {each[0]['measured_at']}", conditions(rows)]
    return [*said, headline(each), *failures(each)]


def _runs(rows: pd.DataFrame, files: Files) -> list[Section]:
    kept: list[str] = ["config", "asked_target", "run"]
    samples = pd.DataFrame(
        [
            {name: row[name] for name in kept} | {"seconds": s}
            for row in rows.to_dict("records")
            for s in row["samples"] or ()
        ]
    )
    saved = files.csv("rows", rows.drop(columns=list(WIDE))) + files.csv("samples", samples)
    count = rows["config"].nunique()
    head = [name.replace("_", " ") for name in SHOWN]
    table = [head, *([_cell(row[name], name) for name in SHOWN] for row in rows.to_dict("records"))]
    found = [
        Section("Kernels", pictures=(picture(kernel_count, rows, len(rows)),)),
        Section("Time", pictures=(picture(runtime, rows, count),)),
        Section("What a run costs beyond its kernels", pictures=(picture(launch_overhead, rows, len(rows)),)),
    ]
    if rows["device"].nunique() > 1:
        found.append(Section("CPU and CUDA, kernel by kernel", pictures=(picture(cpu_gpu, rows, 7),)))
    return [*found, Section("Every row", table=table, files=saved)]


def _kernels(workload: Workload, configs: list[Config], rows: pd.DataFrame, files: Files) -> list[Section]:
    """The fastest configuration's kernels, on each target; the last configuration's where none was timed."""
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
    pictures = [picture(handovers, found.handovers, 2)]
    if "median_us" in table:
        roof = ceilings() if row["device"].iloc[0] == "cpu" else None
        pictures = [
            picture(kernel_times, table, min(table["op"].nunique(), 12), most=12),
            picture(kernel_times, table, min(len(table), 12), by="kernel", most=12),
            picture(roofline, table, 8, ceilings=roof),
            *pictures,
        ]
    factor, unit = byte_unit(found.traffic_bytes)
    said = f"{found.calls} calls of {found.functions} functions, {figures(found.traffic_bytes * factor)} {unit} read and written"
    columns = [
        c
        for c in ("index", "name", "op", "launches", "bytes_read", "bytes_written", "flops", "median_us", "share")
        if c in table
    ]
    lines = [[_cell(line[c], c) for c in columns] for line in table.to_dict("records")]
    return Section(name, (said, *found.notes), tuple(pictures), [[c.replace("_", " ") for c in columns], *lines])


def _passes(
    workload: Workload, targets: Sequence[str], stages: bool, ablated: pd.DataFrame | None, files: Files
) -> list[Section]:
    found = []
    for target in targets if stages else ():
        rows = staged(workload, target=target, timed=False)
        pictures = tuple(picture(waterfall, rows, 6, what=what) for what in ("kernels", "traffic_bytes"))
        saved = files.csv(f"waterfall.{kind(target)}", rows)
        found.append(
            Section(f"The compiler's passes, switched on one by one, {kind(target)}", pictures=pictures, files=saved)
        )
    if ablated is not None:
        drawn = picture(ablation, ablated, max(len(ablated) - 1, 2))
        found.append(Section("Without each pass", pictures=(drawn,), files=files.csv("ablation", ablated)))
    return found


def _again(configs: list[Config], targets: Sequence[str], budget: float) -> Section:
    chosen = ", ".join(_written(config) for config in configs)
    code = f"import workbench as wb\n\nw = wb.load(module, params)\nwb.report(w, [{chosen}], {list(targets)!r}, budget={budget})\n"
    return Section("To make it again", code=code)


def _written(config: Config) -> str:
    plain = Config()
    said = {name: value for name, value in config.to_data().items() if value != getattr(plain, name)}
    if set(said) <= {"opt_level"}:
        return str(config.opt_level)
    return repr({name: list(value) if isinstance(value, tuple) else value for name, value in said.items()})


def _cell(value: Any, column: str) -> str:
    if not isinstance(value, (int, float)) or value != value:
        return (
            "unknown" if column == "flops" else "" if value is None or value is pd.NA or value != value else str(value)
        )
    if column.endswith("_us"):
        factor, unit = time_unit(value)
        return f"{figures(value * factor)} {unit}"
    if column == "share":
        return f"{value:.1%}"
    return f"{value:,.0f}"
