"""The compiler's own build of the Workbench's workload: its kernels, and the passes that it runs beyond the pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.measurement.count import count_config
from workbench.measurement.row import FAILED
from workbench.pipeline.build import trace_build
from workbench.pipeline.config import Config
from workbench.pipeline.run import binds, default_pipeline
from workbench.pipeline.spec import BIND, Pipeline
from workbench.pipeline.step import Step
from workbench.widgets.background import Background, Task
from workbench.widgets.page_types import BuildState
from workbench.worker.parent import unasked

OWN_NAMES = ("bind_params_by_name", "PlanDevices", "LabelOps")
"the name of binding in a build's trace, and passes that annotate the module and change no operator"


class CompilerBuild:
    """The counts of the build at each opt level, and its explanation on request; `tell` shows its state."""

    def __init__(self, workload: Workload, target: str, tell: Callable[[BuildState], None], work: Background) -> None:
        self._workload, self._target, self._tell, self._work = workload, target, tell, work
        self._makes_constants = binds(default_pipeline(workload))
        self._lock = threading.Lock()
        self._counts: dict[int, BuildState] = {}
        self._listing: BuildState | None = None
        "the count of the build that is being explained"
        self._steps: dict[int, tuple[Step, ...]] = {}

    def count(self, opt_level: int) -> None:
        """Show the kernels of the build at that opt level, without the passes that explain them."""
        with self._lock:
            known = self._counts.get(opt_level)
            self._listing = None
        if known is not None:
            # the running request is for another level, or explains another pipeline
            self._work.cancel()
            self._tell(known)
        else:

            def count(task: Task) -> None:
                with unasked():
                    self._count(opt_level, task)

            self._work.submit(count)

    def explain(self, pipeline: Pipeline, opt_level: int) -> None:
        """Show the passes that change something in the build and are not in the pipeline, and the reverse."""
        with self._lock:
            self._listing = self._counts.get(opt_level, {})
            listing: BuildState = {**self._listing, "listing": True}
        self._tell(listing)
        self._work.submit(lambda task: self._explain(pipeline, opt_level, task))

    def cancel(self) -> None:
        """Stop counting and explaining; the known counts stay."""
        self._work.cancel()
        with self._lock:
            known, self._listing = self._listing, None
        if known is not None:
            self._tell(known)

    def _count(self, opt_level: int, task: Task) -> None:
        try:
            found = count_config(self._workload, Config(opt_level=opt_level), self._target, cancelled=task.cancelled)
            known: BuildState = {"failed": found.reason} if found.status == FAILED else {"kernels": found.calls}
        except WorkbenchError as error:
            if task.cancelled():
                return
            known = {"failed": str(error)}
        known["opt_level"] = opt_level
        with self._lock:
            self._counts[opt_level] = known
        if task.wanted:
            self._tell(known)

    def _explain(self, pipeline: Pipeline, opt_level: int, task: Task) -> None:
        if opt_level not in self._counts:
            self._count(opt_level, task)
        try:
            if opt_level not in self._steps:
                self._steps[opt_level] = self._traced(opt_level, task)
            why = list(self._differences(pipeline, self._steps[opt_level]))
        except WorkbenchError as error:
            why = [f"The build's passes are not known: {error}"]
        if task.wanted:
            with self._lock:
                self._listing = None
            self._tell({**self._counts.get(opt_level, {}), "why": why})

    def _traced(self, opt_level: int, task: Task) -> tuple[Step, ...]:
        trace = trace_build(
            self._workload,
            self._target,
            opt_level,
            whole=False,
            progress=task.report_as("The build's passes"),
            cancelled=task.cancelled,
        )
        if trace.failed is not None:
            raise WorkbenchError(f"{trace.failed.name} failed: {trace.failed.error}")
        return tuple(trace.steps)

    def _differences(self, pipeline: Pipeline, steps: Sequence[Step]) -> Iterator[str]:
        here = {step.name for step in pipeline if step.enabled}
        if self._makes_constants and not binds(pipeline):
            yield f"The build has the parameters as constants; here they are inputs. {BIND} makes them constants."
        elif binds(pipeline) and not self._makes_constants:
            yield f"Here {BIND} makes the parameters constants; the build has them as inputs."
        beyond = [step for step in steps if step.changed and step.depth == 0 and step.name not in {*here, *OWN_NAMES}]
        for step in beyond:
            counts = ", ".join(f"{mark} {n}" for mark, n in step.diff.counts.items() if n and mark != "kept")
            yield f"The build runs {step.name}: {f'nodes {counts}' if counts else 'the same nodes, grouped otherwise'}."
        names = {step.name for step in steps}
        for name in dict.fromkeys(step.name for step in pipeline if step.enabled):
            if name not in names and name != BIND:
                yield f"The build does not run {name}."
        if not beyond:
            yield "No other pass of the build changes anything. Its kernels are counted after lowering, which may drop or add some."
