"""`wb.remarks`: the decisions of the passes of a trace, as remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.debugging.remarks.folds import chain_remarks, fold_remarks
from workbench.debugging.remarks.fusion import FUSE_OPS, fusion_remarks
from workbench.debugging.remarks.merges import merge_remarks, unmerged_remarks
from workbench.debugging.remarks.remark import ANALYSIS, MISSED, Remark
from workbench.debugging.remarks.result import Remarks
from workbench.debugging.remarks.steps import pass_of, ran
from workbench.dialects.base import Workload
from workbench.dialects.trust import UNTRUSTED
from workbench.errors import Cancelled, WorkbenchError, instead
from workbench.pipeline.build import trace_build
from workbench.pipeline.config import Config
from workbench.pipeline.run import trace
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress


def remarks(
    source: Workload | Trace,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Remarks:
    """Return each decision of the passes as a record: fused, merged or folded, or not, and why.

    The decisions of FuseOps are those of `wb.explain_fusion` on the graph before each FuseOps; its branches, chains and hazards are
    those of `wb.parallel_branches` and `wb.constant_chains`. A merge or a fold is "passed" only if the graph after the pass shows it.

    Parameters
    ----------
    source
        A Trace, or a Workload, whose passes then run: those of the compiler in the child process, or those of `config`.
    target, config
        Of the build of a Workload, as `wb.memory` takes them; a Trace has its own.

    Returns
    -------
    Remarks
        A sequence of records with `kind` (passed, missed, analysis), `pass_name`, `name` (the reason code), `message`, `change`,
        `operators`, `nodes`, `layer`, `source` and `bytes`. `.write` makes a file, `.lost(since)` compares two programs.

    Raises
    ------
    WorkbenchError
        The source is neither, or a trace comes with a config.
    MeasureError, WorkerLost
        The passes could not be started, or ended their process.

    Examples
    --------
    >>> found = wb.remarks(wb.samples.load("mlp", layers=1))
    >>> print(found.headline)
    4 remarks: 2 passed, 1 missed, 1 analysis
    >>> [(each.operators, each.name, each.bytes) for each in found.dearest]
    [(('transpose', 'matmul'), 'path_kind', 4096)]
    """
    if isinstance(source, Trace) and config is not None:
        raise WorkbenchError("a trace has its passes already; leave config out, or give remarks the workload")
    if not isinstance(source, (Trace, Workload)):
        raise WorkbenchError(f"remarks takes a Workload or a Trace, not {type(source).__name__}; {instead(source)}")
    how = Config.of({} if config is None else config)
    with showing_progress(progress, f"Collecting the remarks of {source.name}") as report:
        made = source if isinstance(source, Trace) else trace_of(source, target, how, timeout, report, cancelled)
        return Remarks(tuple(_collected(made, report, cancelled)))


def trace_of(
    workload: Workload,
    target: TargetLike,
    config: Config,
    timeout: float,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> Trace:
    """Return the trace of a Config's pipeline, or else of the compiler's own passes up to the kernels."""
    if config.pipeline:
        return trace(workload, config.pipeline, config.opt_level)
    switched = config.opt_level, config.disabled, config.required, config.options
    return trace_build(
        workload, target, *switched, whole=False, timeout=timeout, progress=progress, cancelled=cancelled
    )


def _collected(made: Trace, report: Progress, cancelled: Callable[[], bool]) -> Iterator[Remark]:
    for place, step in enumerate(made.steps):
        if cancelled():
            raise Cancelled("the remarks were cancelled")
        report(step.name, place / len(made.steps))
        yield from _of_step(made, step)
    yield from unmerged_remarks(made)
    yield from chain_remarks(made)


def _of_step(made: Trace, step: Step) -> Iterator[Remark]:
    name = pass_of(step)
    if step.error:
        yield Remark(MISSED, name, "failed", f"The pass failed: {step.error}.")
    elif step.detail == UNTRUSTED:
        yield Remark(ANALYSIS, name, "untrusted", f"Its constants are not folded: {UNTRUSTED}.")
    elif not ran(step):
        yield Remark(ANALYSIS, name, step.status, _NOT_RUN[step.status])
    elif name == FUSE_OPS:
        yield from fusion_remarks(made, step)
    else:
        yield from merge_remarks(made, step)
        yield from fold_remarks(made, step)


_NOT_RUN = {"off": "The pass is switched off.", "skipped": "The pass needs a higher opt_level than the trace has."}
