"""The edges of a graph across which FuseOps fuses, and the variants of a build in which it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.legality import IllegalEdit
from workbench.experiments.bisect.probing import Prober
from workbench.experiments.bisect.variants import Variant
from workbench.experiments.ddmin import ddmin
from workbench.experiments.symptoms import NO
from workbench.graph.model import Edge, Graph
from workbench.pipeline.fusion_edits import cut, cut_step
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline

FUSION = "FuseOps"
_FUSABLE = ("op", "tuple", "get_item")


@dataclass(frozen=True)
class Cuttable:
    """A variant whose fusion can be cut."""

    variant: Variant
    graph: Graph
    "the graph that FuseOps gets; of the compiler's own passes, the graph of the workload"
    place: int | None
    "of FuseOps in the pipeline; None for the compiler's own passes"

    def groups(self) -> list[tuple[Edge, ...]]:
        """Return the edges that can be cut, with those together that only a common cut separates."""
        edges = [edge for edge in self.graph.edges if self._can_be_cut(edge)]
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
        step = cut_step(self.graph, chosen)
        pipeline = Pipeline([*steps[: self.place], step, *steps[self.place :]])
        return replace(made, pipeline=pipeline, config=replace(made.config, pipeline=str(pipeline)))

    def _can_be_cut(self, edge: Edge) -> bool:
        source, target = self.graph.nodes[edge.source], self.graph.nodes[edge.target]
        return source.kind == "op" and target.kind in _FUSABLE and source.group == target.group


def cuttable(variant: Variant, timeout: float) -> Cuttable | None:
    """Return the variant with the graph of its FuseOps; None if it has none that can be cut.

    Parameters
    ----------
    timeout
        Seconds for each pass before FuseOps.
    """
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


def guilty_edges(prober: Prober, fused: Cuttable) -> tuple[Edge, ...]:
    """Return the fewest edges across which fusion must go for the symptom to show; none if it shows without fusion."""
    groups = fused.groups()

    def shows(allowed: Sequence[tuple[Edge, ...]]) -> bool:
        kept = set(allowed)
        edges = [edge for group in groups if group not in kept for edge in group]
        return prober.ask(fused.without(edges)).shows

    try:
        if not groups or prober.ask(fused.without(edge for group in groups for edge in group)).finding.answer != NO:
            return ()
    except IllegalEdit:
        return ()
    return tuple(edge for group in ddmin(groups, shows) for edge in group)
