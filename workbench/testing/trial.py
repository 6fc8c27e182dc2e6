"""`wb.try_pass` and `assert_pass`: whether a pass fires and keeps the laws of a pass, and the smallest program on which it breaks one."""

from __future__ import annotations

import ast
import inspect
import keyword
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.dialects.registry import dialect_here, dialect_of
from workbench.errors import Cancelled, PipelineError, WorkbenchError, check_seconds, reason_of
from workbench.experiments.reduce.run import (
    Reduced,
    comparison,
    constructed,
    context_text,
    imports_of,
    pass_list,
    reduce,
    standalone,
)
from workbench.experiments.symptoms import NO, YES, Finding, Limits, Symptom, without_numbers
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.run import ANY_LEVEL
from workbench.pipeline.spec import PassStep, Pipeline, is_pattern
from workbench.testing import attempt as laws
from workbench.testing.attempt import LAWS, Attempt, Program, Run, Subject, attempted, compare, count
from workbench.testing.corpus import GENERATED, generated, given, mixed, named_operators
from workbench.testing.plugin import TRIED
from workbench.testing.programs import Kind
from workbench.testing.result import Failure, Tried
from workbench.testing.scaling import Scaling, timed
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress

MOST = 400
"programs that the pass runs on"
LEAST, ENOUGH, APART = 40, 10, 3
"programs that the pass runs on in any case; programs that break a law, and that have other outputs, after which no more are tried"
BESIDE = 3
"programs on which the outputs are compared after a neighbouring pass too"
RUNNING, GROWING, COMPARING = 0.3, 0.45, 0.75
"of the budget, when the passes have run, the growth is known and the outputs are compared; the rest is for reducing"


def try_pass(
    p: object,
    on: object = None,
    *,
    budget: float = 60.0,
    pattern: object = None,
    dialect: str | None = None,
    isolated: bool | None = None,
    timeout: float = 10.0,
    seed: int = 0,
    reduced: bool = True,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Tried:
    """Run a pass on many programs; find where it changes something, and each law of a pass that it breaks.

    The laws: it raises nothing, leaves its input alone, returns a module that TVM's own check takes, keeps the types of
    inputs and outputs and the values of outputs (on random values and on values at the edges of their type, for three
    sizes of symbolic dimensions), changes its own result no more, lets the passes before and after it in the default pipeline
    run on its result with the same outputs, and takes time in proportion to the program. Each broken law is shown on a program that
    is as small as can be found, with a script that needs TVM alone.

    Parameters
    ----------
    p
        A function from IRModule to IRModule, a Pass object, a pipeline or its text, or a rewrite: the tuple of a DFPattern and a
        callback.
    on
        "generated", "samples" (each with what every pass of the default pipeline makes of it), your own programs (anything that
        `wb.load` takes), or a list of these; by default `["generated", "samples"]`.
    budget
        Seconds for everything.
    pattern
        A DFPattern or its text: half of the generated programs have a match of it, half nearly one. Known for a rewrite and
        a DFPatternCallback.
    isolated
        Whether the pass runs in the child process, where it may crash or hang. By default it does if it can be handed over: a
        name, or a function that holds no object of TVM. A Pass object runs in this process, as `wb.trace` runs it.
    timeout
        Seconds for the pass on one program in the child process, and for a build and its runs.
    seed
        Of the first generated program.
    reduced
        Whether to reduce the failing programs.

    Raises
    ------
    WorkbenchError
        `p` is not a pass, or a program in `on` can't be read.

    Examples
    --------
    >>> found = wb.try_pass("FoldConstant", ["samples"], budget=20)
    >>> found.failures
    ()
    """
    check_seconds(budget=budget, timeout=timeout)
    where = (dialect_named(dialect) if dialect else dialect_here()).name
    if isinstance(p, tuple) and len(p) == 2:
        p = _rewrite(where, *p)
    steps = Pipeline(p if isinstance(p, (list, Pipeline)) else [p])
    if not any(step.enabled for step in steps):
        raise PipelineError("no pass of the pipeline is enabled; give a name, a function, a Pass object or a rewrite")
    subject = Subject.of(steps, timeout, isolated, cancelled)
    if pattern is None:
        pattern = next(filter(is_pattern, (getattr(step.run, "pattern", None) for step in steps)), None)
    kind = Kind.of(where, pattern, [name for step in steps for name in named_operators(step.run)])
    with showing_progress(progress, f"Trying {subject.name}") as report:
        # the import of TVM in the child does not count
        worker("trials").run("resolve_target", None, {"target": "llvm"}, progress=report, cancelled=cancelled)
        started = time.monotonic()
        trial = _Trial(subject, kind, seed, started, budget, report)
        try:
            trial.attempt(on)
            trial.time()
            trial.compare()
        except (Cancelled, KeyboardInterrupt):
            trial.ended = True
        failures = tuple(trial.failures(reduced))
    seconds, attempts, complete = time.monotonic() - started, tuple(trial.attempts), not trial.ended
    return Tried(subject.name, where, subject.isolated, attempts, trial.growth, failures, seconds, complete)


def assert_pass(
    p: object,
    programs: object = None,
    *,
    equal: bool = True,
    well_formed: bool = True,
    types: bool = True,
    idempotent: bool = True,
    fires: bool = True,
    budget: float = 30.0,
    pattern: object = None,
    seed: int = 0,
) -> Tried:
    """Try a pass as `wb.try_pass` does; fail with the smallest program that was found if it breaks a law.

    Parameters
    ----------
    p, programs, budget, pattern, seed
        As `wb.try_pass` takes them; `programs` is its `on`.
    equal, well_formed, types, idempotent
        Whether this law counts. The others always do.
    fires
        Whether to fail if the pass changed no program: then nothing is known about it.

    Raises
    ------
    AssertionError
        A law is broken, or the pass fired nowhere.

    Examples
    --------
    >>> from workbench.testing import assert_pass
    >>> found = assert_pass("FoldConstant", ["samples"], fires=False, budget=10)
    """
    __tracebackhide__ = True  # pytest shows the line of the test alone
    found = try_pass(p, programs, budget=budget, pattern=pattern, seed=seed)
    TRIED.append(found)
    counts = {laws.OUTPUTS: equal, laws.FLAW: well_formed, laws.TYPES: types, laws.AGAIN: idempotent}
    failures = [each for each in found.failures if counts.get(each.law, True)]
    if failures:
        first = failures[0]
        lines = [found.summary, *(f"- {each}" for each in failures), ""]
        lines += [f"The smallest program for `{first.law}`:", first.text] if first.text else []
        raise AssertionError("\n".join([*lines, *(["It shows with TVM alone:", first.script] if first.script else [])]))
    if fires and not found.fired:
        raise AssertionError(found.summary)
    return found


def _rewrite(dialect: str, pattern: object, callback: object) -> PassStep:
    """Return the pass that replaces the matches of a pattern. Raises PipelineError: it is none, or the callback is not a function."""
    try:
        run = dialect_named(dialect).passes.rewriter(pattern, callback)
    except TypeError as error:
        said = f"a rewrite is the tuple of a DFPattern of {dialect.capitalize()} and a function of a match"
        raise PipelineError(f"{said}: {reason_of(error)}") from None
    return PassStep(f"<{getattr(callback, '__name__', 'rewrite')}>", run=run)


@dataclass
class _Trial:
    subject: Subject
    kind: Kind
    seed: int
    started: float
    budget: float
    report: Progress
    ended: bool = False
    "whether it was cancelled"
    attempts: list[Attempt] = field(default_factory=list)
    growth: Scaling | None = None

    def _left(self, part: float) -> bool:
        self.ended = self.ended or self.subject.cancelled()
        return not self.ended and time.monotonic() < self.started + part * self.budget

    def attempt(self, on: object) -> None:
        """Run the pass on the programs."""
        makes, first = given(on, self.kind.dialect)
        broken: Counter[str] = Counter()
        fired = False
        for each in mixed(first, generated(self.kind, self.seed) if makes else iter(())):
            tried = len(self.attempts)
            enough = tried >= LEAST and max(broken.values(), default=0) >= ENOUGH
            if enough or tried >= MOST or (tried and not self._left(RUNNING if fired else COMPARING)):
                return
            self.report(f"{each.name} ({tried + 1})", None)
            self.attempts.append(attempted(self.subject, each))
            fired |= self.attempts[-1].fired
            broken.update([*self.attempts[-1].faults])

    def time(self) -> None:
        """Time the pass on larger and larger programs, if it fired on a generated one."""
        made = [each for each in self.attempts if each.program.origin == GENERATED]
        if any(each.fired and laws.RAISES not in each.faults for each in made):
            self.report("timing it on larger programs", None)
            self.growth = timed(self.subject, self.kind, self.seed, lambda: self._left(GROWING))

    def compare(self) -> None:
        """Compare the outputs of the programs that the pass changed, the small ones first."""
        differ = beside = 0
        for attempt in sorted(self.attempts, key=_nodes):
            if not attempt.is_comparable:
                continue
            if differ >= APART or not self._left(COMPARING):
                return
            self.report(f"comparing the outputs of {attempt.program.name}", None)
            near = bool(attempt.neighbours) and beside < BESIDE
            beside += near
            compare(self.subject, attempt, neighbours=near)
            differ += laws.OUTPUTS in attempt.faults
            if attempt.program.origin != GENERATED and self._left(COMPARING):
                count(self.subject, attempt)

    def failures(self, reduced: bool) -> Iterator[Failure]:
        """Yield a failure for each broken law, on the smallest program that breaks it."""
        broken = {law: found for law in LAWS if (found := [each for each in self.attempts if law in each.faults])}
        for done, (law, found) in enumerate(broken.items()):
            worst, small = min(found, key=_nodes), None
            left = self.started + self.budget - time.monotonic()
            if reduced and left > 1 and not self.ended:
                self.report(f"reducing {worst.program.name}: {law}", None)
                small = self._reduced(worst, law, left / (len(broken) - done))
            program = worst.program.workload if small is None else small.workload
            said = worst.faults[law] if small is None else small.finding.evidence
            text = script(self.subject, law, said, program, worst.run)
            trace = worst.trace if small is None else attempted(self.subject, Program(program.name, "", program)).trace
            yield Failure(law, said, len(found), worst, small, trace, text)
        if self.growth is not None and self.growth.is_steep:
            yield Failure(laws.GROWS, str(self.growth), 1, None, None, None, "")

    def _reduced(self, attempt: Attempt, law: str, seconds: float) -> Reduced | None:
        subject, workload = self.subject, attempt.program.workload
        symptom, how = Broken(subject, law, attempt.program, attempt.run), Config(opt_level=0)
        limits: JobOptions = {"timeout": subject.timeout, "cancelled": subject.cancelled, "progress": self.report}
        # a fault that does not show again can't be reduced
        with suppress(Cancelled, WorkbenchError):
            return reduce(workload, symptom, how, budget=seconds, **limits)


def _nodes(attempt: Attempt) -> int:
    return len(attempt.program.workload.graph.nodes)


@dataclass(frozen=True)
class Broken(Symptom):
    """The pass breaks a law on the program."""

    subject: Subject
    law: str
    program: Program
    "on which it broke it"
    run: Run | None = None
    "that showed other outputs"

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  it is the law's
        return self.law

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:  # noqa: ARG002
        found = attempted(self.subject, replace(self.program, workload=workload))
        if self.run and self.law in (laws.OUTPUTS, laws.NEIGHBOUR) and found.is_comparable:
            compare(self.subject, found, self.run, neighbours=self.law == laws.NEIGHBOUR)
        said = found.faults.get(self.law)
        if said is None:
            return Finding(NO, "")
        return Finding(YES, said, without_numbers(said) if self.law == laws.RAISES else self.law)


def script(subject: Subject, law: str, said: str, workload: Workload, run: Run | None) -> str:
    """Return the script; empty if the program is too deep for TVM's parser."""
    seed, sizes = (0, {}) if run is None else run
    workload = replace(workload, shapes={**workload.shapes, **sizes})
    lines = "\n".join([*_pass(subject, workload), "", *_shown(law, workload)])
    try:
        return standalone(workload, f"{subject.name}: {law}: {said}", "", lines, "llvm", seed)
    except (WorkbenchError, ValueError, TypeError):
        return ""


def _pass(subject: Subject, workload: Workload) -> Iterator[str]:
    """Yield the lines that make `changed` of `mod`: the source of a function, or the constructors of named passes."""
    words = dialect_of(workload).code(False)
    if all(step.run is None for step in subject.steps):
        yield from pass_list(list(subject.steps), ANY_LEVEL, words)
        yield "    again = tvm.transform.Sequential(passes)(changed)"
        return
    yield from imports_of(list(subject.steps), words)
    names = [constructed(step, words) if step.run is None else _name(step) for step in subject.steps]
    for name, step in zip(names, subject.steps, strict=True):
        yield from _definition(name, step) if step.run is not None else ()
    for source, result in (("mod", "changed"), ("changed", "again")):
        call = source
        for name in names:
            call = f"{name}({call})"
        yield f"with tvm.transform.PassContext(opt_level={ANY_LEVEL}):"
        yield f"    {result} = {call}"


def _name(step: PassStep) -> str:
    name = getattr(step.run, "__name__", step.name.strip("<>"))
    return name if name.isidentifier() and not keyword.iskeyword(name) else "your_pass"


def _definition(name: str, step: PassStep) -> Iterator[str]:
    """Yield the source of a function and the modules that it uses, with a place for what else it needs."""
    source, run = _source(step.run), step.run
    if not (source and inspect.isfunction(run)):
        what = (
            "the rewriter of your pattern" if hasattr(run, "pattern") else "your pass, as a function or a Pass object"
        )
        yield f"# put {what} here: {name} = ..."
        return
    used = inspect.getclosurevars(run)
    for each, value in {**used.globals, **used.nonlocals}.items():
        yield f"import {value.__name__} as {each}" if inspect.ismodule(value) else f"# put your {each} here"
    yield source


def _source(run: object) -> str:
    """Return the source of a function, without its decorators and what it uses; empty if Python does not have it."""
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        text = textwrap.dedent(inspect.getsource(run)) if inspect.isfunction(run) else ""
        (found,) = ast.parse(text).body
        if isinstance(found, ast.FunctionDef):
            return "\n".join(text.splitlines()[found.lineno - 1 :])
    return ""


def _shown(law: str, workload: Workload) -> Iterator[str]:
    """Yield the lines that show the broken law."""
    if law == laws.OUTPUTS:
        how = context_text(Config(opt_level=0, disabled=AS_IS))
        yield f"expected, found = outputs(mod, {how}), outputs(changed, {how})"
        yield from comparison(workload)
        return
    yield {
        laws.INPUT: "print(mod)  # not the program above any more",
        laws.FLAW: dialect_of(workload).code(False).script.check,
        laws.TYPES: "print(changed)  # its types of inputs and outputs are others than those of mod",
        laws.NEIGHBOUR: "print(changed)  # a neighbouring pass of the pipeline goes wrong on it",
        laws.AGAIN: "tvm.ir.assert_structural_equal(changed, again)",
    }.get(law, "print(changed)")
