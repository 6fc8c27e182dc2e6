"""`wb.try_pass`: whether a pass fires, whether it keeps the laws of a pass, and the smallest program on which it breaks one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.dialects.registry import installed
from workbench.errors import Cancelled, LoadError, PipelineError, WorkbenchError, check_seconds, reason_of
from workbench.experiments.reduce.run import Reduced, reduce
from workbench.experiments.symptoms import NO, YES, Finding, Limits, Symptom, without_numbers
from workbench.pipeline.config import Config
from workbench.pipeline.matching import read_pattern
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.testing.attempt import (
    AGAIN,
    GROWS,
    LAWS,
    NEIGHBOUR,
    OUTPUTS,
    RAISES,
    Attempt,
    Program,
    Run,
    Subject,
    attempted,
    compared,
    counted,
)
from workbench.testing.corpus import GENERATED, Kind, generated, given, mixed, named_operators
from workbench.testing.result import Failure, Tried
from workbench.testing.scaling import Scaling, timed
from workbench.testing.script import script
from workbench.worker.parent import Progress, never, worker
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
    run on its result with the same outputs, and takes time in proportion to the program. Each broken law is shown on a program that is as small as can be found, with a script that needs
    TVM alone.

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
        A DFPattern or its text: half of the generated programs have a match of it, half nearly one. Known for a rewrite.
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
    where = dialect or installed()
    if where is None:
        raise LoadError(
            "a pass is tried with TVM, and there is none in this environment; `pip install tvm-workbench[relax]`"
        )
    if isinstance(p, tuple) and len(p) == 2:
        pattern = pattern if pattern is not None else p[0]
        p = _rewrite(where, *p)
    subject = Subject.of(Pipeline(p if isinstance(p, (list, Pipeline)) else [p]), timeout, isolated, cancelled)
    wanted = None if pattern is None else read_pattern(pattern)
    with showing_progress(progress, f"Trying {subject.name}") as report:
        # the import of TVM in the child does not count
        worker("trials").run("resolve_target", None, {"target": "llvm"}, progress=report, cancelled=cancelled)
        started = time.monotonic()
        likely = frozenset().union(*(named_operators(step.run) for step in subject.steps))
        trial = _Trial(subject, Kind(where, wanted, likely, seed), started, budget, report, cancelled)
        try:
            trial.attempt(on)
            trial.time()
            trial.compare()
        except (Cancelled, KeyboardInterrupt):
            trial.ended = True
        failures = tuple(trial.failures(reduced))
    seconds, attempts = time.monotonic() - started, tuple(trial.attempts)
    return Tried(
        subject.name, where, subject.isolated, attempts, trial.growth, failures, seconds, complete=not trial.ended
    )


def _rewrite(dialect: str, pattern: object, callback: object) -> PassStep:
    """Return the pass that replaces the matches of a pattern. Raises PipelineError: it is none, or the callback is not a function."""
    try:
        run = dialect_named(dialect).passes.rewriter(pattern, callback)
    except TypeError as error:
        raise PipelineError(
            f"a rewrite is the tuple of a DFPattern of {dialect.capitalize()} and a function of a match: {reason_of(error)}"
        ) from None
    return PassStep(f"<{getattr(callback, '__name__', 'rewrite')}>", run=run)


@dataclass
class _Trial:
    subject: Subject
    kind: Kind
    started: float
    budget: float
    report: Progress
    cancelled: Callable[[], bool]
    ended: bool = False
    "whether it was cancelled"
    attempts: list[Attempt] = field(default_factory=list)
    growth: Scaling | None = None

    def _left(self, part: float) -> bool:
        self.ended = self.ended or self.cancelled()
        return not self.ended and time.monotonic() < self.started + part * self.budget

    def attempt(self, on: object) -> None:
        """Run the pass on the programs."""
        makes, first = given(on, self.kind.dialect)
        broken: Counter[str] = Counter()
        for each in mixed(first, generated(self.kind) if makes else None):
            tried = len(self.attempts)
            enough = tried >= LEAST and max(broken.values(), default=0) >= ENOUGH
            if enough or tried >= MOST or (tried and not self._left(RUNNING)):
                return
            self.report(f"{each.name} ({tried + 1})", None)
            self.attempts.append(attempted(self.subject, each))
            broken.update([*self.attempts[-1].faults])

    def time(self) -> None:
        """Time the pass on larger and larger programs, if it fired on a generated one."""
        made = [each for each in self.attempts if each.program.origin == GENERATED]
        if any(each.fired and RAISES not in each.faults for each in made):
            self.report("timing it on larger programs", None)
            self.growth = timed(self.subject, self.kind, lambda: self._left(GROWING))

    def compare(self) -> None:
        """Compare the outputs of the programs that the pass changed, the small ones first."""
        order = sorted(range(len(self.attempts)), key=lambda place: _nodes(self.attempts[place]))
        differ = beside = 0
        for place in order:
            attempt = self.attempts[place]
            if not attempt.fired or attempt.faults.keys() - {AGAIN}:
                continue
            if differ >= APART or not self._left(COMPARING):
                return
            self.report(f"comparing the outputs of {attempt.program.name}", None)
            near = bool(attempt.neighbours) and beside < BESIDE
            beside += near
            self.attempts[place] = compared(attempt, self.subject.timeout, self.cancelled, neighbours=near)
            differ += OUTPUTS in self.attempts[place].faults
            if attempt.program.origin != GENERATED and self._left(COMPARING):
                self.attempts[place] = counted(self.attempts[place], self.subject.timeout, self.cancelled)

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
            yield Failure(GROWS, str(self.growth), 1, None, None, None, "")

    def _reduced(self, attempt: Attempt, law: str, seconds: float) -> Reduced | None:
        symptom = Broken(self.subject, law, attempt.program, attempt.run)
        try:
            return reduce(
                attempt.program.workload,
                symptom,
                Config(opt_level=0),
                budget=seconds,
                timeout=self.subject.timeout,
                progress=self.report,
                cancelled=self.cancelled,
            )
        except (Cancelled, WorkbenchError):
            # a fault that does not show again can't be reduced
            return None


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
        if self.run and self.law in (OUTPUTS, NEIGHBOUR) and found.fired and not found.faults.keys() - {AGAIN}:
            found = compared(found, limits.timeout, limits.cancelled, self.run, neighbours=self.law == NEIGHBOUR)
        said = found.faults.get(self.law)
        return (
            Finding(NO, "")
            if said is None
            else Finding(YES, said, without_numbers(said) if self.law == RAISES else self.law)
        )
