"""Job that compares each kernel of a build with the same values of an unoptimised build, in one pass over both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path as FilePath

from workbench.debugging.kernel_errors.counterparts import Calls, Field, Path, Tensors, path_to_reference
from workbench.debugging.kernel_errors.forms import Scale, scales
from workbench.debugging.kernel_errors.own_errors import RightValues, Walk
from workbench.dialects.base import Workload
from workbench.dialects.compiler.built import Built
from workbench.dialects.registry import dialect
from workbench.dialects.trust import allowed
from workbench.errors import MeasureError
from workbench.graph.model import Graph
from workbench.jobs.build import Counted, compiler_of, counted, drawn, program_of, resolved_target, runner_of
from workbench.jobs.passes import is_shown
from workbench.pipeline.config import Config
from workbench.pipeline.outputs import AS_IT_STANDS
from workbench.pipeline.spec import Pipeline
from workbench.worker.child import Progress


@dataclass(frozen=True)
class FollowedBuild:
    """A build, with the graphs between its passes."""

    built: Built
    seconds: float
    "the time to compile"
    target: str
    found: Counted
    graphs: Sequence[Graph]
    "from the program's to that of the module that was compiled"

    @property
    def calls(self) -> Calls:
        """The calls, and the graph in which they are kernels."""
        return Calls(Tensors(self.graphs[-1]), self.found["calls"])


def kernel_errors(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, object],
    reference: str,
    seed: int,
    trusted: bool,
    progress: Progress,
) -> dict[str, object]:
    """Return the errors of each call of a build, and the calls, the graph and the target of the build.

    `reference`: the folder of the workload whose values are right. `trusted`: whether its kernels may run, and those of the workload.
    """
    with allowed(trusted):
        right = _reference(workload, reference)
        build = _build(workload, target, Config.of(config), progress)
        progress("Building the reference")
        plain = _followed(*compiler_of(right).unoptimized(right, resolved_target("llvm")), AS_IT_STANDS)
        progress("Matching values")
        path = path_to_reference(build.graphs, plain.graphs[-1])
        walk = Walk(RightValues(build.calls, plain.calls, path, _scales(right, plain)), build.found["handovers"])
        for row in walk.run(build.built.load(seed).calls(), plain.built.load(seed).calls()):
            progress("Comparing kernels", (row + 1) / len(build.found["calls"]))
    rows = [{**asdict(each), "includes": sorted(each.includes)} for each in walk.found.values()]
    of_build = {**build.found, "target": build.target, "build_seconds": build.seconds}
    return {**of_build, "errors": rows, "kept": walk.most_kept, "values": len(plain.calls.made)}


def _build(workload: Workload, target: str, config: Config, progress: Progress) -> FollowedBuild:
    program = program_of(workload, config, progress)
    before: list[Graph] = []
    if config.pipeline:
        trace = runner_of(workload).run(Pipeline.parse(config.pipeline), config.opt_level)
        before = [workload.graph, *(transition.after.graph for transition in trace.transitions)]
    progress("Compiling")
    made = _followed(program, resolved_target(target), config.context())
    return replace(made, graphs=[*before, *made.graphs])


def _followed(program: Workload, target: str, config: Config) -> FollowedBuild:
    from workbench.dialects.compiler.capture import UntilLowered

    seen = UntilLowered(is_shown)
    started = time.perf_counter()
    built = compiler_of(program).compiled(program, target, config.to_data(), instruments=[seen])
    seconds = time.perf_counter() - started
    same, modules = dialect(program.dialect).frontend.same, [program.module]
    for module in seen.modules:
        if not same(modules[-1], module):
            modules.append(module)
    graphs = [program.graph, *(drawn(module, program) for module in (*modules[1:], built.module()))]
    return FollowedBuild(built, seconds, target, counted(built, program), graphs)


def _scales(workload: Workload, plain: FollowedBuild) -> dict[Field, Scale]:
    """Return the scales of the quantised tensors of the reference, which has no quantised operators any more."""
    known = scales(workload.graph)
    if not known:
        return {}
    try:
        probed, ids = compiler_of(workload).probed(workload)
    except MeasureError:
        # no operator of its `main` has a value of its own: the errors stay those of the integers
        return {}
    program, _ = compiler_of(workload).unoptimized(probed, plain.target)
    path = Path([program.graph, plain.graphs[-1]])
    results = zip(ids, Tensors(program.graph).results, strict=True)
    return {there: known[id] for id, field in results if id in known for there in path.of(field)[:1]}


def _reference(workload: Workload, folder: str) -> Workload:
    """Return the workload whose values are right, to be run on the same inputs."""
    given = dialect(workload.dialect).frontend.restore(FilePath(folder))
    right = replace(given, shapes=workload.shapes, inputs=workload.inputs, known_limits=workload.limits)
    ours, theirs = _inputs(workload), _inputs(right)
    if ours != theirs:
        raise MeasureError(
            f"the reference takes {_in_words(theirs)} and the workload {_in_words(ours)}; give a reference with the same inputs"
        )
    return right


def _inputs(workload: Workload) -> dict[str, str]:
    """Return the inputs of `main` and their types."""
    nodes = [node for node in workload.graph.nodes if node.kind == "param" and node.op not in workload.params]
    return {node.op: node.type for node in nodes}


def _in_words(inputs: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {type}" for name, type in inputs.items()) or "no inputs"
