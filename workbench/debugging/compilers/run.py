"""`wb.compare_compilers`: one model through Relay and through Relax, each in its own environment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.debugging.compilers.differences import differences
from workbench.debugging.compilers.models import Model, model_of
from workbench.debugging.compilers.outputs import (
    ONNX,
    OutputCheck,
    check_outputs,
    outputs_file,
    read_outputs,
    reference_outputs,
)
from workbench.debugging.compilers.outputs import where_they_part as part_of
from workbench.debugging.compilers.result import CompilerComparison, CompilerPair
from workbench.debugging.compilers.side import CONFIG, TITLES, CompilerSide, build_side
from workbench.debugging.compilers.turns import CHANGES, Runner, race_changed, race_in_turn
from workbench.dialects.base import Workload
from workbench.dialects.compiler.inputs import index_limits, plain_name
from workbench.errors import LoadError, UnknownName, WorkbenchError
from workbench.measurement.row import OK
from workbench.pipeline.elsewhere import Environment
from workbench.target_text import TargetLike, target_texts
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, silent
from workbench.worker.progress import showing_progress


def compare_compilers(
    model: Any,
    shapes: Mapping[str, Sequence[int]] | None = None,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    *,
    params: Mapping[str, Any] | str | Path | None = None,
    environments: Mapping[str, str | Path] | None = None,
    budget: float = 4.0,
    per_kernel: bool = True,
    suggest: bool = False,
    seed: int = 0,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> CompilerComparison:
    """Build a model with Relay and with Relax, compare kernels, memory and outputs, and race both builds.

    Each compiler runs in child processes of its own Python environment, so this works in either one. Both builds have opt level 3,
    the same target with the same `-mcpu`, the same random inputs and the same number of threads.

    Parameters
    ----------
    model
        An ONNX file or ModelProto; a program of `torch.export`, which is written as ONNX; Relay, as text, file, module or Workload; a
        sample, `"sample:bert{layers=2}"` or a Workload of `wb.samples.load`. Relax builds the translation of a Relay program by
        `wb.to_relax`. Of a Relax program the Relay side is a failure, since nothing translates it.
    shapes
        Shapes of the inputs that the model leaves open, `{"ids": (1, 128)}`; in Relax values of symbolic dimensions, `{"n": 128}`.
    params
        Values of a Relay or Relax program's parameters by name, or a file of them, as in `wb.load`.
    environments
        Dialect -> the Python of its environment. By default this environment has one dialect, and the other one is found among
        those that `tvm-workbench doctor` lists and in folders beside this environment with a name like its name, as `.venv-relay` beside `.venv`.
    budget
        Seconds of the race; 0 for no race and no times.
    per_kernel
        Whether to time each kernel by itself too, for half of the budget on each side.
    suggest
        Whether to race Relax's build also against two others: with weights as constants, as Relay's are, and without FuseOps, as
        `tvm.compile` builds for a CPU without a pipeline. The races are in `pair.tried`.
    timeout, memory
        Seconds that a build, or a run, may take; bytes that a child process may hold.

    Returns
    -------
    CompilerComparison
        `.sides` and `.table` are DataFrames; `.pairs` has one pair for each target with both halves: graphs, kernels, memory plan,
        passes, the checks of the outputs, and the race. A side that fails, crashes or takes too long has a status and a sentence, and
        the other side is complete.

    Raises
    ------
    LoadError
        Neither compiler reads the model.

    Examples
    --------
    >>> from onnx import parser
    >>> header = '<ir_version: 8, opset_import: ["" : 17]>'
    >>> model = parser.parse_model(header + "two (float[2, 8] x) => (float[2, 8] y) { h = Relu(x)  y = Exp(h) }")
    >>> found = wb.compare_compilers(model, budget=0)
    >>> [side.kernels.calls for side in found.pairs[0].sides], list(found.table["relation"])
    ([1, 1], ['one to one'])
    >>> [check.same for check in found.pairs[0].checks]
    [True, True, True]
    """
    pythons = {dialect: Path(python) for dialect, python in (environments or {}).items()}
    for dialect in pythons:
        if dialect not in TITLES:
            raise UnknownName("compiler", dialect, TITLES)
    if shapes is not None and not isinstance(shapes, Mapping):
        raise LoadError(f"shapes={shapes!r:.80} has no names; give a dictionary, shapes={{'x': (1, 128)}}")
    wanted = target_texts(targets)
    with tempfile.TemporaryDirectory() as place, showing_progress(progress, "Comparing compilers") as report:
        limits: JobOptions = {"timeout": timeout, "memory": memory, "progress": report, "cancelled": cancelled}
        made = model_of(model, params, shapes or {}, Path(place))
        comparing = _Comparing(made, dict(shapes or {}), Path(place), seed, budget, per_kernel, suggest, limits)
        opened = [comparing.open(dialect, pythons.get(dialect)) for dialect in TITLES]
        errors = {str(each) for each in opened if isinstance(each, WorkbenchError)}
        if all(isinstance(each, WorkbenchError) for each in opened):
            raise LoadError("; ".join(sorted(errors)))
        _share_limits([each.workload for each in opened if isinstance(each, Opened)])
        return CompilerComparison(made.name, tuple(comparing.pair(opened, target) for target in wanted))


def _share_limits(workloads: Sequence[Workload]) -> None:
    """Give all workloads the same limits of inputs that hold indices, so that they get the same values."""
    least: dict[str, int] = {}
    for workload in workloads:
        for name, limit in index_limits(workload.graph).items():
            least[plain_name(name)] = min(limit, least.get(plain_name(name), limit))
    for workload in workloads:
        names = [node.op for node in workload.graph.nodes if node.kind == "param"]
        workload.known_limits = {name: least[plain_name(name)] for name in names if plain_name(name) in least}


@dataclass(frozen=True)
class Opened:
    """The model in one compiler."""

    environment: Environment
    workload: Workload

    @property
    def limits(self) -> Mapping[str, int]:
        """The limits of inputs that hold indices, by `plain_name`."""
        return {plain_name(name): limit for name, limit in self.workload.limits.items()}


@dataclass(frozen=True)
class _Comparing:
    """The arguments of a call."""

    model: Model
    shapes: Mapping[str, Sequence[int]]
    folder: Path
    seed: int
    budget: float
    per_kernel: bool
    suggest: bool
    limits: JobOptions

    def open(self, dialect: str, python: Path | None) -> Opened | WorkbenchError:
        """Find the environment and convert the model; an error is a result."""
        try:
            environment = Environment.of(dialect, python)
            folder = self.folder / dialect
            folder.mkdir()
            return Opened(environment, self.model.load(environment, folder, self.limits.get("progress", silent)))
        except WorkbenchError as error:
            return error

    def pair(self, opened: Sequence[Opened | WorkbenchError], target: str) -> CompilerPair:
        """Return both halves for a target."""
        sides = [CompilerSide(dialect, target) for dialect in TITLES]
        for at, (side, each) in enumerate(zip(sides, opened, strict=True)):
            sides[at] = (
                side.failed(each) if isinstance(each, WorkbenchError) else replace(side, graph=each.workload.graph)
            )
        sides = self.with_common_target(sides, opened)
        sides = [self.built(side, each) for side, each in zip(sides, opened, strict=True)]
        built = [
            (side, each)
            for side, each in zip(sides, opened, strict=True)
            if isinstance(each, Opened) and side.status == OK
        ]
        runners = [self.runner(each, side.target) for side, each in built]
        checks = self.checks(runners, built[0][1] if built else None)
        pair = CompilerPair(sides[0], sides[1], checks)
        if len(runners) == 2 and any(check.same is False for check in checks):
            pair = replace(pair, part=part_of(runners, self.folder))
        if all(side.optimized is not None for side in sides):
            pair = replace(pair, rows=differences(*pair.sides))
        return self.raced(pair, runners)

    def with_common_target(
        self, sides: Sequence[CompilerSide], opened: Sequence[Opened | WorkbenchError]
    ) -> list[CompilerSide]:
        """Return the sides with the target in full, as the first compiler's LLVM knows this CPU.

        Relay's LLVM is older, and Relax's knows its names. A side whose process does not answer has failed.
        """
        sides = list(sides)
        for at, (side, each) in enumerate(zip(sides, opened, strict=True)):
            if isinstance(each, Opened):
                try:
                    child = each.environment.worker()
                    full = str(child.run("resolve_target", each.workload, {"target": side.target}, **self.limits))
                    return [replace(other, target=full) for other in sides]
                except WorkbenchError as error:
                    sides[at] = side.failed(error)
        return sides

    def built(self, side: CompilerSide, opened: Opened | WorkbenchError) -> CompilerSide:
        """Return the half of one compiler with its build, unless it has failed before."""
        if isinstance(opened, WorkbenchError) or side.status != OK:
            return side
        seconds = self.budget / 2 if self.per_kernel else 0.0
        return build_side(side, opened.workload, opened.environment, seconds, self.seed, self.limits)

    def runner(self, opened: Opened, target: str) -> Runner:
        """Return what runs a side's build."""
        title = TITLES[opened.environment.dialect]
        return Runner(title, opened.environment, opened.workload, target, CONFIG, self.seed, self.limits)

    def checks(self, runners: Sequence[Runner], reader: Opened | None) -> tuple[OutputCheck, ...]:
        """Run each build once and compare the outputs; those of an ONNX model also with ONNX's reference evaluator."""
        if reader is None:
            return ()
        found: dict[str, Any] = {
            each.title: _or_reason(lambda each=each: read_outputs(each, self.folder)) for each in runners
        }
        limits, onnx = reader.limits, self.model.onnx
        if onnx is not None:
            found[ONNX] = _or_reason(lambda: reference_outputs(runners[0], onnx, self.shapes, limits, self.folder))
        return check_outputs(found)

    def raced(self, pair: CompilerPair, runners: Sequence[Runner]) -> CompilerPair:
        """Return the pair with its race, or the reason for none."""
        if len(runners) < 2:
            missing = " and ".join(side.title for side in pair.sides if side.status != OK)
            return replace(pair, unraced=f"{missing} has no build that runs")
        if not self.budget:
            return replace(pair, unraced="budget=0")
        wrong = [{"same": _right(pair.checks, runner.title)} for runner in runners]
        try:
            pair = replace(pair, race=race_in_turn((runners[0], runners[1]), wrong, self.budget))
            if self.suggest:
                file = str(outputs_file(runners[1], self.folder))
                tried = tuple(race_changed(runners[1], change, file, self.budget) for change in CHANGES)
                pair = replace(pair, tried=tried)
        except WorkbenchError as error:
            return replace(pair, unraced=str(error))
        return pair


def _or_reason(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except WorkbenchError as error:
        return str(error)


def _right(checks: Sequence[OutputCheck], title: str) -> bool | None:
    """Return whether a compiler's outputs are those of ONNX's reference evaluator; None if they were not compared."""
    return next((check.same for check in checks if check.first == title and check.second == ONNX), None)
