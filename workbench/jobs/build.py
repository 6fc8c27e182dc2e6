"""Jobs that compile a workload, or run the passes of a build and count.

The newest builds are kept: counting, timing and racing one configuration compile it once.
"""

from __future__ import annotations

import json
import time
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from workbench.analysis import cost
from workbench.analysis.units import linked
from workbench.dialects.base import Workload
from workbench.dialects.compiler.built import Built, Compiler, cuda_compute, llvm_host_cpu
from workbench.dialects.compiler.cuda_code import compiled_for_elsewhere, for_elsewhere
from workbench.dialects.compiler.results import Planned
from workbench.dialects.registry import dialect
from workbench.dialects.scheduling import RECORDS
from workbench.dialects.trust import UNTRUSTED, allowed
from workbench.errors import TVMFailed, WorkbenchError, reason_of
from workbench.graph.model import Graph
from workbench.measurement.memory.planning import compose
from workbench.measurement.remote.executor import COUNTED, LIBRARY
from workbench.pipeline.config import Config
from workbench.pipeline.run import Runner
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.target_text import target_fields, with_option
from workbench.worker.child import Progress
from workbench.worker.host import mcpu
from workbench.worker.limits import ran_out

KEPT = 2
"builds kept: the two of a race; each may hold a copy of the parameters"
_builds: OrderedDict[tuple[object, ...], Kept] = OrderedDict()
_proven: set[str] = set()
"keys of `Planned.unproven` that a build of this process compiled"
_runners: weakref.WeakKeyDictionary[Workload, Runner] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Kept:
    """A build."""

    target: str
    "the target that was built for"
    built: Built
    seconds: float
    "the time to compile"

    def found(self, workload: Workload) -> dict[str, object]:
        """Return the target, the time, and one row for each call with their graph."""
        return {"target": self.target, "build_seconds": self.seconds, **counted(self.built, workload)}


def build(workload: Workload, *, target: str, config: Mapping[str, object], progress: Progress) -> dict[str, object]:
    """Compile and count, and keep the build for the run that follows."""
    found = compiled(workload, target, config, progress).found(workload)
    # only `kernels` sends the graph and other large values
    return {name: found[name] for name in ("target", "build_seconds", "calls", "peak_bytes")}


def kernels(workload: Workload, *, target: str, config: Mapping[str, object], progress: Progress) -> dict[str, object]:
    """Compile and count: return one row for each call, in execution order, and their graph."""
    return compiled(workload, target, config, progress).found(workload)


def code(
    workload: Workload, *, target: str, config: Mapping[str, object], form: str, progress: Progress
) -> dict[str, str]:
    """Return the generated code of the whole library in a form."""
    kept = compiled(workload, target, config, progress)
    if form != "ptx":
        return {"code": kept.built.code(form)}
    from workbench.dialects.compiler.cuda_code import architecture, ptx

    progress("Compiling CUDA C")
    return {"code": ptx(kept.built.code("cuda"), architecture(kept.target)).decode()}


def resolve_target(_workload: Workload | None = None, *, target: str, progress: Progress) -> str:
    """Return the full target of a text, on the machine that will run the code."""
    progress("Looking at the machine")
    return resolved_target(target)


def export(
    workload: Workload, *, target: str, config: Mapping[str, object], folder: str, progress: Progress
) -> dict[str, object]:
    """Compile, and write the library and its counts into a folder."""
    with compiled_for_elsewhere():
        kept = compiled(workload, target, config, progress)
    kept.built.export(Path(folder) / LIBRARY)
    (Path(folder) / COUNTED).write_text(json.dumps(kept.found(workload)))
    return {}


def count(
    workload: Workload,
    *,
    target: str,
    config: Mapping[str, object],
    progress: Progress,
) -> dict[str, object]:
    """Count the calls of a build, from the passes alone."""
    target = resolved_target(target)
    return {"target": target, **planned(workload, target, config, progress).counts()}


def look(
    workload: Workload, *, target: str, config: Mapping[str, object], final: bool, progress: Progress
) -> dict[str, object]:
    """Count the calls of a configuration, and hash its final module; its pipeline is run first."""
    progress("Counting")
    target = resolved_target(target)
    chosen = Config.of(config)
    program, context = program_of(workload, chosen, progress), chosen.context().to_data()
    counts = planned(program, target, context, progress).counts()
    hashed = compiler_of(workload).fingerprint(program, target, context) if final else ""
    return {"counts": {**counts, "target": target}, "fingerprint": hashed}


def memory(workload: Workload, *, target: str, config: Mapping[str, object], progress: Progress) -> dict[str, object]:
    """Plan the memory of a configuration's build, if that is not kept from the passes alone; its pipeline is run first."""
    progress("Planning")
    target, chosen = resolved_target(target), Config.of(config)
    if kept := _builds.get(_key(workload, target, chosen)):
        found = kept.built.plan()
        return compose(found, drawn(found.module, workload), target, chosen).to_data()
    with allowed(workload.trusted) as refused:
        program = program_of(workload, chosen, progress)
    found = planned(program, target, chosen.context().to_data(), progress)
    if refused() and UNTRUSTED not in found.notes:
        found = found.failed(UNTRUSTED, ours=True)
    return compose(found, drawn(found.module, workload), target, chosen).to_data()


def planned(workload: Workload, target: str, config: Mapping[str, object], progress: Progress) -> Planned:
    """Return the plan of a build from its passes alone; what only a build can prove is built, once in this process."""
    with allowed(workload.trusted) as refused:
        found = compiler_of(workload).plan(workload, target, config)
    if refused():
        return found.failed(UNTRUSTED, ours=True)
    if found.program.failing or found.unproven <= _proven:
        return found
    try:
        compiled(workload, target, config, progress)
    except MemoryError:
        raise
    except Exception as error:
        if ran_out(str(error)):
            raise
        ours = isinstance(error, WorkbenchError) and not isinstance(error, TVMFailed)
        return found.failed(reason_of(error), ours)
    _proven.update(found.unproven)
    return found


def write_final(
    workload: Workload, *, target: str, config: Mapping[str, object], folder: str, progress: Progress
) -> dict[str, object]:
    """Write the module in which the compiler has decided on its kernels."""
    progress("Running passes")
    module = compiler_of(workload).optimized(workload, resolved_target(target), config)
    here = dialect(workload.dialect)
    module = here.frontend.infer_types(module)
    names = {node.op for node in here.frontend.graph(module, workload.name).nodes if node.kind == "param"}
    left = {name: value for name, value in workload.params.items() if name in names}
    here.frontend.dump(Workload(module, left, workload.name, workload.dialect, trusted=False), Path(folder))
    return {}


def compiler_of(workload: Workload) -> Compiler:
    """Return the compiler of a workload's dialect."""
    return dialect(workload.dialect).compiler


def built_here(workload: Workload, config: Mapping[str, object]) -> Built:
    """Compile the workload for this CPU without optimisation, for the values that it should compute."""
    compiler = compiler_of(workload)
    program, target = compiler.unoptimized(workload, resolved_target("llvm"))
    return compiler.compiled(program, target, config)


def resolved_target(text: str) -> str:
    """Return the target in full: plain `llvm` gets this host's `-mcpu`, plain `cuda` this GPU's `-arch`."""
    fields = target_fields(text)
    if fields["kind"] == "llvm" and not {"mcpu", "mtriple"} & set(fields):
        cpu = mcpu(llvm_host_cpu())
        return with_option(text, "mcpu", cpu) if cpu else text
    if fields["kind"] == "cuda" and "arch" not in fields:
        compute = cuda_compute().replace(".", "")
        return with_option(text, "arch", f"sm_{compute}") if compute else text
    return text


def compiled(
    workload: Workload,
    target: str,
    config: Mapping[str, object],
    progress: Progress,
    instruments: Sequence[object] = (),
) -> Kept:
    """Return the workload compiled under a Config's data, whose pipeline is run first; the newest builds are kept.

    A build that `instruments` shall see is made anew.
    """
    chosen, target = Config.of(config), resolved_target(target)
    key = _key(workload, target, chosen)
    if key not in _builds or instruments:
        program = program_of(workload, chosen, progress)
        progress("Compiling")
        # drop old builds first: there may be no memory for three builds of a large model
        while len(_builds) >= KEPT:
            _builds.popitem(last=False)
        started = time.perf_counter()
        built = compiler_of(workload).compiled(program, target, chosen.context().to_data(), instruments)
        _builds[key] = Kept(target, built, time.perf_counter() - started)
    _builds.move_to_end(key)
    return _builds[key]


def _key(workload: Workload, target: str, config: Config) -> tuple[object, ...]:
    # the same configuration builds differently when its database of schedules has grown
    records = Path(config.schedules, RECORDS)
    tuned = records.stat().st_size if config.schedules and records.is_file() else 0
    return workload, target, json.dumps(config.to_data(), sort_keys=True), for_elsewhere(), tuned


def program_of(workload: Workload, config: Config, progress: Progress) -> Workload:
    """Return the program to compile: the workload itself, or the result of the configuration's pipeline."""
    return pipeline_run(workload, config, progress)[0]


def pipeline_run(workload: Workload, config: Config, progress: Progress) -> tuple[Workload, Sequence[Step]]:
    """Return the program to compile, and the steps of the configuration's pipeline that made it."""
    if not config.pipeline:
        return workload, ()
    runner, pipeline = runner_of(workload), Pipeline.parse(config.pipeline)

    def report(done: int) -> None:
        # a pass may end this process: the notebook then knows which one
        if done < len(pipeline):
            progress(f"Running {pipeline[done].name}", done / len(pipeline))

    report(0)
    trace = runner.run(pipeline, config.opt_level, progress=report)
    if trace.failed is not None:
        raise TVMFailed(f"{trace.failed.name} failed: {trace.failed.error}")
    return runner.workload_of(trace.end), trace.steps


def runner_of(workload: Workload) -> Runner:
    """Return the runner of the workload in this process, which remembers the results of passes."""
    if workload not in _runners:
        _runners[workload] = Runner(workload)
    return _runners[workload]


def drawn(module: object, workload: Workload) -> Graph:
    """Return the graph of the module in which the compiler has decided on its kernels."""
    frontend = dialect(workload.dialect).frontend
    return frontend.graph(frontend.infer_types(module), workload.name)


class Counted(TypedDict):
    """The calls, counts and graph of a build, as plain JSON values."""

    calls: list[dict[str, object]]
    counts: dict[str, object]
    peak_bytes: int | None
    handovers: Sequence[Sequence[object]]
    graph: dict[str, object]
    forms: Sequence[str]
    tvm: str


def counted(built: Built, workload: Workload) -> Counted:
    """Return the counts of a build, with the nodes of the graph that each call computes."""
    program, rows = built.program(), built.calls()
    graph = drawn(built.module(), workload)
    for row, unit in zip(rows, linked(graph, rows), strict=True):
        nodes = () if unit is None else unit.nodes
        # a library from another compiler may use another algorithm
        known = unit is not None and row["kind"] != "external"
        row |= {
            "flops": (cost.flops(graph, nodes) if row["kind"] == "kernel" else 0) if known else None,
            "group": None if unit is None else unit.group,
            "nodes": list(nodes),
            "rule": built.rules.get(str(row["function"]), ""),
            "op": row["function"] if unit is None or row["kind"] == "external" else unit.op(graph),
        }
    return {
        "calls": rows,
        "counts": program.counts(),
        "peak_bytes": built.peak_bytes(),
        "handovers": program.handovers(),
        "graph": graph.to_data(),
        "forms": built.forms(),
        "tvm": built.tvm,
    }
