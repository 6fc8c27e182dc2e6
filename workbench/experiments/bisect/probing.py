"""Programs with some of the changes between two configurations, the probes of them, and fusion cut at edges."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from workbench.analysis.legality import IllegalEdit
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import Cancelled, WorkbenchError
from workbench.experiments.ddmin import ddmin
from workbench.experiments.switches import free_passes
from workbench.experiments.symptoms import NO, UNKNOWN, YES, Finding, Limits, Symptom, of_origin, probe
from workbench.graph.model import Edge, Graph
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.fusion_edits import cut, cut_step
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.wording import counted

Kind = Literal["pass", "opt level", "option", "schedules"]


@dataclass(frozen=True)
class Change:
    """One change of a configuration."""

    kind: Kind
    name: str
    "the pass, the option, ..., as the user writes it"
    place: object = None
    "of a pipeline's pass: its slot; otherwise the key of what changes"


@dataclass(frozen=True)
class Slot:
    """One place of a pipeline, before and after the change."""

    off: PassStep | None
    "the pass without the change; None for no pass"
    on: PassStep | None
    "the pass with the change; None for no pass"

    @property
    def changes(self) -> bool:
        return self.off is not self.on

    @property
    def name(self) -> str:
        return self.on.text if self.on is not None else f"without {self.off.text if self.off else 'a pass'}"

    def step(self, made: bool) -> PassStep:
        """Return the pass of this place; switched off if there is none."""
        chosen, other = (self.on, self.off) if made else (self.off, self.on)
        if chosen is not None:
            return chosen
        assert other is not None
        return replace(other, enabled=False)


@dataclass(frozen=True)
class Changes:
    """The changes from `good` to `bad`, in the order in which the compiler meets them."""

    items: tuple[Change, ...]
    good: Config
    bad: Config
    levels: Mapping[str, int] = field(default_factory=dict)
    "compiler's pass that can be switched -> its opt level"
    slots: tuple[Slot, ...] = ()
    "of a pipeline"

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(range(len(self.items)))

    def names(self, made: Collection[int]) -> tuple[str, ...]:
        return tuple(self.items[place].name for place in sorted(made))

    def config(self, made: Collection[int]) -> Config:
        chosen = {(self.items[place].kind, self.items[place].place) for place in made}

        def side(kind: Kind, place: object = None) -> Config:
            return self.bad if (kind, place) in chosen else self.good

        keys = dict.fromkeys((*self.good.options, *self.bad.options))
        options = {key: from_.options[key] for key in keys if key in (from_ := side("option", key)).options}
        common = replace(self.bad, name="", options=options, schedules=side("schedules").schedules)
        if self.slots:
            return replace(common, pipeline=str(self.pipeline(made)))
        level = side("opt level").opt_level
        switched = {name: side("pass", name) for name in self.levels}
        wanted = {name: _runs(from_, name, self.levels[name]) for name, from_ in switched.items()}
        off = [name for name, runs in wanted.items() if not runs and self.levels[name] <= level]
        on = [name for name, runs in wanted.items() if runs and self.levels[name] > level]
        others = [name for name in _named(self.good, self.bad) if name not in self.levels]
        off += [name for name in others if name in side("pass", name).disabled]
        on += [name for name in others if name in side("pass", name).required]
        return replace(common, opt_level=level, disabled=tuple(off), required=tuple(on))

    def pipeline(self, made: Collection[int]) -> Pipeline:
        """Return the pipeline with these changes alone; a pass that is left out stays in it, switched off."""
        chosen = {self.items[place].place for place in made if self.items[place].kind == "pass"}
        return Pipeline([slot.step(place in chosen) for place, slot in enumerate(self.slots)])


def changes_of(workload: Workload, bad: Config, good: Config | None, given: Pipeline | None = None) -> Changes:
    """Return the changes of a configuration. Without `good`, only the passes run that the compiler needs, at opt level 0.

    `given` is the pipeline of `bad` itself, where its text cannot make its Python functions again.
    """
    if good is not None and bool(good.pipeline) != bool(bad.pipeline):
        raise WorkbenchError(
            f"{bad.label} and {good.label} have nothing in common to search between: one is a pipeline and the other is the "
            "compiler's own passes; give two of one kind"
        )
    if bad.pipeline:
        return _of_pipeline(bad, good, given or Pipeline.parse(bad.pipeline))
    levels = _switched(workload)
    if good is None:
        good = Config(opt_level=0, disabled=tuple(levels))
    passes = [name for name, level in levels.items() if _runs(bad, name, level) != _runs(good, name, level)]
    sides = [(set(each.disabled), set(each.required)) for each in (good, bad)]
    others = [n for n in _named(good, bad) if n not in levels and len({(n in a, n in b) for a, b in sides}) > 1]
    names = [(name, _runs(bad, name, levels.get(name, 0))) for name in (*passes, *others)]
    switches = (Change("pass", name if runs else f"without {name}", name) for name, runs in names)
    return Changes((*_settings(good, bad), *switches), good, bad, levels)


def _of_pipeline(bad: Config, good: Config | None, steps: Pipeline) -> Changes:
    running = [step for step in steps if step.enabled]
    before = [] if good is None else [step for step in Pipeline.parse(good.pipeline) if step.enabled]
    slots = tuple(_slots(before, running))
    passes = [Change("pass", slot.name, place) for place, slot in enumerate(slots) if slot.changes]
    good = good or replace(bad, options={}, schedules="")
    # a pipeline is run at one opt level
    settings = [each for each in _settings(good, bad) if each.kind != "opt level"]
    return Changes((*settings, *passes), good, bad, slots=slots)


def _slots(before: Sequence[PassStep], after: Sequence[PassStep]) -> Iterator[Slot]:
    texts = [[step.text for step in side] for side in (before, after)]
    for kind, a, b, c, d in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Slot(step, step) for step in after[c:d])
        elif [step.name for step in before[a:b]] == [step.name for step in after[c:d]]:
            # the same passes with other options
            yield from (Slot(old, new) for old, new in zip(before[a:b], after[c:d], strict=True))
        else:
            yield from (Slot(step, None) for step in before[a:b])
            yield from (Slot(None, step) for step in after[c:d])


def _switched(workload: Workload) -> dict[str, int]:
    """Return the passes of the compiler that can be switched, each with its opt level."""
    free = free_passes(workload)
    here = dialect_of(workload).passes
    catalog = {info.name: info for info in here.catalog()}
    # not all are in the catalogue, and they run at opt level 0 too
    more = [name for name in AS_IS if name not in free and AS_IS[0] in catalog]
    return {**free, **{name: (catalog[name].opt_level or 0) if name in catalog else 0 for name in more}}


def _settings(good: Config, bad: Config) -> Iterator[Change]:
    if good.opt_level != bad.opt_level:
        yield Change("opt level", f"opt level {bad.opt_level}")
    for key in dict.fromkeys((*good.options, *bad.options)):
        if key not in bad.options:
            yield Change("option", f"without {key}", key)
        elif key not in good.options or good.options[key] != bad.options[key]:
            yield Change("option", f"{key}={bad.options[key]!r}", key)
    if good.schedules != bad.schedules:
        yield Change("schedules", "tuned schedules" if bad.schedules else "without tuned schedules")


def _runs(config: Config, name: str, level: int) -> bool:
    """Return whether the compiler runs a pass, as TVM's PassContext decides it."""
    return name not in config.disabled and (name in config.required or level <= config.opt_level)


def _named(*configs: Config) -> list[str]:
    return list(dict.fromkeys(name for each in configs for name in (*each.disabled, *each.required)))


ATTEMPTS = 4
"probes of one variant that a race cannot decide; each has twice the budget of the one before"
FUSION = "FuseOps"
_FUSABLE = ("op", "tuple", "get_item")
CutEdge = tuple[int, int, int]
"source, target and argument position, in the graph of a Cuttable"


@dataclass(frozen=True)
class ChangedProgram:
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
    def of(workload: Workload, changes: Changes, made: Collection[int]) -> ChangedProgram:
        pipeline = changes.pipeline(made) if changes.slots else None
        return ChangedProgram(workload, changes.config(made), tuple(sorted(made)), pipeline)

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

    def variant(self, made: Collection[int]) -> ChangedProgram:
        return ChangedProgram.of(self.workload, self.changes, made)

    def ask(self, asked: ChangedProgram | Collection[int]) -> Probe:
        """Return the answer for a variant, or for that with these changes; equal builds are probed once."""
        variant = asked if isinstance(asked, ChangedProgram) else self.variant(asked)
        if variant.key not in self._known:
            earlier = self._earlier.get((variant.made, variant.cut))
            self._known[variant.key] = earlier or self.ask_again(variant)
        return self._known[variant.key]

    def shows(self, made: Collection[int]) -> bool:
        return self.ask(made).shows

    def ask_again(self, variant: ChangedProgram) -> Probe:
        """Ask about a variant anew, with a larger budget where a race cannot tell; Cancelled if the search was."""
        for attempt in range(ATTEMPTS):
            if self.limits.cancelled():
                raise Cancelled("cancelled before the next probe")
            self.probes.append(self._probe(variant, replace(self.limits, budget=self.limits.budget * 2**attempt)))
            if not self.probes[-1].finding.again:
                break
        return self.probes[-1]

    def _probe(self, variant: ChangedProgram, limits: Limits) -> Probe:
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

    variant: ChangedProgram
    graph: Graph
    "the graph that FuseOps gets; of the compiler's own passes, the graph of the workload"
    place: int | None
    "of FuseOps in the pipeline; None for the compiler's own passes"

    @staticmethod
    def of(variant: ChangedProgram, timeout: float) -> Cuttable | None:
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

    def without(self, edges: Iterable[Edge]) -> ChangedProgram:
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
