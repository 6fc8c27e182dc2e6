"""Runs of two builds in processes of their own: their race in turn, their outputs, and the first node where the imports part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.debugging.compilers.models import Environment
from workbench.dialects import arrays
from workbench.dialects.base import Shapes, Workload
from workbench.dialects.compiler.inputs import plain_name
from workbench.errors import MeasureError, WorkbenchError
from workbench.measurement.race import Race, judged
from workbench.measurement.repeats import Run, interleave, turns
from workbench.pipeline.config import Config
from workbench.pipeline.outputs import OutputDifference, Values, Wanted, difference, run_once
from workbench.wording import counted
from workbench.worker.parent import LOADS, JobOptions, silent

if TYPE_CHECKING:
    import numpy as np

AGAIN = "builds again"
"the role of the third process"
METHOD = "in turn, in two processes and the first build in a third one too, loaded anew for each part of the budget"
Outputs = list["np.ndarray"] | str
"of a build, or the reason why there are none"


@dataclass(frozen=True)
class Runner:
    """The model in the child process of one compiler, and its build there."""

    environment: Environment
    workload: Workload
    folder: Path
    "for the outputs"
    config: Config
    seed: int
    limits: JobOptions
    title: str = ""
    target: str = ""
    "in full"

    def beside(self, role: str) -> Runner:
        """Return the same build in another process."""
        environment = replace(self.environment, role=role)
        environment.worker().adopt(self.workload, self.folder)
        return replace(self, environment=environment)

    def ask(self, job: str, **arguments: object) -> Any:
        asked = {"target": self.target, "config": self.config.to_data(), **arguments}
        return self.environment.worker().run(job, self.workload, asked, **self.limits)

    def run(self, job: str, **arguments: object) -> Any:
        """Run a job on the build; an error has the title."""
        with self._titled():
            return self.ask(job, **arguments)

    def prepare(self, places: Sequence[int] = (), outputs: str = "") -> dict[str, Any]:
        """Load the build for places in a round, and return the conditions; or write the outputs of a run to a file, and the build."""
        # a process that has loaded a file does not see another one of its name
        library = str(self.folder / f"{hash(self.target)}.so")
        return self.run("prepare", seed=self.seed, places=list(places), files=[outputs, library])

    def turn(self, place: int, number: int) -> float:
        asked = {"place": place, "number": number}
        with self._titled():
            mean: Any = self.environment.worker().run("turn", None, asked, **self.limits)
        return mean

    def values(self, wanted: Wanted) -> Values:
        """Run the imported program as it is, and return its outputs or the values of its nodes."""
        child = self.environment.worker()
        return run_once(self.workload, wanted=wanted, seed=self.seed, child=child, **self.limits)

    @contextmanager
    def _titled(self) -> Iterator[None]:
        try:
            yield
        except MeasureError as error:
            raise MeasureError(f"{self.title}: {error}") from error


def race_in_turn(runners: tuple[Runner, Runner], checks: Sequence[Mapping[str, object]], budget: float) -> Race:
    """Race two builds; the first one has two turns in each round, as in `wb.race`, in two processes; raises MeasureError.

    Two processes with one build differ by up to some percent, as by the addresses of its code and its tensors. The A/A of the race
    has that difference too. `checks` has for each whether its outputs are right, as `same`.
    """
    first, second = runners
    report = first.limits.get("progress", silent)
    report("Racing", 0.0)
    again = first.beside(AGAIN)
    running = [replace(each, limits={**each.limits, "progress": silent}) for each in (first, second, again)]
    conditions: list[dict[str, Any]] = [{} for _ in running]

    def load(heat: int) -> list[Run]:
        for place in turns(heat):
            conditions[place] = running[place].prepare([place])
        return [partial(runner.turn, place) for place, runner in enumerate(running)]

    try:
        times = interleave(load, budget, lambda fraction: report("Racing", fraction))
    finally:
        again.environment.worker().stop()
    threads = [each["threads"] for each in conditions]
    if threads[0] != threads[1]:
        raise MeasureError(
            f"the two TVMs run {threads[0]} and {threads[1]} threads; set TVM_NUM_THREADS and start again"
        )
    method = f"{METHOD}; {'; '.join(dict.fromkeys(each['method'] for each in conditions))}; {threads[0]} threads"
    target = " and ".join(dict.fromkeys((first.target, second.target)))
    return judged(first.title, second.title, {**times, "checks": checks, "target": target, "method": method})


ONNX = "ONNX's reference evaluator"


@dataclass(frozen=True)
class OutputCheck:
    """Two outputs of the model, compared."""

    first: str
    second: str
    difference: OutputDifference | None = None
    reason: str = ""
    "of a check that was not made, or of outputs of two kinds"

    @property
    def same(self) -> bool | None:
        """True if all outputs are within the tolerance of their type; None if they were not compared."""
        return None if self.difference is None else self.difference.same

    def __str__(self) -> str:
        pair, found = f"{self.first} and {self.second}", self.difference
        if found is None:
            return f"the outputs of {pair} were not compared: {self.reason}"
        if found.same:
            return f"the outputs of {pair} agree, to {found.max_relative:.1e} of the largest value"
        return (
            f"the outputs of {pair} differ: {found.differing:,} of {found.elements:,} values, "
            f"by up to {found.max_relative:.2g} of the largest"
        )


def outputs_file(runner: Runner) -> Path:
    """Return the file with the outputs of a build."""
    return runner.folder / "outputs.npz"


def read_outputs(runner: Runner) -> list[np.ndarray]:
    """Run a build once and return its outputs; raises MeasureError if it does not run."""
    path = outputs_file(runner)
    runner.prepare(outputs=str(path))
    return list(arrays.load(path).values())


def reference_outputs(runner: Runner, path: Path, inputs: Shapes, limits: Mapping[str, int]) -> list[np.ndarray]:
    """Run ONNX's reference evaluator in a child process of the runner's environment; raises MeasureError."""
    file, given = runner.folder / "onnx.npz", runner.folder / "given.npz"
    arrays.save(str(given), {plain_name(name): value for name, value in runner.workload.inputs.items()})
    asked = {"given": str(given), "path": str(path), "inputs": list(inputs.items()), "outputs": str(file)}
    asked |= {"limits": limits, "seed": runner.seed}
    runner.environment.worker(LOADS).run("onnx_outputs", None, asked, **runner.limits)
    return list(arrays.load(file).values())


def check_outputs(found: Mapping[str, Outputs]) -> tuple[OutputCheck, ...]:
    """Compare outputs, each pair once."""
    checks = []
    for (first, ours), (second, theirs) in combinations(found.items(), 2):
        reason = next((each for each in (ours, theirs) if isinstance(each, str)), "")
        compared: OutputDifference | None = None
        if not isinstance(ours, str) and not isinstance(theirs, str):
            try:
                compared = difference(ours, theirs)
            except MeasureError as error:
                reason = str(error)
        checks.append(OutputCheck(first, second, compared, reason))
    return tuple(checks)


def where_they_part(runners: Sequence[Runner]) -> str:
    """Return a sentence: the first node of the model whose values differ between the imported programs, or what differs instead.

    A pass of a build is the cause only if the outputs of the imported programs, which no pass has changed, agree.
    """
    try:
        ours, theirs = (_node_values(runner) for runner in runners)
    except WorkbenchError as error:
        said = f"cannot be compared node by node ({error})"
    else:
        common = [name for name in ours if name in theirs and ours[name].shape == theirs[name].shape]
        for name in common:
            if not _same_value(ours[name], theirs[name]):
                return f"the imported programs part at the node {name}, before any pass"
        said = f"agree at each of {counted(len(common), 'node')} that both have" if common else "have no node in common"
    try:
        outputs = [runner.values("repeatable outputs").outputs for runner in runners]
        same = difference(outputs[0], outputs[1]).same
    except WorkbenchError as error:
        return f"the imported programs {said}, and their outputs were not compared: {error}"
    if not same:
        return f"the imported programs {said}, and their outputs differ before any pass: an importer is the cause"
    return (
        f"the imported programs {said}, and their outputs agree, so a pass of a build is the cause: "
        "wb.bisect(wb.load(path), 'wrong') finds it"
    )


def _same_value(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Compare values of types that may differ: integers in the wider type, others in the narrower one."""
    kinds = sorted((ours.dtype, theirs.dtype), key=lambda dtype: dtype.itemsize)
    dtype = kinds[-1 if all(kind.kind in "biu" for kind in kinds) else 0]
    return difference([ours.astype(dtype)], [theirs.astype(dtype)]).same


def _node_values(runner: Runner) -> dict[str, np.ndarray]:
    """Return the value of each node of the model in the imported program, in order."""
    graph, found = runner.workload.graph, dict[str, "np.ndarray"]()
    for node, value in runner.values("nodes").nodes.items():
        # of several operators that a node became, the last one has its value
        found |= dict.fromkeys(graph.nodes[node].source, value)
    return found
