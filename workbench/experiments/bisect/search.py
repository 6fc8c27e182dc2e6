"""`wb.bisect`: which pass, and which fusion decision, causes a symptom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.compiler.inputs import Inputs, with_inputs
from workbench.errors import Cancelled, WorkbenchError
from workbench.experiments.bisect.changes import Change, changes_of
from workbench.experiments.bisect.culprit import ALWAYS, CANCELLED, FOUND, NOT_SHOWN, Culprit
from workbench.experiments.bisect.probing import FUSION, Cuttable, Prober, guilty_edges
from workbench.experiments.ddmin import ddmin
from workbench.experiments.symptoms import COMPARED, NO, UNKNOWN, Limits, Question, Symptom, symptom_of
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike, target_text
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress


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
        limits = Limits(
            timeout=timeout,
            memory=memory,
            seed=seed,
            progress=report,
            cancelled=cancelled,
            target=target_text(target),
            budget=budget,
        )
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
