"""`wb.bisect`: which pass, and which fusion decision, causes a symptom; the order of the questions, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import Cancelled, WorkbenchError
from workbench.experiments.bisect.probing import (
    FUSION,
    Change,
    ChangedProgram,
    Changes,
    Cuttable,
    Probe,
    Prober,
    changes_of,
    guilty_edges,
)
from workbench.experiments.ddmin import ddmin
from workbench.experiments.symptoms import COMPARED, NO, UNKNOWN, Limits, Question, Symptom, symptom_of
from workbench.graph.model import Edge, Graph
from workbench.pipeline.build import trace_build
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never
from workbench.worker.progress import showing_progress

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
    def _variant(self) -> ChangedProgram:
        return ChangedProgram.of(self.workload, self.changes, self._made)

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


def bisect(
    workload: Workload,
    symptom: str | Question | Symptom,
    config: Any = 3,
    *,
    reference: Any = None,
    target: TargetLike = "llvm",
    inputs: Inputs | None = None,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    seed: int = 0,
    budget: float = 2.0,
    edges: bool = True,
    resume: Culprit | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Culprit:
    """Find the fewest passes, options and fused edges that make a symptom show.

    The search builds subsets of the changes from a configuration without the symptom to `config`, in the child process, and narrows
    them to a set from which no change can be left out. If FuseOps or the opt level is in that set, it then cuts fusion at edges.

    Parameters
    ----------
    symptom
        "wrong": the outputs differ from those of the program built as it stands. "crash": the process ends by a signal, or TVM
        raises. "hang": a build or a run takes longer than `timeout`. "slower": a race against `reference` shows it. "kernels",
        "peak_bytes": more than with `reference`. Or a function of the workload and a Config that returns True where it shows.
    config
        The configuration that shows it, as `wb.measure` takes it. Python functions in a Pipeline run in this process.
    reference
        A configuration without it: the passes and options in which `config` differs are searched. By default, for "slower",
        "kernels" and "peak_bytes" TVM's default; else no passes but those that the compiler needs, at opt level 0.
    inputs
        Arrays by the name of the input, `{"ids": array}`; of a tuple a tuple of arrays. The other inputs are random.
    timeout, memory
        Seconds of a build or a run, and bytes that the child process may hold.
    seed
        Of the random inputs.
    budget
        Seconds of a race. A race that cannot tell is repeated with up to eight times of it, then counts as "does not show".
    edges
        Whether to cut fusion at edges too.
    resume
        An earlier result of the same search, whose probes are not repeated.
    cancelled
        Returns whether to stop. A cancelled search returns a Culprit with the probes so far; so does Ctrl-C.

    Returns
    -------
    Culprit
        `passes`, `edges`, `probes`, `config` (the smallest configuration with the symptom), `good` (the largest without it).

    Raises
    ------
    UnknownName, WorkbenchError
        There is no such symptom, or `config` and `reference` cannot be compared.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> found = wb.bisect(w, "kernels", {"options": {"relax.FuseOps.max_depth": 1}})
    >>> found.passes
    ('relax.FuseOps.max_depth=1',)
    """
    workload = with_inputs(workload_of(workload, "bisect"), inputs)
    bad = Config.of(config)
    # with its Python functions, if it was given as a pipeline
    given = config.get("pipeline") if isinstance(config, Mapping) else config
    pipeline = given if isinstance(given, Pipeline) else None
    good = None if reference is None else Config.of(reference)
    for each in (bad, *([good] if good else [])):
        check_config(workload, each)
    asked = symptom_of(symptom, workload, bad, good)
    if good is None and asked.name in COMPARED:
        good = None if bad.pipeline else Config()
    changes = changes_of(workload, bad, good, pipeline)
    if not changes.items:
        raise WorkbenchError(
            f"{changes.bad.label} differs in nothing from {changes.good.label}; give another reference="
        )
    if asked.name == "slower" and any(slot.on is not None and slot.on.run is not None for slot in changes.slots):
        raise WorkbenchError(
            "a pipeline with Python functions cannot be raced, because another process builds it; give passes by their names"
        )
    if resume is not None and (resume.symptom, resume.changes.items) != (asked.name, changes.items):
        raise WorkbenchError("resume= is the result of another search; give it the same symptom and configurations")
    with showing_progress(progress, f"Bisecting {workload.name}") as report:
        job: JobOptions = {"timeout": timeout, "memory": memory, "progress": report, "cancelled": cancelled}
        limits = Limits(target=target_text(target), seed=seed, budget=budget, **job)
        prober = Prober(workload, changes, asked, limits, resume.probes if resume else ())
        return _Search(prober, edges).run()


class _Search:
    """The questions of a bisection, in order."""

    def __init__(self, prober: Prober, edges: bool) -> None:
        self.prober, self.changes, self.edges = prober, prober.changes, edges
        self.notes: list[str] = []

    def run(self) -> Culprit:
        try:
            return self._searched()
        except (Cancelled, KeyboardInterrupt):
            return self._result(CANCELLED)

    def _searched(self) -> Culprit:
        everything = self.changes.all
        if not self._is_confirmed(everything):
            last = self.prober.probes[-1].finding
            # a race that cannot tell has shown nothing
            return self._result(UNKNOWN if last.answer == UNKNOWN and not last.again else NOT_SHOWN)
        nothing = self.prober.ask(())
        if nothing.shows:
            return self._with_edges(self._result(ALWAYS, ()))
        if nothing.finding.answer == UNKNOWN:
            self.notes.append(f"without any change there is no answer: {nothing.finding.evidence}")
        made = ddmin(everything, self.prober.shows)
        if not self._is_confirmed(made):
            self.notes.append("a second race did not confirm what the search found, so nothing is accused")
            return self._result(NOT_SHOWN)
        others: list[tuple[Change, ...]] = []
        left = self._without(everything, made)
        while left and self._is_confirmed(left):
            found = ddmin(left, self.prober.shows)
            others.append(tuple(self.changes.items[place] for place in found))
            left = self._without(left, found)
        good = self.changes.config(left) if self._is_gone(left) else None
        return self._with_edges(replace(self._result(FOUND, made), others=tuple(others), good=good))

    def _is_confirmed(self, made: tuple[int, ...]) -> bool:
        """Return whether the symptom shows; twice, if a race answers: one in twenty races is wrong by chance."""
        variant = self.prober.variant(made)
        if not self.prober.ask(variant).shows:
            return False
        return self.prober.symptom.name != "slower" or self.prober.ask_again(variant).shows

    def _without(self, left: tuple[int, ...], made: tuple[int, ...]) -> tuple[int, ...]:
        """Return the changes without the guilty one, if the symptom is gone then, else without all of these."""
        one_less = (tuple(each for each in left if each != place) for place in made)
        return next(filter(self._is_gone, one_less), None) or tuple(each for each in left if each not in made)

    def _is_gone(self, made: tuple[int, ...]) -> bool:
        return self.prober.ask(made).finding.answer == NO

    def _with_edges(self, found: Culprit) -> Culprit:
        """Return the result with the edges whose fusion the symptom needs."""
        fusion = any(each.kind == "opt level" or each.name.startswith(FUSION) for each in found.guilty)
        # without a pipeline, cuts are made in the program: the reference of a race would have them too
        is_raced = not self.changes.slots and self.prober.symptom.name == "slower"
        if not self.edges or is_raced or (found.guilty and not fusion):
            return found
        made = tuple(self.changes.items.index(change) for change in found.guilty)
        fused = Cuttable.of(self.prober.variant(made), self.prober.limits.timeout)
        if fused is None:
            return found
        edges = guilty_edges(self.prober, fused)
        return replace(found, edges=edges, probes=tuple(self.prober.probes), notes=tuple(self.notes))

    def _result(self, status: str, made: tuple[int, ...] | None = None) -> Culprit:
        prober = self.prober
        return Culprit(
            prober.workload,
            prober.symptom.name,
            prober.limits.target,
            status,
            self.changes,
            tuple(self.changes.items[place] for place in made or ()),
            probes=tuple(prober.probes),
            config=None if made is None else self.changes.config(made),
            notes=tuple(self.notes),
        )
