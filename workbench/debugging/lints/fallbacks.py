"""The lints of kernels that TVM builds with a fallback, and of records of AutoTVM that a build does not use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.debugging.lints.autotvm_log import Log, read_log
from workbench.debugging.lints.records import UNUSED
from workbench.debugging.lints.result import Lint, config_text
from workbench.dialects.base import Workload
from workbench.errors import MeasureError, WorkbenchError, WorkerLost
from workbench.experiments.symptoms import ROLE
from workbench.graph.model import Graph
from workbench.pipeline.config import Config
from workbench.target_text import TargetLike, target_text
from workbench.wording import counted
from workbench.worker.parent import JobOptions, worker

FALLBACK = "fallback-kernel"
_NO_GAIN = "no gain is predicted, because TVM has no estimate of a schedule that it has not tried"
SHOWN = 3
"kernels, or lines of a log, that a message names"


def fallback_kernels(
    workload: Workload, how: Config, target: TargetLike, log: str | Path | None, limits: JobOptions
) -> Iterator[Lint]:
    """Yield the kernels that TVM builds with a fallback, and with a log the records of it that the build does not use.

    Raises
    ------
    WorkbenchError
        The log cannot be read, or the dialect has no AutoTVM.
    """
    if log is not None and workload.dialect != "relay":
        raise WorkbenchError("Relax has no AutoTVM, so a build uses no log; give schedules= of wb.Config instead")
    records = None if log is None else read_log(Path(log))
    try:
        found = _asked(workload, how, target, records, limits)
    except WorkerLost:
        raise
    except MeasureError as error:
        if records is None:
            return
        raise MeasureError(
            f"the build with the records of {Path(str(log)).name!r} fails: {error}; leave out those of another TVM"
        ) from error
    graph = Graph.from_data(found["graph"])
    tune = _tune(how, target)
    for kernels in _by_fix(found["kernels"]):
        nodes = tuple(node for kernel in kernels for node in kernel["nodes"])
        names = tuple(graph.nodes[node].op for node in nodes)
        yield Lint(FALLBACK, f"{_kernels(kernels, names)}; {_NO_GAIN}", nodes, names, None, how, how, call=tune)
    if records is not None:
        yield from _unused(workload, how, target, str(log), records, found["unused"], limits)


def _by_fix(kernels: Iterable[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """Return the kernels, those together that one search schedules: a CPU's pipeline of Relax schedules none."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for kernel in kernels:
        alone = "" if kernel["cause"] in ("unscheduled", "rule") else kernel["name"]
        found.setdefault((kernel["cause"], alone), []).append(kernel)
    return found.values()


def _kernels(kernels: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> str:
    kernel, operators = kernels[0], ", ".join(dict.fromkeys(names))
    if len(kernels) > 1:
        shown = ", ".join(str(each["name"]) for each in kernels[:SHOWN])
        more = f" and {len(kernels) - SHOWN} more" if len(kernels) > SHOWN else ""
        return {
            "unscheduled": f"{len(kernels)} kernels are compiled without a schedule, because TVM's passes have none for {shown}{more}",
            "rule": f"{len(kernels)} kernels have the schedule of dlight's fallback rule, one thread for a reduction: {shown}{more}",
        }[kernel["cause"]]
    return {
        "untuned": f"{operators} is compiled as {kernel['name']} with a default configuration, because no tuning record is for it",
        "warned": f"{operators} is compiled as {kernel['name']}, and TVM warns: {kernel['said']}",
        "unscheduled": f"{kernel['name']} ({operators}) is compiled without a schedule: TVM's passes have none for it",
        "rule": f"{kernel['name']} ({operators}) has the schedule of dlight's fallback rule: one thread computes a whole reduction",
    }[kernel["cause"]]


def _tune(how: Config, target: TargetLike) -> str:
    """Return the call that searches for schedules of a build."""
    config = config_text(replace(how, schedules=""))
    given = [
        "w",
        *([] if target_text(target) == "llvm" else [repr(target_text(target))]),
        *([f"config={config}"] if config != config_text(Config()) else []),
        *([f"folder={how.schedules!r}"] if how.schedules else []),
    ]
    return f"wb.tune_schedules({', '.join(given)})"


def _unused(
    workload: Workload,
    how: Config,
    target: TargetLike,
    path: str,
    log: Log,
    unused: list[dict[str, Any]],
    limits: JobOptions,
) -> Iterator[Lint]:
    for number, why in log.bad:
        yield Lint(
            UNUSED,
            f"line {number} of the log is not a record of AutoTVM: {why}",
            (),
            (),
            None,
            how,
            how,
            call=_tune(how, target),
        )
    other = Config()
    theirs = (
        unused if how.same_build() == other or not unused else _asked(workload, other, target, log, limits)["unused"]
    )
    left = {tuple(each["places"]) for each in theirs}
    for each in unused:
        by_default = tuple(each["places"]) not in left
        build = _build(path, each["target"] if each["cause"] == "target" else target_text(target))
        call = build if by_default or each["cause"] == "target" else _tune(how, target)
        why = f"{other.label} looks them up, and these passes do not" if by_default else _why(each)
        yield Lint(UNUSED, f"{_records(each, log)}: {why}", (), (), None, how, how, call=call)


def _records(group: Mapping[str, Any], log: Log) -> str:
    lines = [log.lines[place] for place in group["places"]]
    more = ", ..." if len(lines) > SHOWN else ""
    named = f"of {group['task']} " if group["task"] else ""
    where = f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines[:SHOWN]))}{more}"
    return f"the build does not use {counted(len(lines), 'record')} {named}({where})"


def _why(group: Mapping[str, Any]) -> str:
    theirs, ours = group["theirs"], group["ours"]
    return {
        "operator": f"no operator looks up this task; those of the build are {ours or 'none'}",
        "arguments": f"the record has {theirs} where the build has {ours}",
        "target": f"they are for {theirs}, and the target is {ours}",
        "failed": "each of them failed when it was measured",
        "invalid": f"TVM does not read it: {theirs}",
    }[group["cause"]]


def _build(path: str, target: str) -> str:
    return f"with tvm.autotvm.apply_history_best({path!r}): tvm.relay.build(w.module, {target!r}, params=w.params)"


def _asked(
    workload: Workload, config: Config, target: TargetLike, log: Log | None, limits: JobOptions
) -> dict[str, Any]:
    asked = {"target": target_text(target), "config": config.to_data(), "log": [] if log is None else list(log.texts)}
    return worker(ROLE).run("fallbacks", workload, asked, **limits)
