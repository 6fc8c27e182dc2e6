"""Jobs on one module: a pass isolated for `wb.trace`, tried and counted for `wb.explore`; a pattern of `wb.match`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, WorkbenchError
from workbench.graph.model import Graph
from workbench.jobs.build import runner_of
from workbench.pipeline.apply import applied, make_pass
from workbench.pipeline.run import ANY_LEVEL, Runner, run_here
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.pipeline.step import State
from workbench.worker.child import Progress


def apply(
    workload: Workload, *, text: str, pickled: str, opt_level: int, folder: str, progress: Progress
) -> dict[str, object]:
    """Run one pass, given as its text or as the notebook pickled it."""
    dialect = dialect_of(workload)
    if pickled:
        import cloudpickle

        # our own notebook sent it, over a connection with a key
        run = cloudpickle.loads(base64.b64decode(pickled))
    else:
        (step,) = Pipeline.parse(text)
        run = make_pass(dialect, step, workload.params)
    progress("Running a pass")
    found = applied(dialect, run, workload.module, opt_level, trusted=workload.trusted)
    if found.status == "changed":
        dialect.frontend.dump(Workload(found.module, {}, workload.name, workload.dialect, trusted=False), Path(folder))
    return {"status": found.status, "seconds": found.seconds, "error": found.error, "detail": found.detail}


def after(workload: Workload, *, passes: str, progress: Progress) -> dict[str, object]:
    """Run passes, and return the graph after them, or the error of the pass that fails."""
    progress("Running passes")
    found = run_here(workload, passes)
    return {
        "graph": None if found.graph is None else found.graph.to_data(),
        "failure": found.failure,
        "tried": found.tried,
    }


def effect(
    workload: Workload, *, name: str, options: Mapping[str, object], after: str, opt_level: int, progress: Progress
) -> dict[str, object]:
    """Try one pass on the module that the pipeline `after` makes of the workload, and count."""
    progress(f"Trying {name}")
    runner = runner_of(workload)
    here = runner.run(Pipeline.parse(after), opt_level)
    if here.failed is not None:
        raise MeasureError(f"{here.failed.name} failed before any pass was tried: {here.failed.error}")
    tried = runner.run(Pipeline([*Pipeline.parse(after), PassStep(name, options)]), max(opt_level, ANY_LEVEL))
    step = tried.steps[-1]
    # at this opt level only a pass that may not run kernels is skipped
    status = "untried" if step.status == "skipped" else step.status
    answer = {"status": status, "error": step.error or step.detail, "seconds": step.seconds}
    if not step.changed:
        return {**answer, "before": _counts(runner, here.end)}
    return {
        **answer,
        "before": _counts(runner, here.end),
        "after": _counts(runner, step.state_after),
        "diff": step.diff.counts,
    }


def match_relay(workload: Workload, *, pattern: str, progress: Progress) -> dict[str, object]:
    """Return TVM's verdict on a pattern, given as TVM's JSON, for each function of a Relay workload."""
    from workbench.dialects.relay.patterns.match import answer_child

    progress("Matching a pattern")
    return {"verdicts": answer_child(workload, pattern)}


def _counts(runner: Runner, state: State) -> dict[str, int | None]:
    graph = state.graph
    return {"nodes": len(graph.nodes), "ops": len(graph.ops), "kernels": _kernels(runner, state)}


def _kernels(runner: Runner, state: State) -> int | None:
    """Return the number of kernels that fusion would make of the module; None where the fusing pipeline fails."""
    fused = fused_graph(runner, state)
    return None if fused is None else fused.kernel_count


def fused_graph(runner: Runner, state: State) -> Graph | None:
    """Return the graph after the dialect's fusing pipeline; None where a pass of it fails."""
    try:
        trace = Runner(runner.workload_of(state)).run(Pipeline.parse(dialect_of(runner.workload).passes.fusing()))
    except WorkbenchError:
        return None
    return None if trace.failed is not None else trace.end.graph
