"""`wb.lint`: avoidable costs of a program, each with a fix that was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.debugging.lints.result import Lint, Lints
from workbench.debugging.lints.rules import Finding, findings, fixed_pipeline
from workbench.debugging.remarks.collect import trace_of
from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import dialect_of
from workbench.errors import Cancelled
from workbench.pipeline.config import Config
from workbench.pipeline.run import trace
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress


def lint(
    workload: Workload,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Lints:
    """Return avoidable costs of a program under some passes, each with the call that avoids it.

    Three rules: layout changes that undo each other, operators without a pattern kind when FuseOps runs, and operators on
    parameters only that run each time because the parameters are not bound. The fix of a finding is run, and the finding is left
    out if it is still there after it.

    Parameters
    ----------
    target, config
        Of the build, as `wb.memory` takes them.

    Returns
    -------
    Lints
        A sequence of lints with `name`, `message`, `nodes`, `operators`, `bytes` and `fix`; `.measure(rows)` races fixes.

    Raises
    ------
    MeasureError, WorkerLost
        The passes could not be started, or ended their process.

    Examples
    --------
    >>> found = wb.lint(wb.samples.load("mlp", layers=1))
    >>> [(each.name, each.operators, each.bytes) for each in found]
    [('weight-not-folded', ('transpose',), 4096)]
    >>> found[0].fix
    "wb.trace(w, 'DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern,BindParams,FoldConstant,FuseOps{fuse_opt_level=2}')"
    """
    workload = workload_of(workload, "lint")
    how = Config.of({} if config is None else config)
    plain = how.pipeline or dialect_of(workload).passes.fusing()
    with showing_progress(progress, f"Linting {workload.name}") as report:
        made = trace_of(workload, target, how, timeout, report, cancelled)
        found = findings(made, workload.params)
        kept = list(_fixable(workload, how, plain, found, cancelled))
    lints = (_lint(each, fixed_pipeline(plain, each)) for each in kept)
    return Lints(tuple(sorted(lints, key=lambda each: -(each.bytes or 0))), workload, plain, target)


def _lint(found: Finding, pipeline: str) -> Lint:
    names = tuple(found.graph.nodes[node].op for node in found.nodes)
    return Lint(found.name, found.message, found.nodes, names, found.bytes, pipeline)


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
