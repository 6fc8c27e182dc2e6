"""A build by the compiler itself: `wb.trace_build` records its passes, `build_code` writes the Python that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import known_dialect
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.pipeline.codegen import build_text, compiler_code
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.run import trace
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike, target_text
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, Worker, never, worker
from workbench.worker.progress import showing_progress


def trace_build(
    workload: Workload,
    target: TargetLike = "llvm",
    opt_level: int = 3,
    disabled: Sequence[str] = (),
    required: Sequence[str] = (),
    config: Mapping[str, object] | None = None,
    *,
    whole: bool = True,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Trace:
    """Build in the child process and record every pass, nested ones under their parents.

    Passes that only update types are left out, and those that work on TIR are one step. A build that fails is a trace whose
    last steps have the error. Graphs and text are fetched on first use.

    Parameters
    ----------
    target
        In TVM's syntax; plain `llvm` gets this host's `-mcpu`.
    whole
        The whole build; otherwise only its graph-level part, which is quicker.

    Raises
    ------
    MeasureError, WorkerLost
        The build could not be started, or ended its process.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> t = wb.trace_build(w, whole=False)
    >>> [step.name for step in t.steps if step.status == "changed"][:3]
    ['LegalizeOps', 'AnnotateTIROpPattern', 'FuseOps']
    """
    workload = workload_of(workload, "trace_build")
    how = Config.of({"opt_level": opt_level, "disabled": disabled, "required": required, "options": config or {}})
    check_config(workload, how)
    with showing_progress(progress, f"Tracing the build of {workload.name}") as report:
        limits: JobOptions = {"timeout": timeout, "progress": report, "cancelled": cancelled}
        return traced(workload, how, target_text(target), worker(), State.of(workload), limits, whole=whole)


def traced(
    workload: Workload,
    config: Config,
    target: str,
    child: Worker,
    start: State | None = None,
    limits: JobOptions | None = None,
    **extent: bool,
) -> Trace:
    """Return the trace of a build in a child process; `start` is its first state, None if only the child has the workload's module.

    `extent`: what the job runs, `whole` and `kept` of `jobs.passes.trace_build`.
    """
    arguments = {"target": target, "config": config.to_data(), **extent}
    answer = child.run("trace_build", workload, arguments, **(limits or {}))
    states = [_state(workload, answer["trace"], place, child) for place in range(answer["states"])]
    first = states[0]
    # the graph that the child makes has no sources that were added to the workload's
    states[0] = start or State(None, lambda: workload.graph, lambda: first.text, first.kept)
    steps = tuple(
        Step(
            row["name"],
            states[row["before"]],
            states[row["after"]],
            row["status"],
            row["seconds"],
            row["error"],
            row["detail"],
            row["depth"],
        )
        for row in answer["steps"]
    )
    made = {**config.to_data(), "target": answer["target"], "whole": extent.get("whole", False)}
    return Trace(workload.name, workload.dialect, steps, states[0], config.opt_level, made, workload)


def _state(workload: Workload, trace: str, place: int, child: Worker) -> State:
    @cache
    def fetched() -> dict[str, Any]:
        return child.run("state", workload, {"trace": trace, "place": place})

    return State(None, lambda: Graph.from_data(fetched()["graph"]), lambda: fetched()["text"], (trace, place))


def build_code(workload: Workload, config: Config, target: TargetLike) -> str:
    """Return Python that builds a workload under a Config: a module with `built(mod, params)`.

    The code needs TVM alone. If the Config has passes of the workbench, such as CutFusion, the code imports them.

    `target`: the target in the code. Raises WorkbenchError: a pass of the Config's pipeline fails on the workload.
    """
    words = known_dialect(workload.dialect).code(bool(config.schedules))
    build = {**config.context().to_data(), "target": target_text(target)}
    if config.schedules:
        build["options"] = {**words.config, **config.options}
    if not config.pipeline:
        whole = Trace(workload.name, workload.dialect, (), State.of(workload), config.opt_level, build, workload)
        return build_text(whole, words)
    made = trace(workload, config.pipeline, config.opt_level)
    if made.failed is not None:
        raise WorkbenchError(f"{made.failed.name} failed: {made.failed.error}")
    compiler = "\n\n\n".join(compiler_code(build, words)).replace("def built(", "def compiled(")
    return f"{made.code()}\n\n{compiler}\n\n\n{_BUILT}"


_BUILT = '''\
def built(mod, params=None):
    """Run the passes and compile the module after them."""
    return compiled(transformed(mod, params), params)
'''
