"""The changes that lead from a configuration without a symptom to one with it; each can be made or left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.experiments.switches import free_passes
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.spec import PassStep, Pipeline

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
