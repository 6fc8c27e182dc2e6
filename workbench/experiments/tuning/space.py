"""A Space: passes and settings that may vary, and the Config of each choice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from workbench.analysis.fusion import explain_fusion
from workbench.analysis.fusion.report import FusionReport
from workbench.analysis.tensors import nbytes
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.experiments.switches import free_passes, switches
from workbench.graph.model import Graph
from workbench.pipeline.config import Config
from workbench.pipeline.fusion_edits import cut_step, force_step
from workbench.pipeline.run import trace
from workbench.pipeline.spec import PassStep, Pipeline

Assignment = Mapping[str, Any]
"name of a knob -> the choice"


@dataclass(frozen=True)
class Knob:
    """One variable of a space, with its choices."""

    name: str
    "`FoldConstant`, `FuseOps.fuse_opt_level`, `opt_level`, `relay.FuseOps.max_depth`, or `edit`"
    kind: str
    "pass, option, level, config or edit"
    choices: tuple[object, ...]
    "the default first; None keeps TVM's own setting"

    @property
    def default(self) -> object:
        return self.choices[0]


@dataclass(frozen=True)
class Space:
    """A set of configurations: the product of its knobs. Each is a Config, so it can be rerun alone.

    A pass that is twice in a pipeline is switched, and gets its options, in both places.

    Examples
    --------
    >>> space = Space(toggles=("FoldConstant",), opt_levels=(3, 2))
    >>> [space.config_for(each).label for each in space.assignments()]
    ['opt 3', 'opt 2', 'opt 3 -FoldConstant', 'opt 2 -FoldConstant']
    """

    toggles: tuple[str, ...] = ()
    "passes of the compiler's own pipeline, or of `pipeline`, that may be switched off"
    extras: tuple[str, ...] = ()
    "passes of the compiler's own pipeline that its opt level leaves out and that may be required"
    opt_levels: tuple[int, ...] = (3,)
    config: Mapping[str, Sequence[object]] = field(default_factory=dict, hash=False)
    "PassContext config -> values to try, the default first; None for TVM's own"
    pipeline: str = ""
    "a pipeline whose result is compiled unchanged; empty for the compiler's own pipeline"
    options: Mapping[str, Sequence[object]] = field(default_factory=dict, hash=False)
    "`Pass.option` of the pipeline -> values to try, the default first"
    edits: tuple[str, ...] = ()
    """Cuts and forces as text of passes, of which at most one is taken; it runs right before the pipeline's last FuseOps. An edit
    names nodes by their ids, which another edit before it would shift; cuts that go together are one CutFusion."""

    def __post_init__(self) -> None:
        names = [knob.name for knob in self.knobs]
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled is not None:
            raise WorkbenchError(f"the space decides {doubled!r} twice; name it once")
        if not self.pipeline and (self.options or self.edits):
            raise WorkbenchError("options of passes and edits need a pipeline=; Space.fusion(w) has one")
        if self.pipeline and self.extras:
            raise WorkbenchError(
                "extras are of the compiler's own pipeline; in a pipeline=, a pass that is in it may be toggled"
            )
        if not self.opt_levels or not all(knob.choices for knob in self.knobs):
            raise WorkbenchError("each thing to decide needs at least one value to try")
        steps = {step.name for step in Pipeline.parse(self.pipeline)}
        named = {**dict.fromkeys(self.toggles), **{key.rpartition(".")[0]: None for key in self.options}}
        missing = next((name for name in named if name not in steps), None) if self.pipeline else None
        if missing is not None:
            raise WorkbenchError(
                f"the pipeline has no pass {missing!r} to decide about; it has {', '.join(sorted(steps))}"
            )

    @property
    def knobs(self) -> tuple[Knob, ...]:
        return (
            *(Knob(name, "pass", (True, False)) for name in self.toggles),
            *(Knob(name, "pass", (False, True)) for name in self.extras),
            *(Knob(name, "option", tuple(values)) for name, values in self.options.items()),
            *(Knob(name, "config", tuple(values)) for name, values in self.config.items()),
            *([Knob("edit", "edit", (None, *self.edits))] if self.edits else []),
            *([Knob("opt_level", "level", self.opt_levels)] if len(self.opt_levels) > 1 else []),
        )

    @property
    def size(self) -> int:
        """The number of choices, including equivalent ones."""
        return math.prod(len(knob.choices) for knob in self.knobs)

    @property
    def default(self) -> dict[str, Any]:
        """The choice without any change."""
        return {knob.name: knob.default for knob in self.knobs}

    def assignments(self) -> Iterator[dict[str, object]]:
        knobs = self.knobs
        for values in itertools.product(*(knob.choices for knob in knobs)):
            yield {knob.name: value for knob, value in zip(knobs, values, strict=True)}

    def config_for(self, chosen: Assignment) -> Config:
        level = chosen.get("opt_level", self.opt_levels[0])
        settings = {name: chosen[name] for name in self.config if chosen[name] is not None}
        if self.pipeline:
            return Config(opt_level=level, options=settings, pipeline=str(self._steps(chosen)))
        off = tuple(name for name in self.toggles if not chosen[name])
        on = tuple(name for name in self.extras if chosen[name])
        return Config(opt_level=level, disabled=off, required=on, options=settings)

    def _steps(self, chosen: Assignment) -> Pipeline:
        steps = []
        for step in Pipeline.parse(self.pipeline):
            named = {key: key.rpartition(".") for key in self.options}
            given = {
                option: chosen[key]
                for key, (name, _, option) in named.items()
                if name == step.name and chosen[key] is not None
            }
            enabled = step.enabled and chosen.get(step.name, True)
            steps.append(replace(step, options={**step.options, **given}, enabled=enabled))
        edits = Pipeline.parse(chosen.get("edit") or "")
        places = [place for place, step in enumerate(steps) if step.name == "FuseOps"]
        place = places[-1] if places else len(steps)
        return Pipeline([*steps[:place], *edits, *steps[place:]])

    @staticmethod
    def switches(workload: Workload, opt_level: int = 3) -> Space:
        """Return the space of passes of the compiler's own pipeline that run at that opt level and can be switched off."""
        return Space(toggles=switches(workload, None, opt_level).names, opt_levels=(opt_level,))

    @staticmethod
    def of(workload: Workload) -> Space:
        """Return the default space of `wb.tune`: all passes that a PassContext can switch off or on, and FuseOps' depth."""
        running = Space.switches(workload).toggles
        extras = tuple(name for name, level in free_passes(workload).items() if level > 3)
        depth = {f"{workload.dialect}.FuseOps.max_depth": (None, 8, 1)}
        return Space(toggles=running, extras=extras, config=depth)

    @staticmethod
    def fusion(workload: Workload, most: int = 8) -> Space:
        """Return the space of cuts and forces near costly kernel boundaries."""
        pipeline, edits = fusion_choices(workload, most)
        return Space(pipeline=str(pipeline), edits=tuple(edits))


def fusion_choices(workload: Workload, most: int) -> tuple[Pipeline, list[str]]:
    """Return the compiler's graph passes as a pipeline, and at most so many edits to choose from.

    For each value that kernels pass on, the largest first, there is a force of the kernels at its ends into one, where that is
    legal, and a cut of each edge within these kernels, the readers' edges first. Pairs of these cuts follow. Where kernels
    pass nothing on (the whole program is one kernel), there is a cut of each edge within a kernel, the largest first. There
    are no edits where no kernel has two operators. Raises WorkbenchError: the passes before fusion fail on it.
    """
    pipeline = Pipeline.parse(dialect_of(workload).passes.presets()[0].pipeline)
    last = max(place for place, step in enumerate(pipeline) if step.name == "FuseOps")
    before = trace(workload, Pipeline(pipeline[place] for place in range(last)))
    if before.failed is not None:
        raise WorkbenchError(f"{before.failed.name} failed before fusion: {before.failed.error}")
    return pipeline, fusion_edits(explain_fusion(before.end.graph), most)


def fusion_edits(report: FusionReport, most: int) -> list[str]:
    """Return passes as text, each one edit or a pair of cuts, those at the costliest boundary first."""
    found: dict[str, None] = {}
    edges: dict[tuple[int, int], None] = {}
    for handover in report.handovers:
        ends = [report.group_of(node) for node in (handover.source, *handover.targets)]
        joined = sorted({node for end in ends for node in end.nodes})
        found |= dict.fromkeys(_legal(lambda nodes=joined: force_step(report.graph, nodes)))
        near = _cuts(report, _inside(report, (*handover.targets, handover.source)))
        found |= dict.fromkeys(near.values())
        edges |= dict.fromkeys(near)
    if not report.handovers:
        within = _inside(report, (kernel.root for kernel in report.kernels))
        within = _cuts(report, sorted(within, key=lambda edge: -nbytes(report.graph.nodes[edge[0]].type)))
        found, edges = dict.fromkeys(within.values()), dict.fromkeys(within)
    for pair in combinations(edges, 2):
        found |= dict.fromkeys(_legal(lambda pair=pair: cut_step(report.graph, pair)))
    return list(found)[:most]


def _cuts(report: FusionReport, edges: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
    return {edge: text for edge in edges for text in _legal(lambda edge=edge: cut_step(report.graph, edge))}


def _inside(report: FusionReport, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the edges between operators within the kernels of these nodes."""
    graph: Graph = report.graph
    for end in ends:
        kernel = report.group_of(end)
        for node in kernel.nodes:
            yield from ((source, node) for source in graph.inputs[node] if source in kernel.nodes)


def _legal(make: Callable[[], PassStep]) -> Iterator[str]:
    try:
        yield str(make())
    except WorkbenchError:
        return
