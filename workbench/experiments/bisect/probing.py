"""Probes of a bisection: what a subset of the changes builds, with fusion cut at edges, and the answers that are known."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.legality import IllegalEdit
from workbench.dialects.base import Workload
from workbench.errors import Cancelled
from workbench.experiments.bisect.changes import Changes
from workbench.experiments.ddmin import ddmin
from workbench.experiments.symptoms import NO, UNKNOWN, YES, Finding, Limits, Symptom, of_origin, probe
from workbench.graph.model import Edge, Graph
from workbench.pipeline.config import Config
from workbench.pipeline.fusion_edits import cut, cut_step
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.wording import counted

ATTEMPTS = 4
"probes of one variant that a race cannot decide; each has twice the budget of the one before"
FUSION = "FuseOps"
_FUSABLE = ("op", "tuple", "get_item")
CutEdge = tuple[int, int, int]
"source, target and argument position, in the graph of a Cuttable"


@dataclass(frozen=True)
class Variant:
    """A program with some of the changes, and with cuts."""

    workload: Workload
    config: Config
    made: tuple[int, ...]
    "places of the changes that are made"
    pipeline: Pipeline | None = None
    "of the configuration, with its Python functions; None for the compiler's own passes"
    cut: tuple[CutEdge, ...] = ()
    "edges across which nothing is fused"

    @staticmethod
    def of(workload: Workload, changes: Changes, made: Collection[int]) -> Variant:
        pipeline = changes.pipeline(made) if changes.slots else None
        return Variant(workload, changes.config(made), tuple(sorted(made)), pipeline)

    @property
    def has_functions(self) -> bool:
        """Return whether a pass is a Python function or a Pass object, which another process does not have."""
        return any(step.enabled and step.run is not None for step in self.pipeline or ())

    @property
    def key(self) -> Hashable:
        # functions of one name have one text
        return self.made if self.has_functions else self.config.same_build(), self.cut


@dataclass(frozen=True)
class Probe:
    """One question about one variant, and its answer."""

    made: tuple[int, ...]
    "places of the changes that were made"
    names: tuple[str, ...]
    "their names"
    cut: tuple[CutEdge, ...]
    "edges across which nothing was fused"
    config: Config
    finding: Finding
    seconds: float
    budget: float
    "seconds of a race"

    @property
    def shows(self) -> bool:
        return self.finding.answer == YES

    def to_data(self) -> dict[str, object]:
        found = self.finding
        head = {"changes": ", ".join(self.names) or "none", "cuts": len(self.cut), "config": self.config.label}
        return {**head, "answer": found.answer, "evidence": found.evidence, "key": found.key, "seconds": self.seconds}


class Prober:
    """The probes of one search; `known` ones, of an earlier search of the same changes, are not repeated."""

    def __init__(
        self, workload: Workload, changes: Changes, symptom: Symptom, limits: Limits, known: Iterable[Probe] = ()
    ) -> None:
        self.workload, self.changes, self.symptom, self.limits = workload, changes, symptom, limits
        self.probes: list[Probe] = list(known)
        self._earlier = {(probe.made, probe.cut): probe for probe in self.probes if not probe.finding.again}
        self._known: dict[Hashable, Probe] = {}
        self._crash = next((probe.finding.key for probe in self.probes if probe.shows), "")
        self._runner = Runner(workload)

    def variant(self, made: Collection[int]) -> Variant:
        return Variant.of(self.workload, self.changes, made)

    def ask(self, asked: Variant | Collection[int]) -> Probe:
        """Return the answer for a variant, or for that with these changes; equal builds are probed once."""
        variant = asked if isinstance(asked, Variant) else self.variant(asked)
        if variant.key not in self._known:
            earlier = self._earlier.get((variant.made, variant.cut))
            self._known[variant.key] = earlier or self.ask_again(variant)
        return self._known[variant.key]

    def shows(self, made: Collection[int]) -> bool:
        return self.ask(made).shows

    def ask_again(self, variant: Variant) -> Probe:
        """Ask about a variant anew, with a larger budget where a race cannot tell; Cancelled if the search was."""
        for attempt in range(ATTEMPTS):
            if self.limits.cancelled():
                raise Cancelled("cancelled before the next probe")
            self.probes.append(self._probe(variant, replace(self.limits, budget=self.limits.budget * 2**attempt)))
            if not self.probes[-1].finding.again:
                break
        return self.probes[-1]

    def _probe(self, variant: Variant, limits: Limits) -> Probe:
        total = len(self.changes.items)
        cuts = f", {counted(len(variant.cut), 'cut')}" if variant.cut else ""
        limits.progress(f"Probe {len(self.probes) + 1}: {len(variant.made)} of {counted(total, 'change')}{cuts}", None)
        begun = time.perf_counter()
        is_given = variant.workload is self.workload
        symptom = self.symptom if is_given else of_origin(self.symptom, self.workload)
        pipeline = variant.pipeline if variant.has_functions else None
        finding = probe(symptom, variant.workload, variant.config, pipeline, limits, self._runner)
        if finding.answer == YES and finding.key:
            # a crash other than the first one is not an answer
            self._crash = self._crash or finding.key
            if finding.key != self._crash:
                finding = replace(finding, answer=UNKNOWN, evidence=f"another crash: {finding.evidence}")
        seconds, names = time.perf_counter() - begun, self.changes.names(variant.made)
        return Probe(variant.made, names, variant.cut, variant.config, finding, seconds, limits.budget)


@dataclass(frozen=True)
class Cuttable:
    """A variant whose fusion can be cut."""

    variant: Variant
    graph: Graph
    "the graph that FuseOps gets; of the compiler's own passes, the graph of the workload"
    place: int | None
    "of FuseOps in the pipeline; None for the compiler's own passes"

    @staticmethod
    def of(variant: Variant, timeout: float) -> Cuttable | None:
        """Return a variant with the graph of its FuseOps; None if it has none that can be cut. The timeout is for each pass before it."""
        if variant.pipeline is None:
            return Cuttable(variant, variant.workload.graph, None)
        steps = variant.pipeline.steps
        place = max((i for i, step in enumerate(steps) if step.enabled and step.name == FUSION), default=None)
        if place is None:
            return None
        # a pass may end its process; a Pass object cannot be sent to another one
        runner = Runner(variant.workload, None if variant.has_functions else timeout)
        trace = runner.run(Pipeline(steps[:place]), variant.config.opt_level)
        return None if trace.failed is not None else Cuttable(variant, trace.end.graph, place)

    def groups(self) -> list[tuple[Edge, ...]]:
        """Return the edges that can be cut, with those together that only a common cut separates."""
        nodes = self.graph.nodes
        ends = [(edge, nodes[edge.source], nodes[edge.target]) for edge in self.graph.edges]
        edges = [e for e, a, b in ends if a.kind == "op" and b.kind in _FUSABLE and a.group == b.group]
        if self.graph.dialect != "relax":
            return [(edge,) for edge in edges]
        # Relax separates a value from all its users at once
        by_source: dict[int, list[Edge]] = {}
        for edge in edges:
            by_source.setdefault(edge.source, []).append(edge)
        return [tuple(group) for group in by_source.values()]

    def without(self, edges: Iterable[Edge]) -> Variant:
        """Return the variant in which nothing is fused across these edges."""
        chosen = sorted((edge.source, edge.target, edge.index) for edge in edges)
        if not chosen:
            return self.variant
        made = replace(self.variant, cut=tuple(chosen))
        if self.place is None or self.variant.pipeline is None:
            return replace(made, workload=cut(self.variant.workload, chosen))
        steps = self.variant.pipeline.steps
        pipeline = Pipeline([*steps[: self.place], cut_step(self.graph, chosen), *steps[self.place :]])
        return replace(made, pipeline=pipeline, config=replace(made.config, pipeline=str(pipeline)))


def guilty_edges(prober: Prober, fused: Cuttable) -> tuple[Edge, ...]:
    """Return the fewest edges across which fusion must go for the symptom to show; none if it shows without fusion."""
    groups = fused.groups()

    def ask(allowed: Sequence[tuple[Edge, ...]]) -> Probe:
        kept = set(allowed)
        return prober.ask(fused.without(edge for group in groups if group not in kept for edge in group))

    try:
        if not groups or ask(()).finding.answer != NO:
            return ()
    except IllegalEdit:
        return ()
    return tuple(edge for group in ddmin(groups, lambda allowed: ask(allowed).shows) for edge in group)
