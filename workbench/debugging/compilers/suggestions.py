"""Changes of a Relax build that may make it faster, each tried: built, checked, and raced against the build without it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from workbench.analysis.cost import canonical
from workbench.debugging.compilers.result import Difference
from workbench.debugging.compilers.runner import Runner
from workbench.debugging.compilers.side import CompilerSide
from workbench.debugging.remarks.decisions import FUSE_OPS
from workbench.errors import WorkbenchError
from workbench.measurement.build_and_time import RaceRequest
from workbench.measurement.race import Race, judged
from workbench.pipeline.config import Config
from workbench.pipeline.spec import BIND
from workbench.temporary import temporary_folder
from workbench.wording import counted
from workbench.worker.host import allowed
from workbench.worker.parent import never

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

    The outputs of each must equal those in the file `outputs`. The search of schedules takes at most SEARCH times the
    budget of a race.
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
        return judged(runner.title, title, runner.run("race", runner.workload, asdict(request)))
    except WorkbenchError as error:
        return f"{title} was not raced: {error}"


def _search(runner: Runner, functions: Sequence[str], folder: str, seconds: float) -> None:
    """Search schedules of kernels into a database, in a process of its own; TRIALS for each, or until the time is over."""
    cancelled = runner.limits.get("cancelled", never)
    beside = runner.beside(ROLE)
    asked = {"target": runner.target, "config": runner.config.to_data(), "folder": folder}
    try:
        beside.run("tasks", runner.workload, asked)
        effort = {
            "trials": TRIALS,
            "upto": TRIALS,
            "seed": runner.seed,
            "cores": sorted(allowed()) or [0],
            "cost_model": "random",
        }
        for function in functions:
            ends = time.monotonic() + seconds / len(functions)
            while time.monotonic() < ends and not cancelled():
                found = beside.run("step", runner.workload, {**asked, **effort, "function": function})
                if found["tried"] is None:
                    break
    finally:
        beside.environment.worker().stop()
