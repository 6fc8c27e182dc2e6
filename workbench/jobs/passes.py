"""Jobs that run passes: those of a build, with the modules between them, for a trace; one alone; one tried and counted; a pattern of `wb.match`."""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.facets import Dialect
from workbench.dialects.registry import dialect, dialect_of
from workbench.dialects.trust import UNTRUSTED, allowed
from workbench.errors import MeasureError, WorkbenchError, reason_of
from workbench.graph.model import Graph
from workbench.jobs.build import built_here, compiled, compiler_of, pipeline_run, resolved_target, runner_of
from workbench.jobs.run_build import repeatable_outputs
from workbench.pipeline.config import Config
from workbench.pipeline.outputs import Wanted
from workbench.pipeline.run import ANY_LEVEL, Runner, applied, make_pass, run_here
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.pipeline.step import State, Step
from workbench.wording import counted
from workbench.worker.child import Progress

if TYPE_CHECKING:
    from tvm.ir import IRModule

    from workbench.dialects.compiler.capture import Event


KEPT = 4
"traces kept; their modules share most of their content"
_QUIET = ("InferType", "sequential", "Normalize", "_pipeline")
"passes that only update types, or only run other passes"
_LOW = ("tir.", "tirx.", "s_tir.")
_LOWERS = ("RelayToTIRTargetHook", "LowerTE")
"the first passes of relay.build after its graph-level part"
_traces: OrderedDict[str, list[IRModule]] = OrderedDict()


def trace_build(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, object],
    whole: bool = False,
    kept: bool = False,
    progress: Progress,
) -> dict[str, object]:
    """Run the compiler's own pipeline, after that of the configuration, and record the input and the result of each pass.

    `whole`: the whole build, code generation too; otherwise its graph-level part. `kept`: compile in any case, and keep the build
    for the jobs that follow.
    """
    from workbench.dialects.compiler.capture import Capture

    target, chosen = resolved_target(target), Config.of(config)
    capture = Capture(is_shown)
    compiler = compiler_of(workload)
    program, steps = pipeline_run(workload, chosen, progress)
    error = ""
    with allowed(workload.trusted) as refused:
        try:
            if whole or kept:
                compiled(workload, target, config, progress, [capture])
            else:
                progress("Optimizing")
                compiler.optimized(program, target, chosen.context().to_data(), [capture])
        except Exception as failure:
            error = reason_of(failure)
            if not capture.events:
                raise
    progress("Comparing")
    record = Record(dialect(workload.dialect), workload.module)
    for step in steps:
        record.add(step)
    names = [event.name for event in capture.events]
    end = len(names) if whole else next((names.index(name) for name in _LOWERS if name in names), len(names))
    rows = record.steps(capture.events[:end], error)
    for row in rows:
        row["detail"] = UNTRUSTED if refused() and row["name"] == "FoldConstant" else row["error"]
    name = uuid4().hex
    _traces[name] = record.modules
    if len(_traces) > KEPT:
        _traces.popitem(last=False)
    return {"trace": name, "target": target, "steps": rows, "states": len(record.modules)}


def state(workload: Workload, *, trace: str, place: int, progress: Progress) -> dict[str, object]:
    """Return graph and text of one of a trace's modules."""
    progress("Reading a module")
    here = dialect(workload.dialect)
    module = here.frontend.infer_types(module_of(trace, place))
    graph = here.frontend.graph(module, workload.name)
    _ = graph.answers, graph.products  # TVM computes these here, where it may end the process
    return {"graph": graph.to_data(), "text": here.frontend.text(module)}


def module_of(trace: str, place: int) -> IRModule:
    """Return one of a trace's modules. Raises MeasureError: its process has ended, or dropped it for newer traces."""
    if trace not in _traces:
        raise MeasureError("the process that held this trace has ended; run trace_build again")
    return _traces[trace][place]


def values(
    workload: Workload,
    *,
    config: Mapping[str, object],
    seed: int,
    path: str,
    kept: tuple[str, int] | None,
    wanted: Wanted,
    progress: Progress,
) -> dict[str, object]:
    """Compile for this CPU, run once with random inputs, and write the outputs, or the nodes' values, to an .npz file.

    An array's name is `output` with its index, or `node` with the node's id in the graph of the module.
    """
    if kept is not None:
        module = dialect(workload.dialect).frontend.infer_types(module_of(*kept))
        workload = workload.of(module)
    names: list[str] | None = None
    if wanted == "nodes":
        workload, ids = dialect(workload.dialect).compiler.probed(workload)
        names = [f"node{id}" for id in ids]
    progress("Compiling")
    built = built_here(workload, config)
    progress("Running")
    running = built.load(seed)
    outputs = repeatable_outputs(running) if wanted == "repeatable outputs" else running.outputs()
    arrays.save(path, dict(zip(names or [f"output{place}" for place in range(len(outputs))], outputs, strict=True)))
    return {}


def is_shown(name: str) -> bool:
    """Return whether the pass of that name is a step."""
    return name not in _QUIET and not name.startswith(_LOW)


class Record:
    """The distinct modules of a build, in order, and the passes between them."""

    def __init__(self, here: Dialect, start: IRModule) -> None:
        self.here = here
        self.modules = [start]
        self.rows: list[dict[str, object]] = []
        self.open: list[tuple[int, Event, dict[str, object] | None]] = []
        "passes that have started and not ended: their number, their event, and their row if they are shown"

    def steps(self, events: list[Event], error: str) -> list[dict[str, object]]:
        """Return one row for each step and each shown pass, in the order in which they start."""
        self.given(events[0].before)
        for number, event in enumerate(events):
            while self.open and self.open[-1][0] != event.parent:
                self.end(error)
            self.begin(number, event)
        while self.open:
            self.end(error)
        low = [event for event in events if event.name.startswith(_LOW)]
        if low:
            row = self.row(f"{counted(len(low), 'pass')} on TIR", sum(event.seconds for event in low))
            row.update(after=row["before"], status="same")
        return self.rows

    def add(self, step: Step) -> None:
        row = self.row(step.name, step.seconds)
        if step.changed:
            assert step.state_after.module is not None
            self.modules.append(step.state_after.module)
        row.update(after=len(self.modules) - 1, status=step.status)

    def given(self, module: IRModule) -> None:
        """Add a step if the compiler bound parameters before the first pass."""
        if not self.is_newest(module):
            row = self.row("bind_params_by_name", 0.0)
            self.modules.append(module)
            row.update(after=len(self.modules) - 1, status="changed")

    def begin(self, number: int, event: Event) -> None:
        row = self.row(event.name, event.seconds) if is_shown(event.name) else None
        self.open.append((number, event, row))

    def row(self, name: str, seconds: float) -> dict[str, object]:
        depth = sum(row is not None for _, _, row in self.open)
        made = {"name": name, "depth": depth, "seconds": seconds, "before": len(self.modules) - 1, "error": ""}
        self.rows.append(made)
        return made

    def end(self, error: str) -> None:
        """Close the innermost open pass: its result is the newest state, or its input if nothing changed."""
        _, event, row = self.open.pop()
        if row is None:
            return
        if not event.ended:
            row.update(after=row["before"], status="error", error=error)
            return
        # VMShapeLower builds its result in an empty module, which it gives to NormalizeGlobalVar first
        is_scratch = bool(self.open) and not len(event.after.functions)
        if not is_scratch and not self.is_newest(event.after):
            self.modules.append(event.after)
        row["after"] = len(self.modules) - 1
        row["status"] = "same" if row["after"] == row["before"] else "changed"

    def is_newest(self, module: IRModule) -> bool:
        if module.same_as(self.modules[-1]):
            return True
        try:
            return self.here.frontend.same(self.modules[-1], module)
        except TypeError:
            # after LowerTE, modules have attributes that TVM's own comparison does not know
            return False


def apply(
    workload: Workload, *, text: str, pickled: str, opt_level: int, folder: str, progress: Progress
) -> dict[str, object]:
    """Run one pass, given as its text or as the notebook pickled it."""
    dialect = dialect_of(workload)
    if pickled:
        import cloudpickle

        # our own notebook sent it, over a pipe that no other process has
        run = cloudpickle.loads(base64.b64decode(pickled))
    else:
        (step,) = Pipeline.parse(text)
        run = make_pass(dialect, step, workload.params)
    progress("Running a pass")
    found = applied(dialect, run, workload.module, opt_level, trusted=workload.trusted)
    if found.status == "changed":
        dialect.frontend.dump(Workload(found.module, {}, workload.name, workload.dialect, trusted=False), Path(folder))
    return {name: getattr(found, name) for name in ("status", "seconds", "busy", "error", "detail")}


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
    graph, fused = state.graph, fused_graph(runner, state)
    return {"nodes": len(graph.nodes), "ops": len(graph.ops), "kernels": None if fused is None else fused.kernel_count}


def fused_graph(runner: Runner, state: State) -> Graph | None:
    """Return the graph after the dialect's fusing pipeline; None where a pass of it fails."""
    try:
        trace = Runner(runner.workload_of(state)).run(Pipeline.parse(dialect_of(runner.workload).passes.fusing()))
    except WorkbenchError:
        return None
    return None if trace.failed is not None else trace.end.graph
