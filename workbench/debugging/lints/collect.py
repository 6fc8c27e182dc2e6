"""`wb.lint`: avoidable costs of a program, each with a fix that was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.debugging.lints.fallbacks import fallback_kernels
from workbench.debugging.lints.records import unused_records
from workbench.debugging.lints.reshapes import copying_reshapes, fixed_reshapes, may_copy
from workbench.debugging.lints.result import Lint, Lints
from workbench.debugging.lints.rules import Finding, findings, fixed_pipeline
from workbench.debugging.remarks.collect import trace_of
from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import dialect_of
from workbench.errors import Cancelled, MeasureError, WorkerLost
from workbench.measurement.memory.plan import MemoryPlan
from workbench.measurement.memory.planning import memory_config
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.run import trace
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never
from workbench.worker.progress import showing_progress


def lint(
    workload: Workload,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    log: str | Path | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Lints:
    """Return avoidable costs of a program under some passes, each with the call that avoids it.

    Six rules: layout changes that undo each other, operators without a pattern kind when FuseOps runs, operators on parameters only
    that run each time because the parameters are not bound, reshapes that copy, kernels that TVM builds with a fallback, and tuned schedules that the build does not
    look up. The fix of a finding is run, and the finding is left out if it is still there after it; a fix that searches for schedules is not run.

    Parameters
    ----------
    target, config
        Of the build, as `wb.memory` takes them.
    log
        A file of AutoTVM's records, of Relay: the build is the one under `tvm.autotvm.apply_history_best(log)`.

    Returns
    -------
    Lints
        A sequence of lints with `name`, `message`, `nodes`, `operators`, `bytes` and `fix`; `.measure(rows)` races fixes.

    Raises
    ------
    MeasureError, WorkerLost
        The passes could not be started, or ended their process.
    WorkbenchError
        The log cannot be read, or the program is not Relay.

    Examples
    --------
    >>> found = wb.lint(wb.samples.load("mlp", layers=1))
    >>> [(each.name, each.operators, each.bytes) for each in found]
    [('weight-not-folded', ('transpose',), 4096), ('fallback-kernel', ('matmul', 'add', 'relu'), None)]
    >>> found[0].fix
    "wb.trace(w, 'DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern,BindParams,FoldConstant,FuseOps{fuse_opt_level=2}')"
    """
    workload = workload_of(workload, "lint")
    how = Config.of({} if config is None else config)
    check_config(workload, how)
    plain = how.pipeline or dialect_of(workload).passes.fusing()
    with showing_progress(progress, f"Linting {workload.name}") as report:
        limits: JobOptions = {"timeout": timeout, "progress": report, "cancelled": cancelled}
        made = trace_of(workload, target, how, timeout, report, cancelled)
        found = findings(made, workload.params)
        kept = [*_fixable(workload, how, plain, found, cancelled)]
        if may_copy(made):
            kept += _copying(workload, how, plain, target, limits)
        lints = [_lint(each, plain, fixed_pipeline(plain, each)) for each in kept]
        lints += fallback_kernels(workload, how, target, log, limits)
        lints += unused_records(workload, how, target, limits)
    return Lints(tuple(sorted(lints, key=lambda each: -(each.bytes or 0))), workload, target)


def _lint(found: Finding, plain: str, fixed: str) -> Lint:
    names = tuple(found.graph.nodes[node].op for node in found.nodes)
    configs = Config(pipeline=plain), Config(pipeline=fixed)
    return Lint(found.name, found.message, found.nodes, names, found.bytes, *configs)


def _fixable(
    workload: Workload, how: Config, plain: str, found: list[Finding], cancelled: Callable[[], bool]
) -> Iterator[Finding]:
    """Yield the findings of each rule whose fix leaves fewer of them."""
    before = Counter(each.name for each in found)
    left: dict[str, Counter[str]] = {}
    for each in found:
        pipeline = fixed_pipeline(plain, each)
        if pipeline not in left:
            if cancelled():
                raise Cancelled("the lints were cancelled")
            after = trace(workload, pipeline, how.opt_level)
            left[pipeline] = Counter(one.name for one in findings(after, workload.params))
        if left[pipeline][each.name] < before[each.name]:
            yield each


def _copying(workload: Workload, how: Config, plain: str, target: TargetLike, limits: JobOptions) -> Iterator[Finding]:
    """Yield the reshapes that are kernels of the build, and of which the build with the fix has none."""
    before = _planned(workload, how, target, limits)
    found = [] if before is None else list(copying_reshapes(before, workload.dialect))
    if found:
        fixed = replace(how, pipeline=fixed_pipeline(plain, found[0]))
        after = _planned(workload, fixed, target, limits)
        yield from () if after is None else fixed_reshapes(found, after)


def _planned(workload: Workload, config: Config, target: TargetLike, limits: JobOptions) -> MemoryPlan | None:
    """Return the plan of a build; None for passes that fail, which have no kernels."""
    try:
        return memory_config(workload, config, target, **limits)
    except WorkerLost:
        raise
    except MeasureError:
        return None
