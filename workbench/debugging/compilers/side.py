"""One half of a comparison: a Compiler as the caller describes it, and the import, build, memory plan, passes and times of its kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.analysis.cost import canonical
from workbench.analysis.fusion import FusionReport
from workbench.debugging.compilers.runner import Runner
from workbench.debugging.remarks.decisions import FUSE_OPS, pass_of, ran, report_of
from workbench.errors import UnknownName, WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.kernels import Kernels, from_result
from workbench.measurement.memory.plan import MemoryPlan
from workbench.measurement.row import NOT_MEASURED, OK, device_of, failure, status_of
from workbench.pipeline.build import traced
from workbench.pipeline.config import Config
from workbench.pipeline.lineage import sourced, sourced_kernels
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike, kind_of, target_text
from workbench.wording import counted, duration, size
from workbench.worker.cuda import CudaFacts, why_not

NAMES = {"relay": "Relay", "relax": "Relax"}
"dialect -> the compiler's name"
LABEL = 30
"most characters of a configuration's label in a title"


@dataclass(frozen=True)
class Compiler:
    """One side of `wb.compare_compilers`: a compiler, its version, its settings and its target.

    Examples
    --------
    >>> plain, apart = wb.Compiler("relax"), wb.Compiler("relax", config=wb.Config(disabled=("FuseOps",)))
    >>> apart.config.label
    'opt 3 -FuseOps'
    """

    dialect: str
    "`relay` or `relax`"
    python: str | Path | None = None
    "the Python of its environment; by default this environment if it has the dialect, else one that is found"
    config: Config = field(default_factory=Config)
    "the settings of its build; a pipeline runs first, and its result is compiled as it is"
    target: TargetLike | None = field(default=None, hash=False)
    "None for the targets of the call"
    title: str = ""
    "its name in tables and sentences; made from the differences between both sides if empty"

    @property
    def name(self) -> str:
        """The compiler's name."""
        return NAMES[self.dialect]


def checked(given: object) -> tuple[Compiler, Compiler]:
    """Return both compilers with their fields in one form; raises WorkbenchError."""
    example = "give compilers=(wb.Compiler('relay'), wb.Compiler('relax'))"
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    known = [each for each in listed if isinstance(each, Compiler)]
    for each in listed:
        if each not in known:
            raise WorkbenchError(f"{each!r:.80} is not a Compiler; {example}")
    if len(known) != 2:
        raise WorkbenchError(f"compare_compilers compares two compilers, not {len(known)}; {example}")
    return _in_one_form(known[0]), _in_one_form(known[1])


def _in_one_form(given: Compiler) -> Compiler:
    if given.dialect not in NAMES:
        raise UnknownName("compiler", str(given.dialect), NAMES)
    config = Config.of(given.config)
    if config.schedules:
        # a child process has another working directory
        config = replace(config, schedules=str(Path(config.schedules).expanduser().absolute()))
    target = None if given.target is None else target_text(given.target)
    python = None if given.python is None else Path(given.python).expanduser()
    if python is not None and python.exists():
        # a link is kept: a virtual environment's Python is one
        python = python.absolute()
    return replace(given, python=python, config=config, target=target)


def titles(compilers: Sequence[Compiler], versions: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return a title for each of two compilers, made from the differences between both; the titles differ.

    >>> both = wb.Compiler("relax"), wb.Compiler("relax", config=wb.Config(opt_level=0))
    >>> titles(both, ["0.26.0", "0.27.0"], ["llvm", "llvm"])
    ['Relax 0.26 opt 3', 'Relax 0.27 opt 0']
    >>> titles((both[0], both[0]), ["0.27.0", "0.27.0"], ["llvm", "cuda"])
    ['Relax llvm', 'Relax cuda']
    """
    names = [each.name for each in compilers]
    labels = [_brief(each.config) for each in compilers]
    kinds = [kind_of(each) for each in targets]
    parts = [
        names,
        _differing([".".join(each.split(".")[:2]) for each in versions]) if names[0] == names[1] else ["", ""],
        _differing(labels),
        _differing(kinds if kinds[0] != kinds[1] else targets),
    ]
    made = [
        each.title or " ".join(filter(None, said))
        for each, said in zip(compilers, zip(*parts, strict=True), strict=True)
    ]
    return [f"{title} {letter}" for title, letter in zip(made, "AB", strict=True)] if made[0] == made[1] else made


def _differing(values: Sequence[str]) -> Sequence[str]:
    return values if values[0] != values[1] else ["", ""]


def _brief(config: Config) -> str:
    """Return the label of a configuration, or less of it if it is long."""
    label = config.label
    if len(label) <= LABEL:
        return label
    if config.pipeline and not config.name:
        return f"pipeline of {counted(len(Pipeline.parse(config.pipeline)), 'pass')}"
    return f"{label[: LABEL - 3]}..."


PIPELINES = {"relay": "relay.build", "relax": "relax.get_default_pipeline(target)"}
"the pipeline that a build of the workbench runs"
WEIGHTS = "weights are arguments, so operators on weights alone run each time"
BARE = "tvm.compile(module, target) without a pipeline fuses for a GPU only"
FALLBACKS = {"unscheduled": "without a schedule", "rule": "by the fallback rule of dlight"}


@dataclass(frozen=True)
class CompilerSide:
    """The build of a model by one compiler; parts after a failure are None."""

    compiler: Compiler
    "as given, with its title"
    target: str
    "as the build used it"
    tvm: str = ""
    "the version of TVM; empty if its process did not answer"
    status: str = OK
    message: str = ""
    "of a status other than `ok`"
    graph: Graph | None = field(default=None, repr=False)
    "the imported program"
    notes: tuple[str, ...] = field(default=(), repr=False)
    "assumptions of the reader, the importer or the translation"
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
    def dialect(self) -> str:
        """The dialect of the compiler."""
        return self.compiler.dialect

    @property
    def title(self) -> str:
        """The name of the side, which differs from the other one's."""
        return self.compiler.title or self.compiler.name

    @property
    def config(self) -> Config:
        """The settings of the build."""
        return self.compiler.config

    @property
    def fuses(self) -> bool:
        """True if a kernel has several operators."""
        graph, calls = self.optimized, () if self.kernels is None else self.kernels.rows
        return graph is not None and any(
            sum(graph.nodes[id].kind == "op" for id in call["nodes"]) > 1 for call in calls
        )

    @property
    def pipeline(self) -> str:
        """The pipeline that ran, in words, and what the build does with weights and schedules."""
        said = [f"{_pipeline(self.config, self.dialect)}, {'fused kernels' if self.fuses else 'no fused kernels'}"]
        for how, many in Counter(self.fallbacks.values()).items():
            said.append(f"{counted(many, 'function')} with a reduction compiled {how}")
        roles = {tensor.role for tensor in self.memory.tensors} if self.memory is not None else ()
        said += [WEIGHTS] if "parameter" in roles else ["weights are constants"] if "constant" in roles else []
        if self.dialect == "relax" and not self.config.pipeline and device_of(self.target) == "cpu":
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
            "tvm": self.tvm,
            "config": self.config.whole,
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


def build_side(side: CompilerSide, runner: Runner) -> CompilerSide:
    """Return the side with its build; an error ends it, and what came before stays."""
    try:
        child = runner.environment.worker()
        trace = traced(runner.workload, side.config, side.target, child, limits=runner.limits, kept=True)
        built = from_result(runner.ask("kernels"), side.config)
        side = replace(side, kernels=built)
        side = replace(side, memory=MemoryPlan.from_data(runner.ask("memory")))
        side = replace(
            side,
            optimized=sourced_kernels(trace, built.graph),
            passes=tuple(step.name for step in trace.steps if step.changed),
            made_by=_made_by(trace),
            # all functions of Relay have a schedule
            fallbacks=_fallbacks(runner.ask("fallbacks", log=[])) if side.dialect == "relax" else {},
            fusion=_decisions(trace, side.config),
        )
        if device_of(side.target) == "cuda":
            facts = CudaFacts.of(child.run("cuda", runner.workload, {}, **runner.limits))
            if missing := why_not(facts, side.target):
                return replace(side, status=NOT_MEASURED, message=missing)
    except WorkbenchError as error:
        return side.failed(error)
    return side


def time_kernels(side: CompilerSide, runner: Runner, budget: float) -> CompilerSide:
    """Return the side with the times of its kernels; an error ends it."""
    try:
        timed = runner.ask("kernel_times", budget=budget, seed=runner.seed)
    except WorkbenchError as error:
        return side.failed(error)
    times = {row["index"]: row["median_us"] for row in timed["per_kernel"] if row["index"] is not None}
    return replace(side, kernel_us=times, method=timed["kernel_method"])


def _pipeline(config: Config, dialect: str) -> str:
    """Return the passes of a configuration in words."""
    if config.pipeline:
        said = [f"the pipeline {config.pipeline} at opt level {config.opt_level}, its result compiled as it is"]
    else:
        said = [f"{PIPELINES[dialect]} at opt level {config.opt_level}"]
        said += [f"without {name}" for name in config.context().disabled]
        said += [f"with {name}" for name in config.required]
    said += [f"{name}={value}" for name, value in config.options.items()]
    said += ["with a database of schedules"] if config.schedules else []
    return ", ".join(said)


def _decisions(trace: Trace, config: Config) -> FusionReport | None:
    """Return the decisions of FuseOps on its graph, with the model's nodes that each node computes; None if it did not run.

    They are of the configuration's own pipeline if FuseOps is in it: the build does not fuse its kernels again.
    """
    own = len(Pipeline.parse(config.pipeline)) if config.pipeline else 0
    for level, steps in ((config.opt_level, trace.steps[:own]), (config.context().opt_level, trace.steps[own:])):
        for step in reversed(steps):
            if pass_of(step) == FUSE_OPS and ran(step):
                report = report_of(replace(trace, opt_level=level), step)
                return replace(report, graph=sourced(trace, step.state_before))
    return None


def _fallbacks(found: Mapping[str, Any]) -> dict[str, str]:
    """Return how TVM compiles the functions of Relax that it has no schedule for."""
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
