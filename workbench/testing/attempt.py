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
from workbench.wording import counted
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
Outputs = list[np.ndarray]


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

    @property
    def limits(self) -> JobOptions:
        """Of a job in the child process."""
        return {"timeout": self.timeout, "cancelled": self.cancelled}

    def run(self, workload: Workload, times: int = 1) -> Trace:
        """Run the pass on a program, and again on its result if `times` is 2.

        TVM's warnings are left out if it runs here: they would come for each program.
        """
        runner = Runner(workload, self.timeout if self.isolated else None)
        with nullcontext() if self.isolated else _without_warnings():
            return runner.run(Pipeline([*self.steps] * times), ANY_LEVEL, cancelled=self.cancelled)

    def beside(self, step: PassStep, workload: Workload) -> tuple[Step, Workload]:
        """Run a neighbouring pass on a program, in the child process; return what it makes of it too."""
        found = replace(self, steps=Pipeline([step]), isolated=True).run(workload).steps[0]
        return found, found.state_after.workload or workload


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


@dataclass(eq=False)
class Attempt:
    """The pass on one program; the outputs are compared, and the kernels are counted, later."""

    program: Program
    trace: Trace = field(repr=False)
    "the pass, and the pass again on its result"
    faults: dict[str, str] = field(default_factory=dict)
    "a broken law -> a sentence"
    neighbours: list[tuple[PassStep, Workload, Workload]] = field(default_factory=list, repr=False)
    "the passes before and after this place in the pipeline that change the result, with what each makes of it and of the program"
    again: dict[str, bool] = field(default_factory=dict)
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
        return self.trace.steps[: len(self.trace.steps) // 2]

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
    # a Pass object may change the module that it is given, which other passes are tried on
    workload = program.workload.of(dialect_of(program.workload).frontend.copy(program.workload.module))
    text = workload.text()
    attempt = Attempt(program, subject.run(workload, 2))
    first, faults = attempt.first, attempt.faults
    if error := next((step.error for step in first if step.error), ""):
        faults[RAISES] = error
    if workload.text() != text:
        faults[INPUT] = "the module that it was given is another one afterwards; a pass returns a new module"
    if faults or not attempt.fired:
        return attempt
    if flaw := next((step.flaw for step in first if step.flaw), ""):
        faults[FLAW] = flaw
    elif other := _other_types(first[0].before, first[-1].after):
        faults[TYPES] = other
    else:
        if found := next((step for step in attempt.trace.steps[len(first) :] if step.changed or step.error), None):
            grown = len(found.after.nodes) - len(first[-1].after.nodes)
            said = f"it changes its own result too{f', to {grown} nodes more' if grown > 0 else ''}"
            faults[AGAIN] = f"on its own result it raises: {found.error}" if found.error else said
        _run_neighbours(subject, attempt)
    return attempt


def _run_neighbours(subject: Subject, attempt: Attempt) -> None:
    """Run the pass before this place in the pipeline on the result again, and the one after it."""
    program = attempt.program
    for step in filter(None, (program.previous, program.following)):
        after, result = subject.beside(step, attempt.result)
        alone, expected = subject.beside(step, program.workload)
        if alone.error or alone.flaw:
            continue
        if after.error or after.flaw:
            wrong = f"fails: {after.error}" if after.error else f"makes a module that is not well-formed: {after.flaw}"
            attempt.faults[NEIGHBOUR] = f"on its result {step.name} {wrong}; on the program it does not"
            return
        if after.changed:
            attempt.neighbours.append((step, result, expected))
        if step is program.previous:
            attempt.again[step.name] = after.changed and not alone.changed


def _other_types(before: Graph, after: Graph) -> str:
    """Return how the types of the program's inputs and outputs differ, in a sentence."""
    for what, ours, theirs in zip(("input", "output"), _types(before), _types(after), strict=True):
        if len(ours) != len(theirs):
            return f"the program had {counted(len(ours), what)} and has {len(theirs)}"
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one != other:
                return f"{what} {place} was {one} and is {other}"
    return ""


def _types(graph: Graph) -> tuple[list[str], list[str]]:
    """Return the types of the program's inputs, without those of functions that it calls, and of its outputs."""
    entry = next((group.id for group in graph.groups if group.parent is None), None)
    inputs = [node.type for node in graph.nodes if node.kind == "param" and node.group in (None, entry)]
    return inputs, [graph.nodes[node].type for node in graph.outputs]


def count(subject: Subject, attempt: Attempt) -> None:
    """Count the kernels of the program and of the result, as TVM's own pipeline for a CPU makes them."""

    def counts(workload: Workload) -> Counts | None:
        with suppress(MeasureError):
            return count_config(workload, Config(), **subject.limits)

    attempt.counts = counts(attempt.program.workload), counts(attempt.result)


def runs_of(workload: Workload) -> list[Run]:
    """Return the runs that compare outputs: on random values, on values at the edges, and both for other sizes of symbolic dimensions."""
    shapes = (each.shape for type in _types(workload.graph)[0] for each in tensors(type))
    names = dict.fromkeys(d for shape in shapes for d in shape if isinstance(d, str) and d.isidentifier())
    usual = {name: DEFAULT + place for place, name in enumerate(names) if name not in workload.shapes}
    others = [{name: size + place for place, name in enumerate(names)} for size in SIZES] if names else []
    return [(seed, sizes) for sizes in (usual, *others) for seed in (0, EDGES)]


def compare(subject: Subject, attempt: Attempt, only: Run | None = None, *, neighbours: bool = False) -> None:
    """Run the program and the pass's result, and compare the outputs; `only`: in this run.

    `neighbours`: compare what the neighbouring passes make of the result too.
    """
    program = attempt.program.workload
    runs = runs_of(program) if only is None else [only]
    values = _values(subject, program, runs)
    before = [(run, each) for run, each in zip(runs, values, strict=True) if not isinstance(each, str)]
    if not before:
        attempt.compared = f"the program does not run: {values[0]}"
        return
    found = _difference(subject, before, attempt.result)
    attempt.compared = "different" if found else "equal"
    if found:
        attempt.run, attempt.faults[OUTPUTS] = found
    for step, result, expected in attempt.neighbours if neighbours and not found else ():
        found = _difference(subject, before, result)
        if found and not _difference(subject, before, expected):
            attempt.run, said = found
            attempt.faults[NEIGHBOUR] = f"the outputs are other ones after {step.name} on its result: {said}"
            return


def _difference(subject: Subject, before: list[tuple[Run, Outputs]], workload: Workload) -> tuple[Run, str] | None:
    """Return the first run with other outputs than before, and how they differ; None if there is none."""
    after = _values(subject, workload, [run for run, _ in before])
    for (run, ours), theirs in zip(before, after, strict=True):
        try:
            found = f"its result does not run: {theirs}" if isinstance(theirs, str) else difference(ours, theirs)
        except MeasureError as error:
            found = str(error)
        if isinstance(found, str) or not found.same:
            seed, sizes = run
            given = ["values at the edges"] * (seed == EDGES) + [f"{name} = {size}" for name, size in sizes.items()]
            return run, f"{found} (with {', '.join(given)})" if given else str(found)
    return None


def _values(subject: Subject, workload: Workload, runs: list[Run]) -> list[Outputs | str]:
    """Return the outputs of each run, or the reason for none."""
    with temporary_folder() as folder:
        path = str(Path(folder) / "outputs.npz")
        asked = {"config": AS_IT_STANDS.to_data(), "runs": [[seed, dict(sizes)] for seed, sizes in runs], "path": path}
        try:
            refused = worker("trials").run("outputs", workload, asked, **subject.limits)["refused"]
        except MeasureError as error:
            return [str(error)] * len(runs)
        values = arrays.load(path)
    return [
        refused.get(str(place)) or [array for name, array in values.items() if name.startswith(f"{place}.")]
        for place in range(len(runs))
    ]
