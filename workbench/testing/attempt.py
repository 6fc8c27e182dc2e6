"""One program of `wb.try_pass`: the pass runs on it twice, and everything that can be asked about the result is asked.

The laws come in the order in which a broken one explains the others: a module that is not well-formed is not run.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from workbench.analysis.tensors import tensors
from workbench.dialects import arrays
from workbench.dialects.base import Workload
from workbench.dialects.compiler.inputs import EDGES
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, WorkbenchError
from workbench.graph.model import Graph
from workbench.measurement.count import Counts, count_config
from workbench.pipeline.config import Config
from workbench.pipeline.outputs import AS_IT_STANDS, difference
from workbench.pipeline.run import ANY_LEVEL, Runner, packed
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.temporary import temporary_folder
from workbench.wording import counted as in_words
from workbench.worker.parent import JobOptions, never, worker

RAISES, INPUT, FLAW, TYPES, OUTPUTS, NEIGHBOUR, AGAIN, GROWS = LAWS = (
    "raises",
    "changes its input",
    "not well-formed",
    "other types",
    "other outputs",
    "breaks a neighbouring pass",
    "not idempotent",
    "slow to grow",
)
"the faults of a pass, those that explain others first"
SIZES = (1, 8)
"of symbolic dimensions, beside the given ones or DEFAULT; each further dimension of a program is larger by one"
DEFAULT = 3

Run = tuple[int, Mapping[str, int]]
"the seed of the inputs of a run, and the sizes of symbolic dimensions"


@dataclass(frozen=True)
class Program:
    """A program of the corpus."""

    name: str
    origin: str
    "generated, samples or own"
    workload: Workload = field(repr=False)
    previous: PassStep | None = None
    "the pass of the default pipeline that made this program"
    following: PassStep | None = None
    "the pass that comes next in it"


@dataclass(frozen=True)
class Subject:
    """The pass that is tried."""

    name: str
    steps: Pipeline
    isolated: bool
    "whether it runs in the child process, with a timeout; else here, as `wb.trace` runs it"
    timeout: float
    cancelled: Callable[[], bool] = never

    @classmethod
    def of(cls, steps: Pipeline, timeout: float, isolated: bool | None, cancelled: Callable[[], bool]) -> Subject:
        """Return the pass, in the child process if it can be handed over. Raises PipelineError: it should be, and can't."""
        name = ",".join(step.name.strip("<>") for step in steps)
        for step in filter(lambda each: isolated and each.run, steps):
            packed(step)
        return cls(name, steps, all(map(_can_be_sent, steps)) if isolated is None else isolated, timeout, cancelled)

    def run(self, workload: Workload, times: int = 1) -> Trace:
        """Run the pass on a program, and again on its result if `times` is 2.

        TVM's warnings are left out if it runs here: they would come for each program.
        """
        runner = Runner(workload, self.timeout if self.isolated else None)
        with nullcontext() if self.isolated else _without_warnings():
            return runner.run(Pipeline([*self.steps] * times), ANY_LEVEL, cancelled=self.cancelled)

    def beside(self, step: PassStep, workload: Workload) -> Step:
        """Run a neighbouring pass on a program, in the child process."""
        return replace(self, steps=Pipeline([step]), isolated=True).run(workload).steps[0]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Leave out what C++ writes to this process's error stream."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123  it is a device
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _can_be_sent(step: PassStep) -> bool:
    """Return whether the pass can run in the child: named, or a function that holds none of TVM's objects."""
    if not inspect.isfunction(step.run):
        return step.run is None
    used = inspect.getclosurevars(step.run)
    held = [*used.nonlocals.values(), *used.globals.values()]
    with suppress(WorkbenchError):
        # a pattern that was pickled would not be the one whose parts the function looks up
        return not any(hasattr(each, "__chandle__") or hasattr(each, "handle") for each in held) and bool(packed(step))
    return False


@dataclass(frozen=True)
class Attempt:
    """The pass on one program."""

    program: Program
    trace: Trace = field(repr=False)
    "the pass, and the pass again on its result"
    passes: int
    "passes that the tried one consists of"
    faults: Mapping[str, str]
    "a broken law -> a sentence"
    neighbours: tuple[tuple[PassStep, Workload], ...] = field(default=(), repr=False)
    "the passes before and after this place in the pipeline that change the result, each with what it makes of it"
    again: Mapping[str, bool] = field(default_factory=dict)
    "the pass that made the program -> whether it finds work again on the result"
    compared: str = ""
    "`equal`, `different`, or the reason why the outputs were not compared; empty before"
    run: Run | None = None
    "the run whose outputs differ"
    counts: tuple[Counts | None, Counts | None] = (None, None)
    "`wb.count` of the program and of the result, for samples and own programs; None where a build of it fails"

    @property
    def first(self) -> tuple[Step, ...]:
        """The steps of the pass on the program itself."""
        return self.trace.steps[: self.passes]

    @property
    def fired(self) -> bool:
        """True if the pass changed the program."""
        return INPUT in self.faults or any(step.changed for step in self.first)

    @property
    def is_comparable(self) -> bool:
        """True if it fired and may have the same outputs."""
        return self.fired and not self.faults.keys() - {AGAIN}

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.first)

    @property
    def changes(self) -> str:
        """The number of nodes that the pass changed, of each kind of change."""
        if not self.fired:
            return ""
        counts = self.first[0].state_before.diff(self.first[-1].state_after).counts
        return ", ".join(f"{mark} {count:,}" for mark, count in counts.items() if count and mark != "kept")

    @property
    def result(self) -> Workload:
        """The program after the pass."""
        return self.first[-1].state_after.workload or self.program.workload


def attempted(subject: Subject, program: Program) -> Attempt:
    """Run the pass on a program, and again on the result; check all laws but the outputs'."""
    count = len(subject.steps)
    # a Pass object may change the module that it is given, which other passes are tried on
    workload = program.workload.of(dialect_of(program.workload).frontend.copy(program.workload.module))
    text = workload.text()
    trace = subject.run(workload, 2)
    faults: dict[str, str] = {}
    attempt = Attempt(program, trace, count, faults)
    error = next((step.error for step in attempt.first if step.error), "")
    faults |= {RAISES: error} if error else {}
    if workload.text() != text:
        faults[INPUT] = "the module that it was given is another one afterwards; a pass returns a new module"
    if faults or not attempt.fired:
        return attempt
    flaw = next((step.flaw for step in attempt.first if step.flaw), "")
    other = "" if flaw else _other_types(attempt.first[0].before, attempt.first[-1].after)
    if flaw or other:
        return replace(attempt, faults={FLAW if flaw else TYPES: flaw or other})
    second = next((step for step in trace.steps[count:] if step.changed or step.error), None)
    if second is not None:
        grown = len(second.after.nodes) - len(attempt.first[-1].after.nodes)
        said = f"it changes its own result too{f', to {grown} nodes more' if grown > 0 else ''}"
        faults[AGAIN] = f"on its own result it raises: {second.error}" if second.error else said
    return _beside(subject, attempt)


def _beside(subject: Subject, attempt: Attempt) -> Attempt:
    """Run the pass before this place in the pipeline on the result again, and the one after it."""
    program = attempt.program
    found: list[tuple[PassStep, Workload]] = []
    again: dict[str, bool] = {}
    for step in filter(None, (program.previous, program.following)):
        after = subject.beside(step, attempt.result)
        wrong = after.flaw and f"makes a module that is not well-formed: {after.flaw}"
        wrong = f"fails: {after.error}" if after.error else wrong
        made = step is program.previous
        alone = subject.beside(step, program.workload) if wrong or (after.changed and made) else after
        if wrong and not (alone.error or alone.flaw):
            said = f"on its result {step.name} {wrong}; on the program it does not"
            return replace(attempt, faults={**attempt.faults, NEIGHBOUR: said})
        if not wrong:
            found += [(step, after.state_after.workload)] if after.changed and after.state_after.workload else []
            again |= {step.name: after.changed and not alone.changed} if made else {}
    return replace(attempt, neighbours=tuple(found), again=again)


def _other_types(before: Graph, after: Graph) -> str:
    """Return how the types of the program's inputs and outputs differ, in a sentence."""
    for what, types in (("input", _inputs), ("output", _outputs)):
        ours, theirs = types(before), types(after)
        if len(ours) != len(theirs):
            return f"the program had {in_words(len(ours), what)} and has {len(theirs)}"
        for place in (place for place, one in enumerate(ours) if one != theirs[place]):
            return f"{what} {place} was {ours[place]} and is {theirs[place]}"
    return ""


def _inputs(graph: Graph) -> list[str]:
    """Return the types of the program's inputs, without those of functions that it calls."""
    entry = next((group.id for group in graph.groups if group.parent is None), None)
    return [node.type for node in graph.nodes if node.kind == "param" and node.group in (None, entry)]


def _outputs(graph: Graph) -> list[str]:
    return [graph.nodes[node].type for node in graph.outputs]


def counted(subject: Subject, attempt: Attempt) -> Attempt:
    """Count the kernels of the program and of the result, as TVM's own pipeline for a CPU makes them."""

    def counts(workload: Workload) -> Counts | None:
        with suppress(MeasureError):
            return count_config(workload, Config(), timeout=subject.timeout, cancelled=subject.cancelled)

    return replace(attempt, counts=(counts(attempt.program.workload), counts(attempt.result)))


def runs_of(workload: Workload) -> list[Run]:
    """Return the runs that compare outputs: on random values, on values at the edges, and both for other sizes of symbolic dimensions."""
    shapes = (each.shape for type in _inputs(workload.graph) for each in tensors(type))
    names = dict.fromkeys(d for shape in shapes for d in shape if isinstance(d, str) and d.isidentifier())
    usual = {name: DEFAULT + place for place, name in enumerate(names) if name not in workload.shapes}
    others = [{name: size + place for place, name in enumerate(names)} for size in SIZES] if names else []
    return [(seed, sizes) for sizes in (usual, *others) for seed in (0, EDGES)]


def compared(subject: Subject, attempt: Attempt, only: Run | None = None, *, neighbours: bool = False) -> Attempt:
    """Run the program and the pass's result, and compare the outputs; `only`: in this run.

    `neighbours`: compare what the neighbouring passes make of the result too.
    """
    program = attempt.program.workload
    runs = runs_of(program) if only is None else [only]
    values = _values(subject, program, runs)
    before = {place: each for place, each in enumerate(values) if not isinstance(each, str)}
    if not before:
        return replace(attempt, compared=f"the program does not run: {values[0]}")

    def differs(workload: Workload) -> tuple[Run, str] | None:
        """Return the first run with other outputs, and how they differ."""
        after = _values(subject, workload, [runs[place] for place in before])
        for (place, ours), theirs in zip(before.items(), after, strict=True):
            try:
                found = f"its result does not run: {theirs}" if isinstance(theirs, str) else difference(ours, theirs)
            except MeasureError as error:
                found = str(error)
            if isinstance(found, str) or not found.same:
                return runs[place], str(found)
        return None

    found = differs(attempt.result)
    if found:
        return replace(attempt, compared="different", run=found[0], faults={**attempt.faults, OUTPUTS: _with(*found)})
    for step, result in attempt.neighbours if neighbours else ():
        found = differs(result)
        alone = found and subject.beside(step, program).state_after.workload
        if found and differs(alone or program) is None:
            said = f"the outputs are other ones after {step.name} on its result: {_with(*found)}"
            return replace(attempt, compared="equal", run=found[0], faults={**attempt.faults, NEIGHBOUR: said})
    return replace(attempt, compared="equal")


def _with(run: Run, said: str) -> str:
    """Return the sentence with the inputs of the run."""
    seed, sizes = run
    given = ["values at the edges"] * (seed == EDGES) + [f"{name} = {size}" for name, size in sizes.items()]
    return f"{said} (with {', '.join(given)})" if given else said


def _values(subject: Subject, workload: Workload, runs: list[Run]) -> list[list[np.ndarray] | str]:
    """Return the outputs of each run, or the reason for none."""
    with temporary_folder() as folder:
        path = str(Path(folder) / "outputs.npz")
        asked = {"config": AS_IT_STANDS.to_data(), "runs": [[seed, dict(sizes)] for seed, sizes in runs], "path": path}
        limits: JobOptions = {"timeout": subject.timeout, "cancelled": subject.cancelled}
        try:
            refused = worker("trials").run("outputs", workload, asked, **limits)["refused"]
        except MeasureError as error:
            return [str(error)] * len(runs)
        values = arrays.load(path)
    return [
        refused.get(str(place)) or [array for name, array in values.items() if name.startswith(f"{place}.")]
        for place in range(len(runs))
    ]
