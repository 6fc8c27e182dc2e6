"""The result of a bisection: the guilty changes, the guilty edges, and all probes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.dialects.base import Workload
from workbench.errors import WorkbenchError
from workbench.experiments.bisect.changes import Change, Changes
from workbench.experiments.bisect.probing import FUSION, Cuttable, Probe, Variant
from workbench.experiments.symptoms import UNKNOWN
from workbench.graph.model import Edge, Graph
from workbench.pipeline.build import trace_build
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.trace import Trace
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from workbench.widgets.stepper.pass_stepper import PassStepper

FOUND = "found"
NOT_SHOWN = "not shown"
ALWAYS = "always"
CANCELLED = "cancelled"
SECONDS = 60.0
"for each pass of the trace"


@dataclass(frozen=True)
class Culprit:
    """The cause of a symptom, as far as passes, options and fusion decide it."""

    workload: Workload
    symptom: str
    target: str
    status: str
    """`found`; `not shown`: the symptom does not show in the given configuration; `can't tell`: no build of it answers; `always`: it shows without any change, so its cause
    cannot be switched off; `cancelled`: the search was ended, and `wb.bisect(..., resume=culprit)` goes on."""
    changes: Changes = field(repr=False)
    "the changes that were searched"
    guilty: tuple[Change, ...] = ()
    "the fewest changes with which the symptom shows; without any one of them it does not"
    others: tuple[tuple[Change, ...], ...] = ()
    "further sets of the fewest changes that make it show, each without the changes of those before it"
    edges: tuple[Edge, ...] = ()
    "edges of `graph` across which fusion must go for the symptom to show; empty if it does not depend on fusion, or was not asked"
    probes: tuple[Probe, ...] = field(default=(), repr=False)
    "all probes, in order"
    config: Config | None = None
    "the configuration with the guilty changes alone"
    good: Config | None = None
    "the configuration without the changes of all causes, in which the symptom does not show"
    notes: tuple[str, ...] = ()
    "sentences about the search"

    @property
    def passes(self) -> tuple[str, ...]:
        """Return the guilty changes by name: passes, `opt level 3`, options as `key=value`, `without FoldConstant`."""
        return tuple(change.name for change in self.guilty)

    @property
    def found(self) -> bool:
        """Return whether changes or edges were found."""
        return bool(self.guilty or self.edges)

    @property
    def table(self) -> pd.DataFrame:
        """One row for each probe: changes, number of cuts, configuration, answer, evidence, key of a crash, seconds."""
        import pandas as pd

        return pd.DataFrame([probe.to_data() for probe in self.probes])

    @cached_property
    def graph(self) -> Graph:
        """The graph of `edges`: what FuseOps gets in a pipeline, or the workload's graph."""
        fused = Cuttable.of(self._variant, SECONDS)
        return self.workload.graph if fused is None else fused.graph

    @property
    def boundary(self) -> str:
        """The guilty edges in words; empty if there are none."""
        nodes = self.graph.nodes if self.edges else ()
        return ", ".join(
            f"{nodes[e.source].op} (node {e.source}) to {nodes[e.target].op} (node {e.target})" for e in self.edges
        )

    @cached_property
    def trace(self) -> Trace:
        """The passes of `config`, the smallest configuration with the symptom.

        Raises
        ------
        WorkbenchError
            Nothing was found, or the passes end their process.
        """
        if self.config is None:
            raise WorkbenchError(f"there is nothing to trace: {self._sentence()}")
        variant = self._variant
        if variant.pipeline is not None:
            runner = Runner(self.workload, None if variant.has_functions else SECONDS)
            return runner.run(variant.pipeline, variant.config.opt_level)
        how = self.config
        options = dict(how.options)
        return trace_build(self.workload, self.target, how.opt_level, how.disabled, how.required, options, whole=False)

    @cached_property
    def step(self) -> int:
        """The place of the guilty step in `trace.steps`: the last guilty pass that changed something; -1 without one."""
        slots = {change.place for change in self.guilty if change.kind == "pass"}
        names = {str(place) for place in slots} | ({FUSION} if self.edges or not slots else set())
        in_pipeline = bool(self.changes.slots)
        for place, step in reversed(list(enumerate(self.trace.steps))):
            is_guilty = place in slots if in_pipeline and slots else step.name.partition("{")[0] in names
            if is_guilty and (step.changed or step.error):
                return place
        return -1

    @cached_property
    def selection(self) -> dict[str, list[int]]:
        """The guilty nodes, ids before the guilty step and after it.

        Of wrong outputs, the first node whose value differs, which takes two runs; else all nodes that the step changed.
        """
        if self.step < 0:
            return {"before": [], "after": []}
        if self.symptom == "wrong":
            (checked,) = self.trace.check(self.step)
            if checked.first is not None:
                return {"before": [checked.first.before], "after": [checked.first.after]}
        found = self.trace.steps[self.step].diff
        before = {*found.removed, *(b for b, _ in found.changed), *(b for many, _ in found.merged for b in many)}
        after = {*found.added, *(a for _, a in found.changed), *(a for _, a in found.merged)}
        before |= {b for b, _ in found.split}
        after |= {a for _, many in found.split for a in many}
        return {"before": sorted(before), "after": sorted(after)}

    @cached_property
    def broken(self) -> str:
        """The pass whose result is not well-formed, with TVM's reason; empty if there is none, and for other symptoms than a crash."""
        pipeline = None if self.symptom != "crash" or self.config is None else self._variant.pipeline
        if pipeline is None:
            return ""
        try:
            steps = Runner(self.workload, SECONDS).run(pipeline, self._variant.config.opt_level).steps
        except WorkbenchError:  # only this process has the pass
            return ""
        return next((f"the result of {step.name} is not well-formed: {step.flaw}" for step in steps if step.flaw), "")

    def show(self) -> PassStepper:
        """Open the stepper at the guilty step, with the guilty nodes selected."""
        # the public name, which is imported on first use: this layer knows no widget
        import workbench

        return workbench.PassStepper(self.trace, step=self.step, selection=self.selection)

    def __str__(self) -> str:
        return visible("; ".join(filter(None, (self._sentence(), self.broken, *self.notes))))

    def _repr_html_(self) -> str:
        return html_table(str(self), [probe.to_data() for probe in self.probes])

    @property
    def _made(self) -> tuple[int, ...]:
        return tuple(self.changes.items.index(change) for change in self.guilty)

    @cached_property
    def _variant(self) -> Variant:
        return Variant.of(self.workload, self.changes, self._made)

    def _sentence(self) -> str:
        spent = f"{counted(len(self.probes), 'probe')} of {counted(len(self.changes.items), 'change')}"
        last = self.probes[-1].finding.evidence if self.probes else ""
        if self.status == UNKNOWN:
            return f"it is not known whether {self.symptom!r} shows: {last} ({spent})"
        if self.status == NOT_SHOWN:
            return f"{self.symptom!r} does not show: {last} ({spent})"
        if self.status == CANCELLED:
            return (
                f"the search for {self.symptom!r} was cancelled ({spent}); wb.bisect(..., resume=this result) goes on"
            )
        where = f", where fusion goes from {self.boundary}" if self.edges else ""
        if self.status == ALWAYS:
            return f"{self.symptom!r} is not caused by a pass that can be switched off, it shows without all of them{where} ({spent})"
        causes = [" with ".join(change.name for change in each) for each in (self.guilty, *self.others)]
        also = f"; without it, {' and then '.join(causes[1:])} does too" if self.others else ""
        shown = [probe for probe in self.probes if probe.made == self._made and not probe.cut and probe.shows]
        evidence = shown[-1].finding.evidence if shown else ""
        return f"{causes[0]} causes {self.symptom!r}{where}{also}: {evidence} ({spent})"
