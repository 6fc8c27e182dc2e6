"""`wb.reduce`: the smallest program that still shows a symptom."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf

from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import dialect_of
from workbench.errors import Cancelled, WorkbenchError, check_seconds
from workbench.experiments.reduce.configuration import shrink_configuration
from workbench.experiments.reduce.operators import halve, inline_each_function, inline_functions, remove_operators
from workbench.experiments.reduce.result import Reduced
from workbench.experiments.reduce.search import Search, probe
from workbench.experiments.reduce.size import size_of
from workbench.experiments.reduce.values import free_each_parameter, free_parameters, simplify_types, simplify_values
from workbench.experiments.symptoms import UNKNOWN, YES, Question, Symptom, limits_of, symptom_of
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.spec import Pipeline
from workbench.target_text import TargetLike
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import Progress, never
from workbench.worker.progress import showing_progress


def reduce(
    workload: Workload,
    symptom: str | Question | Symptom = "wrong",
    config: object = 3,
    *,
    reference: object = None,
    target: TargetLike = "llvm",
    budget: float = inf,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Reduced:
    """Find a small program that shows the same symptom.

    The search removes operators, reads earlier values in the place of later ones, inlines functions, makes data types, dimensions,
    constants and parameters simple, and leaves out passes and options. It keeps an edit if TVM infers the types of the program, the program is smaller, and
    it shows the same symptom: on a crash, the same crash.

    Parameters
    ----------
    symptom
        As `wb.bisect` takes it: "wrong", "crash", "hang", "slower", "kernels", "peak_bytes", or a function of a Workload and a
        Config that returns whether the symptom shows.
    config
        The configuration that shows it: an opt level, a pipeline, a dict of Config's fields, a Config.
    reference
        The configuration that "slower", "kernels" and "peak_bytes" compare with; by default TVM's own.
    budget
        Seconds of the whole search; the smallest program so far is returned when they are over.
    timeout, memory
        Seconds and bytes of a build, or of a run.
    seed
        Of the random inputs.
    cancelled
        Returns whether to stop and return the smallest program so far, as Ctrl-C does.

    Raises
    ------
    WorkbenchError
        The program does not show the symptom, or there is no such symptom.

    Examples
    --------
    >>> def has_softmax(w, config):
    ...     return any("softmax" in node.op for node in w.graph.ops)
    >>> small = wb.reduce(wb.samples.load("attention", seq=8), has_softmax)
    >>> [node.op for node in small.workload.graph.ops]
    ['relax.nn.softmax']
    """
    check_seconds(budget=budget)
    workload = workload_of(workload, "reduce")
    chosen, pipeline = Config.of(config), _functions(config)
    check_config(workload, chosen)
    asked = symptom_of(symptom, workload, chosen, None if reference is None else Config.of(reference))
    started = time.monotonic()
    with showing_progress(progress, f"Reducing {workload.name}") as report:
        limits = limits_of(target, timeout=timeout, memory=memory, seed=seed, progress=report, cancelled=cancelled)
        first = probe(asked, workload, chosen, pipeline, limits)
        if first.answer != YES:
            said = "it is not known whether it shows" if first.answer == UNKNOWN else "it does not show"
            raise WorkbenchError(
                f"{workload.name} cannot be reduced: {said} the symptom {asked.name} under {chosen.label}: {first.evidence}"
            )
        search = Search(workload, chosen, pipeline, asked, limits, first, started + budget)
        complete = _run(search)
    return _result(search, workload, chosen, complete, time.monotonic() - started)


def _functions(config: object) -> Pipeline | None:
    """Return the pipeline of a configuration if it was given as one and holds Python functions or Pass objects."""
    given = config.get("pipeline") if isinstance(config, Mapping) else config
    return given if isinstance(given, Pipeline) and any(step.enabled and step.run for step in given) else None


def _run(search: Search) -> bool:
    """Run the phases, those that make a probe faster first; return False if they were ended early."""
    with suppress(Cancelled, KeyboardInterrupt):
        free_parameters(search)
        inline_functions(search)
        halve(search)
        free_each_parameter(search)
        remove_operators(search)
        inline_each_function(search)
        if simplify_types(search):
            # a cast between equal types is not needed anymore
            remove_operators(search)
        simplify_values(search)
        shrink_configuration(search)
        return True
    return False


def _result(search: Search, original: Workload, given: Config, complete: bool, seconds: float) -> Reduced:
    last = search.workload
    if search.steps:
        # parameters become TVM's tensors again
        last = dialect_of(last).frontend.load(last.module, last.params, last.name) or last
        last.trusted, last.shapes = original.trusted, original.shapes
    return Reduced(
        workload=last,
        original=original,
        config=search.config,
        given=given,
        symptom=search.symptom,
        finding=search.found,
        steps=tuple(search.steps),
        before=search.steps[0].before if search.steps else size_of(original),
        after=search.size,
        probes=search.probes,
        refused=search.refused,
        seconds=seconds,
        complete=complete,
        limits=search.limits,
    )
