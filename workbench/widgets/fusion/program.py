"""A program with edits, its fusion report under some settings, and its times. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from workbench.analysis import legality
from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.fusion import explain_fusion
from workbench.analysis.fusion.kernels import kernel_graph
from workbench.analysis.fusion.report import FusionReport
from workbench.analysis.regions import Region, Regions, regions
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.graph.diff import diff
from workbench.graph.model import Edge, Graph, known_node
from workbench.measurement.boundaries.costs import BoundaryCosts
from workbench.measurement.build_and_time import MeasureOptions
from workbench.measurement.measure import measure_one
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.fusion_edits import cut_step
from workbench.pipeline.load import load
from workbench.pipeline.outputs import difference, run_once
from workbench.pipeline.run import Runner, default_pipeline
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.plots.rows import Row
from workbench.terminal import visible
from workbench.worker.parent import Progress


@dataclass(frozen=True)
class Settings:
    """The settings of FuseOps."""

    opt_level: int = 2
    max_depth: int = 256
    max_function_args: int | None = None
    "None: the target's limit"
    target: str = ""

    def __post_init__(self) -> None:
        for name in ("opt_level", "max_depth", "max_function_args"):
            value = getattr(self, name)
            if name == "max_function_args" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise WorkbenchError(f"{name} is {value!r}; give a whole number from 0 on")
        if not isinstance(self.target, str):
            raise WorkbenchError(f"target is {self.target!r}; give the kind of a target, such as 'llvm' or 'opencl'")

    @staticmethod
    def of(fields: dict[str, Any]) -> Settings:
        unknown = [name for name in fields if name not in Settings.__dataclass_fields__]
        if unknown:
            raise WorkbenchError(
                f"there is no setting {unknown[0]!r}; there are {', '.join(Settings.__dataclass_fields__)}"
            )
        return Settings(**fields)

    @property
    def changed(self) -> dict[str, int | str | None]:
        """Return the settings that differ from TVM's defaults."""
        plain = Settings()
        return {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if getattr(self, name) != getattr(plain, name)
        }


class Fused:
    """A program under some settings: the report, and the graph and regions made from it on first use."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self.program = program
        self.settings = settings
        self.graph = program.graph
        self.report: FusionReport = explain_fusion(program.graph, **asdict(settings))
        self.costs: BoundaryCosts | None = None
        "of its boundaries, once they were computed"
        self.groups: dict[int, list[BranchGroup]] = {}
        "the parallel branches so far, by the least number of branches"

    @property
    def unannotated(self) -> bool:
        """Whether operators of Relax have no kinds yet, so that nothing is fused."""
        return self.graph.dialect == "relax" and any(d.code == "unannotated" for d in self.report.decisions)

    @cached_property
    def drawn(self) -> Graph:
        """The graph with its kernels as boxes; without boxes if FuseOps fails."""
        return self.graph if self.report.failure else kernel_graph(self.report)

    @property
    def kernels(self) -> int:
        return len(self.report.kernels)

    @cached_property
    def handed(self) -> int:
        """The bytes that kernels pass to other kernels; each value counts once, unknown shapes count 0."""
        return sum(each.bytes for each in self.report.handovers)

    def branches(self, least: int) -> list[BranchGroup]:
        if least not in self.groups:
            self.groups[least] = parallel_branches(self.graph, least)
        return self.groups[least]

    @cached_property
    def chains(self) -> list[ConstantChain]:
        return constant_chains(self.graph)

    @cached_property
    def regions(self) -> Regions:
        names = self.program.workload.params if self.program.workload else ()
        return regions(self.graph, fixed=names)

    def nest(self, node: int) -> list[Region]:
        """Return the region from a node to its post-dominator, and those around it, each one step outward."""
        found = self.regions.of(node)
        nest = [found] if found else []
        while nest and (outer := self.regions.parent(nest[-1])) is not None:
            nest.append(outer)
        return nest

    def cut_step(self, chosen: Sequence[int]) -> PassStep:
        """Return the cut of the edge by which a value goes between two chosen nodes, directly or through tuples."""
        if len(chosen) != 2:
            raise legality.IllegalEdit("a cut takes the two ends of one edge; click an edge, or select two nodes")
        graph, (a, b) = self.graph, sorted(chosen)
        for index, source in enumerate(graph.inputs[known_node(graph, b)]):
            waiting, seen = [source], set[int]()
            while waiting:
                at = waiting.pop()
                if at == a:
                    return cut_step(graph, Edge(source, b, index, graph.nodes[source].type))
                if graph.nodes[at].kind in ("tuple", "get_item") and at not in seen:
                    seen.add(at)
                    waiting += graph.inputs[at]
        ends = f"{legality.describe(graph, a)} to {legality.describe(graph, b)}"
        raise legality.IllegalEdit(f"no edge goes from {ends}; click an edge")


@dataclass(frozen=True)
class Edit:
    """One change of the program, and its result."""

    text: str
    "as a Pipeline's text"
    reason: str = ""
    "why it was rejected; empty if it was applied"

    @property
    def applied(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        return visible(f"{self.text}: {'applied' if self.applied else f'rejected because {self.reason}'}")


@dataclass(frozen=True)
class Program:
    """A program after some edits."""

    graph: Graph
    workload: Workload | None
    edits: tuple[Edit, ...]
    made: str = ""
    "the passes and edits that made it, as a Pipeline's text"


def followed(old: Graph, new: Graph) -> Mapping[int, Sequence[int]]:
    """Return the nodes that each node became in an edit. A cut only inserts nodes, so the others usually keep their order."""
    kept = [[n for n in graph.nodes if n.op != legality.CUT] for graph in (old, new)]
    before, after = ([(n.kind, n.op, n.type) for n in nodes] for nodes in kept)
    if before == after:
        return {a.id: (b.id,) for a, b in zip(*kept, strict=True)}
    return diff(old, new).mapping


class Source:
    """The program before any edit: a workload, or a graph alone, which can be explained and not changed."""

    def __init__(self, given: object) -> None:
        self._program = given if isinstance(given, Graph) else Runner(load(given))

    def lowering(self) -> str:
        """Return the passes that TVM's default pipeline runs before FuseOps; empty if there are kinds without them, or they fail."""
        if isinstance(self._program, Graph) or not Fused(self.made("", ())[0], Settings()).unannotated:
            return ""
        usual = takewhile(lambda step: step.name != "FuseOps", default_pipeline(self._program.workload))
        before = str(Pipeline(usual))
        try:
            self.made(before, ())
        except WorkbenchError:
            return ""
        return before

    def made(self, before: str, edits: Sequence[str]) -> tuple[Program, Program]:
        """Return the program after the passes `before`, and after the edits too. Results are cached."""
        runner = self._program
        if isinstance(runner, Graph):
            if before or edits:
                raise WorkbenchError("a graph alone cannot be changed; give the inspector the workload")
            plain = Program(runner, None, ())
            return plain, plain
        first, rest = Pipeline.parse(before), [Pipeline.parse(text) for text in edits]
        trace = runner.run(Pipeline([*first, *(step for steps in rest for step in steps)]))
        failed = next((step for step in trace.steps[: len(first)] if step.error), None)
        if failed is not None:
            raise WorkbenchError(f"{failed.name} failed: {failed.error}")
        state = trace.steps[len(first) - 1].state_after if first else trace.start
        outcomes, place = [], len(first)
        for text, steps in zip(edits, rest, strict=True):
            reasons = [step.error or step.detail for step in trace.steps[place : place + len(steps)]]
            outcomes.append(Edit(text, next(filter(None, reasons), "")))
            place += len(steps)
        applied = ",".join(filter(None, [before, *(edit.text for edit in outcomes if edit.applied)]))
        return (
            Program(state.graph, runner.workload_of(state), (), before),
            Program(trace.end.graph, runner.workload_of(trace.end), tuple(outcomes), applied),
        )


GIVEN, EDITED = "as given", "with the edits"


def config(fused: Fused, name: str) -> Config:
    """Return the Config of both builds: FuseOps under these settings, and no earlier pass that changes operators."""
    depth = fused.settings.max_depth
    options = {} if depth == 256 else {f"{fused.graph.dialect}.FuseOps.max_depth": depth}
    assert fused.program.workload is not None
    switched = dialect_of(fused.program.workload).passes.toggles()
    # at level 1 FuseOps merges, and passes that rewrite operators do not run yet
    return Config(name, min(fused.settings.opt_level, 1), tuple(n for n in AS_IS if n in switched), options=options)


@dataclass(frozen=True)
class Measured:
    """The result of a measurement."""

    rows: tuple[Row, ...] = ()
    "of `wb.measure`: the program as given, and with the edits"
    outputs: str = ""
    "the comparison of the outputs, as a sentence; empty before"


def measure(fused: Fused, base: Fused, budget: float, progress: Progress, cancelled: Callable[[], bool]) -> Measured:
    """Time the program as given and with the edits, and compare their outputs."""
    pairs = [(base, GIVEN), (fused, EDITED)] if fused.program.edits else [(base, GIVEN)]
    target, found = fused.settings.target or "llvm", []
    for place, (each, name) in enumerate(pairs):
        progress(f"Building and timing: {name}", place / (len(pairs) + 1))
        assert each.program.workload is not None
        # the two are compared with each other: the edits must not change the outputs, even if the given ones are wrong
        limits = MeasureOptions(budget=budget, check=False, cancelled=cancelled)
        found.append(measure_one(each.program.workload, config(each, name), target, limits).to_data())
    if len(pairs) < 2 or any(row["status"] != "ok" for row in found):
        return Measured(tuple(found))
    progress("Comparing outputs", 2 / 3)
    return Measured(tuple(found), compared(fused, base, cancelled))


def compared(fused: Fused, base: Fused, cancelled: Callable[[], bool]) -> str:
    """Compare both programs' outputs for the same random inputs, and return the result as a sentence."""
    assert base.program.workload is not None
    assert fused.program.workload is not None
    try:
        first, second = (run_once(w, cancelled=cancelled) for w in (base.program.workload, fused.program.workload))
        apart = difference(first.outputs, second.outputs)
    except WorkbenchError as error:
        return f"The outputs were not compared: {error}"
    if apart.differing == 0:
        return "The outputs are equal, element by element."
    said = f"largest relative difference {apart.max_relative:.2g}, {apart.differing:,} of {apart.elements:,} elements"
    return f"The outputs agree within rounding: {said}." if apart.same else f"The outputs DIFFER: {said}."
