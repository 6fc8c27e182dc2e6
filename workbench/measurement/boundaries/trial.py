"""Trying a boundary: the two parts as a program of their own, raced as two kernels against one; and the change of the peak memory.

A whole model hides a difference of microseconds in its noise, so the parts are taken out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from workbench.analysis import legality
from workbench.analysis.fusion import explain_fusion
from workbench.analysis.fusion.boundaries import Boundary
from workbench.dialects.base import Workload
from workbench.errors import MeasureError, check_seconds
from workbench.graph.model import Graph
from workbench.measurement.memory.planning import memory_config
from workbench.measurement.race import Race, race
from workbench.measurement.verdict import RACED, UNKNOWN
from workbench.pipeline.config import Config
from workbench.pipeline.fusion_edits import cut_step, extract_step, force_step
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.target_text import TargetLike
from workbench.worker.parent import Progress, never, silent

BUDGET = 1.0
"seconds of runs"
TWO, ONE = "two kernels", "one kernel"
FUSE = PassStep("FuseOps", {"fuse_opt_level": 2})


@dataclass(frozen=True)
class Limits:
    """The limits of a trial."""

    target: TargetLike = "llvm"
    budget: float = BUDGET
    progress: Progress = silent
    cancelled: Callable[[], bool] = never

    def __post_init__(self) -> None:
        check_seconds(budget=self.budget)


@dataclass(frozen=True)
class Pair:
    """The two parts of a boundary as a program of their own, and the pipelines that make two kernels or one of it."""

    workload: Workload
    two: Pipeline
    one: Pipeline


@dataclass(frozen=True)
class BoundaryTrial:
    """The measured seconds that one kernel saves against two."""

    saved: float
    low: float
    high: float
    "of its 95 % interval"
    two: float
    "seconds of the two kernels"
    race: Race

    @property
    def answer(self) -> str:
        """Return whether one kernel is faster: `yes`, `no` or `can't tell`."""
        return UNKNOWN if self.objection else self.race.answer

    @property
    def objection(self) -> str:
        """Return the reason why the seconds do not count: wrong outputs, or a noisy machine; empty if they count."""
        return "" if self.race.outcome.reason == RACED else str(self.race)

    @staticmethod
    def of(found: Race) -> BoundaryTrial:
        two = median(found.samples_a)
        ratios = (found.ratio, found.low, found.high)
        saved, low, high = (two * (1 - 1 / ratio) if ratio else float("-inf") for ratio in ratios)
        return BoundaryTrial(saved, low, high, two, found)


def measure(workload: Workload, boundary: Boundary, limits: Limits) -> BoundaryTrial:
    """Race the two parts of a boundary as two kernels against one; raises MeasureError, WorkerLost."""
    return raced(pair_of(workload, boundary), limits)


def raced(pair: Pair, limits: Limits) -> BoundaryTrial:
    """Race a pair."""
    found = race(
        pair.workload,
        Config(TWO, pipeline=str(pair.two)),
        Config(ONE, pipeline=str(pair.one)),
        limits.target,
        budget=limits.budget,
        progress=limits.progress,
        cancelled=limits.cancelled,
    )
    return BoundaryTrial.of(found)


def pair_of(workload: Workload, boundary: Boundary) -> Pair:
    """Return the two parts of a boundary as a program of their own; raises MeasureError."""
    if boundary.refusal:
        raise MeasureError(f"there is nothing to compare: {boundary.refusal}")
    alone = _extracted(workload, boundary)
    here = _followed(boundary, alone.graph)
    edges = [(here[source], here[target]) for source, target in boundary.edges]
    fused = explain_fusion(alone.graph)
    force = [] if len(fused.kernels) == 1 else [force_step(alone.graph, [here[n] for n in boundary.nodes if n in here])]
    pair = Pair(alone, Pipeline([cut_step(alone.graph, edges), FUSE]), Pipeline([*force, FUSE]))
    runner = Runner(alone)
    for pipeline, wanted in ((pair.two, 2), (pair.one, 1)):
        trace = runner.run(pipeline)
        if trace.failed is not None:
            raise MeasureError(f"{trace.failed.name} fails on the two alone: {trace.failed.error}")
        if trace.end.graph.kernel_count != wanted:
            raise MeasureError(
                f"alone, TVM makes {trace.end.graph.kernel_count} kernels of them where {wanted} are compared"
            )
    return pair


def _extracted(workload: Workload, boundary: Boundary) -> Workload:
    runner = Runner(workload)
    trace = runner.run(Pipeline([extract_step(boundary.graph, _operators(boundary))]))
    if trace.failed is not None:
        raise MeasureError(f"the two cannot be taken out of the program: {trace.failed.error}")
    # symbols of Relax have the same names in the part; Relay's shapes are those of the whole program's inputs
    shapes = workload.shapes if workload.dialect == "relax" else {}
    name = f"{workload.name}, node {boundary.source}"
    return Workload(trace.end.module, {}, name, workload.dialect, trusted=workload.trusted, shapes=shapes)


def _operators(boundary: Boundary) -> list[int]:
    """Return the nodes of both parts without fields of tuples from outside: an executor takes no tuple as an input."""
    graph, inside = boundary.graph, set(boundary.nodes)
    return [n for n in boundary.nodes if graph.nodes[n].kind != "get_item" or graph.inputs[n][0] in inside]


def _followed(boundary: Boundary, alone: Graph) -> Mapping[int, int]:
    """Return the node of the extracted program for each node of the two parts, by walking both from the result."""
    inside = set(legality.region(boundary.graph, _operators(boundary)).nodes)
    found: dict[int, int] = {}
    waiting = [(boundary.consumer[-1], alone.outputs[0])]
    while waiting:
        old, new = waiting.pop()
        if old not in inside or old in found:
            continue
        found[old] = new
        waiting += zip(boundary.graph.inputs[old], alone.inputs[new], strict=True)
    return found


def peak_changes(workload: Workload, boundaries: Iterable[Boundary], limits: Limits) -> Iterator[tuple[Boundary, int]]:
    """Yield each boundary with the peak bytes as one kernel, less those as two; raises MeasureError, WorkerLost."""

    def peak(*steps: object) -> int:
        config = Config(pipeline=str(Pipeline([*steps, FUSE])))
        how = memory_config(workload, config, limits.target, progress=limits.progress, cancelled=limits.cancelled)
        return how.peak_bytes

    now = peak()
    for boundary in boundaries:
        if boundary.refusal:
            raise MeasureError(f"there is nothing to compare: {boundary.refusal}")
        if boundary.joined:
            yield boundary, now - peak(cut_step(boundary.graph, boundary.edges))
        else:
            yield boundary, peak(force_step(boundary.graph, boundary.nodes)) - now
