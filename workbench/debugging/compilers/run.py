"""`wb.compare_compilers`: one model through two compilers, two versions of one, two configurations or two targets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from workbench.analysis.cost import canonical
from workbench.analysis.index_limits import index_limits
from workbench.debugging.compilers.models import Environment, Model, model_of
from workbench.debugging.compilers.result import CompilerComparison, CompilerPair, Difference, differences
from workbench.debugging.compilers.runner import (
    ONNX,
    Outputs,
    Runner,
    check_outputs,
    outputs_file,
    race_in_turn,
    read_outputs,
    reference_outputs,
)
from workbench.debugging.compilers.runner import where_they_part as part_of
from workbench.debugging.compilers.side import Compiler, CompilerSide, build_side, checked, time_kernels, titles
from workbench.debugging.remarks.decisions import FUSE_OPS
from workbench.dialects.base import Shapes, Workload
from workbench.dialects.compiler.inputs import Inputs, plain_name, with_inputs
from workbench.errors import LoadError, MeasureError, WorkbenchError, check_seconds
from workbench.measurement.build_and_time import RaceRequest
from workbench.measurement.race import Race, judged
from workbench.measurement.row import OK
from workbench.pipeline.config import Config
from workbench.pipeline.spec import BIND
from workbench.target_text import TargetLike, target_texts
from workbench.temporary import temporary_folder
from workbench.wording import counted
from workbench.worker.host import allowed
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, silent
from workbench.worker.progress import showing_progress


def compare_compilers(
    model: Any,
    shapes: Shapes | None = None,
    targets: TargetLike | Iterable[TargetLike] = ("llvm",),
    *,
    params: Mapping[str, Any] | str | Path | None = None,
    compilers: Sequence[Compiler] = (Compiler("relay"), Compiler("relax")),
    budget: float = 4.0,
    per_kernel: bool = True,
    suggest: bool = False,
    inputs: Inputs | None = None,
    seed: int = 0,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> CompilerComparison:
    """Build a model with two compilers, compare kernels, memory and outputs, and race both builds.

    The two are Relay and Relax, or the same compiler in two versions, with two configurations or for two targets. Each runs in child
    processes of its own Python environment, and both build at the same time; nothing is timed beside other work. Both builds have the same random inputs and the same number of threads. If a
    target has no `-mcpu`, both have the one that the older TVM knows this CPU by.

    Parameters
    ----------
    model
        An ONNX file or ModelProto; a program of `torch.export`, which PyTorch writes as ONNX; Relay as text, file, IRModule or Workload; a
        sample, `"sample:bert{layers=2}"` or a Workload of `wb.samples.load`, which is built anew. Relax builds the translation
        of a Relay program by `wb.to_relax`. A Relax program cannot be translated to Relay: the Relay side fails with a sentence.
    shapes
        Shapes of the inputs that the model leaves open, `{"ids": (1, 128)}`; in Relax values of symbolic dimensions, `{"n": 128}`.
    params
        Values of a Relay or Relax program's parameters by name, or a file of them, as in `wb.load`.
    targets
        Of compilers without their own target; one pair for each.
    compilers
        Two of `wb.Compiler`, left and right. A dialect that this environment does not have is found among the environments that
        `tvm-workbench doctor` lists and in folders beside this environment with a name like its name, as `.venv-relay` beside `.venv`.
    budget
        Seconds of the race, half of them if it is decided by then; 0 for no race and no times.
    per_kernel
        Whether to time each kernel by itself too, for half of the budget on each side.
    suggest
        Whether to try changes of the right build, if it is Relax's own pipeline: weights as constants, convolutions in NHWC, no
        FuseOps, and schedules for the three kernels with the most time lost, which MetaSchedule searches for up to eight times the
        budget. Each change is built, its outputs are checked, and it is raced against the build without it: `pair.tried`, with
        reasons for those without a race in `pair.untried`.
    inputs
        Arrays by the name of the input, `{"ids": array}`, with the shapes that the model or `shapes` gives. The other inputs are random.
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
    WorkbenchError
        An argument is wrong; LoadError if neither compiler reads the model.

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

    A sample, which Relay builds and `wb.to_relax` translates:

    >>> (pair,) = wb.compare_compilers("sample:chain", budget=0).pairs
    >>> [side.kernels.calls for side in pair.sides], pair.rows[0].sources, pair.checks[0].same
    ([1, 1], ('add#1', 'add#3', 'nn.relu#2', 'nn.relu#4'), True)

    Two configurations of one compiler:

    >>> apart = wb.Compiler("relax", config=wb.Config(disabled=("FuseOps",)))
    >>> found = wb.compare_compilers(model, compilers=(wb.Compiler("relax"), apart), budget=0)
    >>> print(found.sides[["compiler", "kernels"]].to_string(index=False))
              compiler  kernels
           Relax opt 3        1
    Relax opt 3 -FuseOps        2
    """
    both = checked(compilers)
    if shapes is not None and not isinstance(shapes, Mapping):
        raise LoadError(f"shapes={shapes!r:.80} has no names; give a dictionary, shapes={{'x': (1, 128)}}")
    wanted = target_texts(targets) if any(each.target is None for each in both) else ("",)
    with temporary_folder() as place, showing_progress(progress, "Comparing compilers") as report:
        ended = Event()
        limits: JobOptions = {
            "timeout": timeout,
            "memory": memory,
            "progress": report,
            "cancelled": lambda: ended.is_set() or cancelled(),
        }
        made = model_of(model, params, shapes or {}, Path(place))
        comparing = _Comparing(made, dict(shapes or {}), seed, budget, per_kernel, suggest, limits, ended)
        opened = comparing.opened(both, Path(place))
        errors = {str(each) for each in opened if isinstance(each, WorkbenchError)}
        if all(isinstance(each, WorkbenchError) for each in opened):
            raise LoadError("; ".join(sorted(errors)))
        workloads = [each.workload for each in opened if isinstance(each, Runner)]
        _share_limits(workloads)
        for workload in workloads:
            # the worker knows the workload by its identity
            workload.inputs = with_inputs(workload, inputs).inputs
        return CompilerComparison(made.name, tuple(comparing.pair(both, opened, target) for target in wanted))


def _share_limits(workloads: Sequence[Workload]) -> None:
    """Give all workloads the same limits of inputs that hold indices, so that they get the same values."""
    least: dict[str, int] = {}
    for workload in workloads:
        for name, limit in index_limits(workload.graph).items():
            least[plain_name(name)] = min(limit, least.get(plain_name(name), limit))
    for workload in workloads:
        names = [node.op for node in workload.graph.nodes if node.kind == "param"]
        workload.known_limits = {name: least[plain_name(name)] for name in names if plain_name(name) in least}


_T = TypeVar("_T")
Opened = Runner | WorkbenchError
"the model in one compiler, or the reason why it is not"


@dataclass(frozen=True)
class _Comparing:
    """The arguments of a call."""

    model: Model
    shapes: Shapes
    seed: int
    budget: float
    per_kernel: bool
    suggest: bool
    limits: JobOptions
    ended: Event
    "cancels the jobs under way"

    def __post_init__(self) -> None:
        if self.budget != 0:
            check_seconds(budget=self.budget)

    def opened(self, compilers: Sequence[Compiler], folder: Path) -> list[Opened]:
        """Load the model in each compiler, in Relay first, whose program Relax translates; two that have one Python run in two processes."""
        found: dict[int, Opened] = {}
        first, report = compilers[0], self.limits.get("progress", silent)

        def load(at: int) -> None:
            own, compiler = folder / str(at), compilers[at]
            own.mkdir()
            same = at and (compiler.dialect, compiler.python) == (first.dialect, first.python)
            try:
                python = None if compiler.python is None else Path(compiler.python)
                environment = Environment.of(compiler.dialect, python, "other builds" if same else "builds")
                workload = self.model.load(environment, own, report)
                found[at] = Runner(environment, workload, own, compiler.config, self.seed, self.limits)
            except WorkbenchError as error:
                found[at] = error

        order = sorted(range(len(compilers)), key=lambda at: compilers[at].dialect != "relay")
        if self.model.onnx is not None:
            self.together([partial(load, at) for at in order])
        else:
            for at in order:
                load(at)
        return [found[at] for at in range(len(compilers))]

    def together(self, works: Sequence[Callable[[], _T]]) -> list[_T]:
        """Return the results of works that run at the same time; an error or an interrupt of one cancels all."""
        with ThreadPoolExecutor(len(works)) as threads:
            under_way = [threads.submit(copy_context().run, work) for work in works]
            try:
                return [each.result() for each in under_way]
            except BaseException:
                self.ended.set()
                raise

    def pair(self, compilers: Sequence[Compiler], opened: Sequence[Opened], target: str) -> CompilerPair:
        sides = self.started(compilers, opened, target)
        known = {
            at: replace(each, title=side.title, target=side.target)
            for at, (each, side) in enumerate(zip(opened, sides, strict=True))
            if isinstance(each, Runner) and side.status == OK
        }
        outputs: dict[str, Outputs] = {}

        def build(at: int) -> None:
            sides[at] = build_side(sides[at], known[at])
            if sides[at].status == OK:
                outputs[sides[at].title] = _or_reason(lambda: read_outputs(known[at]))

        works: list[Callable[[], None]] = [partial(build, at) for at in known]
        if (onnx := self.model.onnx) is not None and known:
            works.append(lambda: outputs.update({ONNX: self.reference(next(iter(known.values())), onnx)}))
        self.together(works)
        # one after another: a time is not measured beside other work
        for at, runner in known.items() if self.per_kernel and self.budget else ():
            if sides[at].status == OK:
                sides[at] = time_kernels(sides[at], runner, self.budget / 2)
        runners = [runner for at, runner in known.items() if sides[at].status == OK]
        names = [runner.title for runner in runners] + [ONNX] if runners else []
        checks = check_outputs({name: outputs[name] for name in names if name in outputs})
        pair = CompilerPair(sides[0], sides[1], checks)
        if len(runners) == 2 and any(check.same is False for check in pair.checks):
            pair = replace(pair, part=part_of(runners))
        if all(side.optimized is not None for side in sides):
            pair = replace(pair, rows=differences(*pair.sides))
        return self.raced(pair, runners)

    def started(self, compilers: Sequence[Compiler], opened: Sequence[Opened], target: str) -> list[CompilerSide]:
        """Return the sides with their titles, the versions of TVM and the targets in full.

        Sides with one target have it as the older TVM knows this CPU: a newer LLVM knows its names too.
        """
        sides = [CompilerSide(compiler, str(compiler.target or target)) for compiler in compilers]
        given = [side.target for side in sides]
        for at, (side, each) in enumerate(zip(sides, opened, strict=True)):
            sides[at] = side.failed(each) if isinstance(each, WorkbenchError) else self.asked(side, each)
        named = titles(compilers, [side.tvm for side in sides], given)
        # an unknown version is the newest, and the oldest, which is last, decides
        versions = [tuple(map(int, re.findall(r"\d+", side.tvm)[:3])) or (1 << 30,) for side in sides]
        newest_first = sorted(zip(versions, given, sides, strict=True), key=lambda each: each[0], reverse=True)
        full = {text: side.target for _, text, side in newest_first}
        return [
            replace(side, compiler=replace(side.compiler, title=title), target=full[text])
            for side, title, text in zip(sides, named, given, strict=True)
        ]

    def asked(self, side: CompilerSide, runner: Runner) -> CompilerSide:
        """Return a side with what its process knows; one that refuses the configuration or does not answer has failed."""
        side = replace(side, graph=runner.workload.graph, notes=tuple(runner.workload.notes))
        try:
            found = replace(runner, target=side.target).ask("side")
        except WorkbenchError as error:
            return side.failed(error)
        side = replace(side, tvm=found["tvm"], target=found["target"])
        return side.failed(MeasureError(found["refused"])) if found["refused"] else side

    def reference(self, runner: Runner, onnx: Path) -> Outputs:
        """Return the outputs of ONNX's reference evaluator, run in the environment of a runner."""
        limits = {plain_name(name): limit for name, limit in runner.workload.limits.items()}
        return _or_reason(lambda: reference_outputs(runner, onnx, self.shapes, limits))

    def raced(self, pair: CompilerPair, runners: Sequence[Runner]) -> CompilerPair:
        """Return the pair with its race, or the reason for none."""
        if len(runners) < 2:
            missing = " and ".join(side.title for side in pair.sides if side.status != OK)
            return replace(pair, unraced=f"{missing} has no build that runs")
        if not self.budget:
            return replace(pair, unraced="budget=0")
        # whether outputs are those of ONNX's reference evaluator
        right = {check.first: check.same for check in pair.checks if check.second == ONNX}
        wrong = [{"same": right.get(runner.title)} for runner in runners]
        try:
            pair = replace(pair, race=race_in_turn((runners[0], runners[1]), wrong, self.budget))
        except WorkbenchError as error:
            pair = replace(pair, unraced=str(error))
        if not self.suggest:
            return pair
        found = tried(pair.right, pair.rows, runners[1], outputs_file(runners[1]), self.budget)
        races = tuple(each for each in found if isinstance(each, Race))
        return replace(pair, tried=races, untried=tuple(each for each in found if isinstance(each, str)))


def _or_reason(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except WorkbenchError as error:
        return str(error)


KERNELS = ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", FUSE_OPS)
"the passes with which Relax's default pipeline makes kernels"
NHWC = "ConvertLayout{desired_layouts={'relax.nn.conv2d': ['NHWC', 'OHWI']}}"
MOST_SEARCHED, TRIALS = 3, 8
"kernels whose schedules are searched, those with the most time lost; candidates of each"
SEARCH = 8.0
"seconds of the search for a second of the race's budget"
ROLE = "suggestions"
"of the child process that searches"
RELAX_ONLY = "no change was tried: the changes are of Relax's own pipeline, and {} has another"
Tried = Race | str
"a race, or a sentence with the reason for none"


def tried(side: CompilerSide, rows: Sequence[Difference], runner: Runner, outputs: Path, budget: float) -> list[Tried]:
    """Race each change that fits the right side of the rows against that side's build; a failed one has a sentence.

    The outputs of each must equal those in the file `outputs`.
    """
    if side.dialect != "relax" or side.config.pipeline:
        return [RELAX_ONLY.format(side.title)]
    with temporary_folder() as folder:
        found = [_raced(runner, change, outputs, budget) for change in changes(side)]
        if functions := slowest(side, rows):
            try:
                _search(runner, functions, folder, SEARCH * budget)
                change = replace(
                    side.config, name=f"with schedules for {counted(len(functions), 'kernel')}", schedules=folder
                )
                found.append(_raced(runner, change, outputs, budget))
            except WorkbenchError as error:
                found.append(f"the search of schedules ended: {error}")
        return found


def changes(side: CompilerSide) -> Iterator[Config]:
    """Yield the Configs of changed passes: constant weights, another layout of convolutions, no fusion."""
    config = side.config
    passes = [name for name in KERNELS if name not in config.disabled]
    roles = {tensor.role for tensor in side.memory.tensors} if side.memory is not None else ()
    if "parameter" in roles:
        yield replace(config, name=f"with {BIND}", pipeline=",".join([BIND, *passes]))
    if side.graph is not None and "nn.conv2d" in {canonical(node.op) for node in side.graph.ops}:
        # changes of the layout of weights are folded where these are constants
        yield replace(config, name="with convolutions in NHWC", pipeline=",".join([BIND, NHWC, *passes]))
    if side.fuses:
        yield replace(config, name=f"without {FUSE_OPS}", disabled=(*config.disabled, FUSE_OPS))


def slowest(side: CompilerSide, rows: Sequence[Difference]) -> list[str]:
    """Return the functions without a schedule in the rows with the most time lost."""
    lost = (name for row in rows if row.us_lost is None or row.us_lost > 0 for name in row.right)
    return list(dict.fromkeys(name for name in lost if name in side.fallbacks))[:MOST_SEARCHED]


def _raced(runner: Runner, change: Config, outputs: Path, budget: float) -> Tried:
    """Race a build against the one under another Config, in one process, as `wb.race` does."""
    title = f"{runner.title} {change.label}"
    configs = [runner.config.to_data(), change.to_data()]
    request = RaceRequest(runner.target, configs, budget, runner.seed, str(outputs))
    try:
        answer = runner.environment.worker().run("race", runner.workload, asdict(request), **runner.limits)
        return judged(runner.title, title, answer)
    except WorkbenchError as error:
        return f"{title} was not raced: {runner.title}: {error}"


def _search(runner: Runner, functions: Sequence[str], folder: str, seconds: float) -> None:
    """Search schedules of kernels into a database, in a process of its own; TRIALS for each, or until the time is over."""
    cancelled = runner.limits.get("cancelled", never)
    beside = runner.beside(ROLE)
    effort = {"trials": TRIALS, "upto": TRIALS, "seed": runner.seed, "cost_model": "random", "folder": folder}
    try:
        beside.run("tasks", folder=folder)
        for function in functions:
            ends = time.monotonic() + seconds / len(functions)
            while time.monotonic() < ends and not cancelled():
                found = beside.run("step", **effort, cores=sorted(allowed()) or [0], function=function)
                if found["tried"] is None:
                    break
    finally:
        beside.environment.worker().stop()
