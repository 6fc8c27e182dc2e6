"""Symptoms of a build: a question that a probe answers with yes, no or "can't tell".

`symptom_of` makes one of a word or a function. A search asks it of many configurations (`wb.bisect`) or of many programs.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from workbench.dialects.base import Workload
from workbench.dialects.compiler.results import FAILED
from workbench.errors import (
    Cancelled,
    MeasureError,
    TVMFailed,
    UnknownName,
    Untrusted,
    WorkbenchError,
    WorkerLost,
)
from workbench.measurement.build_and_time import MeasureOptions, no_device, reference
from workbench.measurement.count import as_it_stands
from workbench.measurement.race import race
from workbench.measurement.row import CANCELLED, CRASHED, TIMEOUT
from workbench.measurement.verdict import NOISE, RACED
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.worker.parent import worker

Answer = Literal["yes", "no", "can't tell"]
YES: Answer = "yes"
NO: Answer = "no"
UNKNOWN: Answer = "can't tell"
Question = Callable[[Workload, Config], bool]
ROLE = "trials"
"the child process that may end; the one of builds keeps modules of traces"


@dataclass(frozen=True)
class Finding:
    """The answer of a probe."""

    answer: Answer
    evidence: str
    "one sentence"
    key: str = ""
    "of a crash: the signal and the top frames, or the message without numbers; two crashes with one key are the same crash"
    again: bool = False
    "whether a probe with a larger budget may answer more"


@dataclass(frozen=True, kw_only=True)
class Limits(MeasureOptions):
    """The limits of a probe: seconds and bytes of a build or a run."""

    budget: float = 2.0
    "seconds of a race"
    target: str = "llvm"


class Symptom:
    """A question about a build of a workload. A kind of symptom implements `_ask`, and `_of_error` for a build that fails."""

    name: str

    def probe(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        """Build the workload, and answer; Cancelled if `limits.cancelled` returned True."""
        try:
            return self._ask(workload, config, limits)
        except MeasureError as error:
            # these answer no question
            if isinstance(error, Untrusted):
                raise
            if isinstance(error, WorkerLost) and error.status == CANCELLED:
                raise Cancelled(str(error)) from None
            return self._of_error(error)

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        raise NotImplementedError

    def _of_error(self, error: MeasureError) -> Finding:
        return Finding(UNKNOWN, str(error))


@dataclass(frozen=True)
class Wrong(Symptom):
    """The outputs differ from those of the program built as it stands."""

    origin: Workload | None = None
    "the program whose outputs are right; None for the probed program itself"
    name: str = "wrong"

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        expected, missing = reference(self.origin or workload, limits.seed, **limits.of_a_job)
        if expected is None:
            return Finding(UNKNOWN, missing)
        found = _run("check", workload, config, limits, seed=limits.seed, reference=str(expected))
        return Finding(NO if found["same"] else YES, found["said"])

    def _of_error(self, error: MeasureError) -> Finding:
        return Finding(UNKNOWN, f"it does not run: {error}")


@dataclass(frozen=True)
class Crash(Symptom):
    """The child process ends by a signal, or TVM raises an error."""

    name: str = "crash"

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        _build_and_run(workload, config, limits)
        return Finding(NO, "it builds and runs")

    def _of_error(self, error: MeasureError) -> Finding:
        return Finding(YES, str(error), key_of(error)) if _is_crash(error) else Finding(UNKNOWN, str(error))


@dataclass(frozen=True)
class Hang(Symptom):
    """The build or the run takes longer than the timeout."""

    name: str = "hang"

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        _build_and_run(workload, config, limits)
        return Finding(NO, f"it builds and runs within {limits.timeout:g} s")

    def _of_error(self, error: MeasureError) -> Finding:
        if error.status == TIMEOUT:
            return Finding(YES, str(error), TIMEOUT)
        return Finding(NO if _is_crash(error) else UNKNOWN, str(error))


def _build_and_run(workload: Workload, config: Config, limits: Limits) -> None:
    """Build and run once; without a device for the target, only build."""
    if no_device(workload, limits.target, limits):
        _run("build", workload, config, limits)
    else:
        _run("check", workload, config, limits, seed=limits.seed, reference=None)


def _run(job: str, workload: Workload, config: Config, limits: Limits, **more: object) -> dict[str, Any]:
    check_config(workload, config)
    asked = {"target": limits.target, "config": config.to_data(), **more}
    return worker(ROLE).run(job, workload, asked, **limits.of_a_job)


def _is_crash(error: MeasureError) -> bool:
    return isinstance(error, TVMFailed) or error.status == CRASHED


@dataclass(frozen=True)
class Larger(Symptom):
    """A count of the configuration is larger than that of the reference configuration."""

    name: str
    count: str
    "a field of wb.count"
    reference: Config
    origin: Workload | None = None
    "the program of the reference configuration; None for the probed program itself"
    known: weakref.WeakKeyDictionary[Workload, int | str] = field(
        default_factory=weakref.WeakKeyDictionary, repr=False, compare=False
    )
    "program -> the count of the reference configuration, or the reason for none"

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        start = self.origin or workload
        if start not in self.known:
            self.known[start] = self._count(start, self.reference, limits)
        expected, found = self.known[start], self._count(workload, config, limits)
        if isinstance(expected, str) or isinstance(found, str):
            return Finding(UNKNOWN, expected if isinstance(expected, str) else str(found))
        answer = YES if found > expected else NO
        return Finding(answer, f"{found:,} {self.name}, and {expected:,} with {self.reference.label}")

    def _count(self, workload: Workload, config: Config, limits: Limits) -> int | str:
        try:
            found = _run("look", workload, config, limits, final=False)["counts"]
        except MeasureError as error:
            if isinstance(error, Untrusted) or error.status == CANCELLED:
                raise
            return f"{config.label} is not counted: {error}"
        if found["status"] == FAILED or found[self.count] is None:
            return f"{config.label} is not counted: {found['reason'] or 'the plan of its memory is not exact'}"
        return int(found[self.count])


@dataclass(frozen=True)
class Slower(Symptom):
    """A race shows that the configuration is slower than the reference configuration."""

    reference: Config
    name: str = "slower"

    def _ask(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        if config.same_build() == self.reference.same_build():
            return Finding(NO, f"it is the same build as {self.reference.label}")
        how = {"budget": limits.budget, "seed": limits.seed, **limits.of_a_job}
        raced = race(workload, self.reference, config, limits.target, **how)
        outcome = raced.outcome
        # a configuration that loses because its outputs are wrong is not slower
        if outcome.reason == RACED and outcome.answer == "no":
            return Finding(YES, outcome.sentence)
        if outcome.reason == RACED and raced.times.excludes_slower:
            return Finding(NO, outcome.sentence)
        return Finding(UNKNOWN, outcome.sentence, again=outcome.reason in (RACED, NOISE))


@dataclass(frozen=True)
class Asked(Symptom):
    """A function of the user is true."""

    function: Question
    name: str

    def probe(self, workload: Workload, config: Config, limits: Limits) -> Finding:
        if limits.cancelled():
            raise Cancelled("cancelled before the function was called")
        try:
            found = self.function(workload, config)
        except WorkbenchError as error:
            return Finding(UNKNOWN, str(error))
        if found not in (True, False):
            raise WorkbenchError(f"{self.name} returned a {type(found).__name__}; a symptom returns True or False")
        return Finding(YES if found else NO, f"{self.name} returned {bool(found)}")


COUNTS = {"kernels": "calls", "peak_bytes": "peak_bytes"}
"symptom -> field of wb.count"
COMPARED = ("slower", *COUNTS)
"the symptoms that compare with a reference configuration"
PLAIN = {"wrong": Wrong, "crash": Crash, "hang": Hang}


def symptom_of(
    given: str | Question | Symptom, workload: Workload, config: Config, reference: Config | None = None
) -> Symptom:
    """Return the symptom of a word or a function, as `wb.bisect` takes them, which `config` shows and `reference` does not.

    A configuration is not compared with itself; without a reference it is compared with TVM's default.
    """
    if not isinstance(given, str):
        if hasattr(given, "probe"):
            return cast("Symptom", given)
        if not callable(given):
            raise WorkbenchError(
                f"a {type(given).__name__} is not a symptom; give one of {', '.join((*PLAIN, *COMPARED))}, or a function of the "
                "workload and a Config that returns True or False"
            )
        return Asked(given, getattr(given, "__name__", type(given).__name__))
    if given in PLAIN:
        return PLAIN[given]()
    if given not in COMPARED:
        raise UnknownName("symptom", given, (*PLAIN, *COMPARED))
    other = Config() if reference is None else reference
    check_config(workload, other)
    if other.same_build() == config.same_build():
        raise WorkbenchError(
            f"{given!r} would compare {config.label} with itself; give another configuration, reference="
        )
    return Slower(other) if given == "slower" else Larger(given, COUNTS[given], other)


def of_origin(symptom: Symptom, origin: Workload) -> Symptom:
    """Return the symptom for programs that passes made of `origin`, whose outputs and counts are the reference."""
    return replace(symptom, origin=origin) if isinstance(symptom, (Wrong, Larger)) else symptom


def probe(
    symptom: Symptom,
    workload: Workload,
    config: Config,
    pipeline: Pipeline | None,
    limits: Limits,
    runner: Runner | None = None,
) -> Finding:
    """Return whether a program shows a symptom. A pipeline is given if some passes are Python functions; they run in this process."""
    if pipeline is None:
        return symptom.probe(workload, config, limits)
    runner = runner or Runner(workload)
    trace = runner.run(pipeline, config.opt_level)
    if trace.failed is None:
        made = runner.workload_of(trace.end)
        return of_origin(symptom, workload).probe(made, as_it_stands(workload, config), limits)
    # a crash, or no answer to another question
    error = TVMFailed(f"{trace.failed.name} failed: {trace.failed.error}")
    return Finding(YES, str(error), key_of(error)) if isinstance(symptom, Crash) else Finding(UNKNOWN, str(error))


_REPLACED = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    # a path differs between machines, the file in it does not
    (re.compile(r"(?:/[\w.+-]+)+/"), ""),
    (re.compile(r"\d+(?:\.\d+)?"), "#"),
    # a shape of another rank
    (re.compile(r"#(?:, ?#)+"), "#"),
)


def key_of(error: MeasureError) -> str:
    """Return the key: of a process that ended its signal and the top frames, else the message without its numbers."""
    if isinstance(error, WorkerLost) and error.crash:
        return error.crash
    return without_numbers(str(error))


def without_numbers(message: str) -> str:
    """Return a message without addresses, numbers, shapes and folders.

    >>> without_numbers("InternalError: /src/a.cc:12: Check failed: (4, 8) vs (4, 8, 1) at 0x7f1a")
    'InternalError: a.cc:#: Check failed: (#) vs (#) at 0x'
    """
    for pattern, instead in _REPLACED:
        message = pattern.sub(instead, message)
    return message
