"""One compiler's half of a comparison: import, build, memory plan, passes and times of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from workbench.analysis.cost import canonical
from workbench.analysis.fusion import FusionReport
from workbench.debugging.remarks.fusion import FUSE_OPS, report_of
from workbench.debugging.remarks.steps import pass_of
from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.build_and_time import TimeRequest
from workbench.measurement.columns import duration, size
from workbench.measurement.kernels import Kernels, from_result
from workbench.measurement.memory.plan import MemoryPlan
from workbench.measurement.row import NOT_MEASURED, OK, device_of, failure, status_of
from workbench.pipeline.build import traced
from workbench.pipeline.config import Config
from workbench.pipeline.elsewhere import Environment
from workbench.pipeline.sources import sourced, sourced_kernels
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.worker.cuda import CudaFacts, why_not
from workbench.worker.parent import JobOptions, Worker

TITLES = {"relay": "Relay", "relax": "Relax"}
PIPELINES = {"relay": "relay.build", "relax": "relax.get_default_pipeline(target)"}
"the pipeline that a build of the workbench runs"
WEIGHTS = {
    "relay": "weights are constants",
    "relax": "no pass of it schedules a kernel; weights are arguments, so operators on weights alone run each time",
}
BARE = "tvm.compile(module, target) without a pipeline fuses for a GPU only"
FALLBACKS = {"unscheduled": "without a schedule", "rule": "by the fallback rule of dlight"}
CONFIG = Config()
"opt level 3"


@dataclass(frozen=True)
class CompilerSide:
    """The build of a model by one compiler; parts after a failure are None."""

    dialect: str
    target: str
    "as the build used it"
    status: str = OK
    message: str = ""
    "of a status other than `ok`"
    graph: Graph | None = field(default=None, repr=False)
    "the imported program"
    kernels: Kernels | None = field(default=None, repr=False)
    memory: MemoryPlan | None = field(default=None, repr=False)
    optimized: Graph | None = field(default=None, repr=False)
    "`kernels.graph` with the model's nodes that each node computes"
    passes: tuple[str, ...] = field(default=(), repr=False)
    "that changed the program, in order"
    fusion: FusionReport | None = field(default=None, repr=False)
    "the decisions of FuseOps"
    made_by: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    "an operator that the imported program does not have -> the pass that made it"
    fallbacks: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    "functions of Relax that TVM has no schedule for -> how it compiles them, in words"
    kernel_us: Mapping[int, float] = field(default_factory=dict, repr=False, hash=False)
    "call -> its median time by itself, in microseconds; not raced"
    method: str = ""
    "how the kernels were timed"

    @property
    def title(self) -> str:
        """The compiler's name."""
        return TITLES[self.dialect]

    @property
    def fuses(self) -> bool:
        """True if FuseOps changed the program."""
        return any(name.partition("{")[0] == FUSE_OPS for name in self.passes)

    @property
    def pipeline(self) -> str:
        """The pipeline that ran, in words, and what it does with weights."""
        fused = "fused kernels" if self.fuses else "no fused kernels"
        said = [f"{PIPELINES[self.dialect]} at opt level {CONFIG.opt_level}, {fused}", WEIGHTS[self.dialect]]
        if self.dialect == "relax" and device_of(self.target) == "cpu":
            said.append(BARE)
        return "; ".join(said)

    def failed(self, error: WorkbenchError) -> CompilerSide:
        """Return the side with the status and the message of an error."""
        return replace(self, status=status_of(error), message=str(error))

    def row(self) -> dict[str, Any]:
        """Return its figures by name."""
        found, plan = self.kernels, self.memory
        return {
            "compiler": self.title,
            "target": self.target,
            "status": self.status,
            "operators": None if self.graph is None else len(self.graph.ops),
            "kernels": None if found is None else found.calls,
            "functions": None if found is None else found.functions,
            "bytes": None if found is None else found.traffic_bytes,
            "peak_bytes": None if plan is None else plan.peak_bytes,
            "build_seconds": None if found is None else found.build_seconds,
        }

    def __str__(self) -> str:
        failed = failure(self.status, self.message)
        if self.kernels is None or self.memory is None:
            return f"{self.title}: {failed}"
        found = self.kernels
        said = (
            f"{self.title}: {found.calls} kernels, {size(found.traffic_bytes)} read and written, "
            f"{size(self.memory.peak_bytes)} at the peak, compiled in {duration(1e6 * found.build_seconds)}"
        )
        return f"{said}; {failed}" if failed else said


def build_side(
    side: CompilerSide, workload: Workload, environment: Environment, budget: float, seed: int, limits: JobOptions
) -> CompilerSide:
    """Return the side with its build; an error ends it, and what came before stays.

    Parameters
    ----------
    budget
        Seconds of timing the kernels one by one; 0 for not timing them.
    """
    child, asked = environment.worker(), {"target": side.target, "config": CONFIG.to_data()}
    try:
        built = from_result(child.run("kernels", workload, asked, **limits), CONFIG)
        side = replace(side, kernels=built)
        side = replace(side, memory=MemoryPlan.from_data(child.run("memory", workload, asked, **limits)))
        trace = traced(workload, CONFIG, side.target, child, limits=limits)
        fused = next((step for step in reversed(trace.steps) if pass_of(step) == FUSE_OPS and not step.error), None)
        side = replace(
            side,
            optimized=sourced_kernels(trace, built.graph),
            passes=tuple(step.name for step in trace.steps if step.changed),
            made_by=_made_by(trace),
            fallbacks=_fallbacks(workload, asked, child, limits),
            fusion=None if fused is None else _decisions(trace, fused),
        )
        if missing := _no_device(workload, side.target, environment, limits):
            return replace(side, status=NOT_MEASURED, message=missing)
        if budget:
            request = TimeRequest(side.target, CONFIG.to_data(), budget, seed, None, True)
            timed = child.run("run", workload, asdict(request), **limits)
            times = {row["index"]: row["median_us"] for row in timed["per_kernel"] if row["index"] is not None}
            side = replace(side, kernel_us=times, method=timed["kernel_method"])
    except WorkbenchError as error:
        return side.failed(error)
    return side


def _decisions(trace: Trace, step: Step) -> FusionReport:
    """Return the decisions of FuseOps on its graph, with the model's nodes that each node computes."""
    return replace(report_of(trace, step), graph=sourced(trace, step.state_before))


def _fallbacks(workload: Workload, asked: Mapping[str, object], child: Worker, limits: JobOptions) -> dict[str, str]:
    """Return how TVM compiles the functions of Relax that it has no schedule for; all of Relay's have one."""
    if workload.dialect != "relax":
        return {}
    found = child.run("fallbacks", workload, {**asked, "log": []}, **limits)
    return {kernel["name"]: FALLBACKS[kernel["cause"]] for kernel in found["kernels"]}


def _made_by(trace: Trace) -> dict[str, str]:
    """Return the pass that made each operator which the first graph does not have; of nested passes the innermost."""
    found: dict[str, tuple[int, str]] = {}
    for step in trace.steps:
        if step.changed:
            had = {canonical(node.op) for node in step.before.ops}
            for op in {canonical(node.op) for node in step.after.ops} - had:
                if op not in found or step.depth > found[op][0]:
                    found[op] = step.depth, pass_of(step)
    first = {canonical(node.op) for node in trace.start.graph.ops}
    return {op: name for op, (_, name) in found.items() if op not in first}


def _no_device(workload: Workload, target: str, environment: Environment, limits: JobOptions) -> str:
    """Return the reason why code for the target cannot run here; empty if it can."""
    if device_of(target) != "cuda":
        return ""
    return why_not(CudaFacts.of(environment.worker().run("cuda", workload, {}, **limits)), target)
