"""`wb.lint`: rules that each find one kind of avoidable cost in a trace and name the passes that remove it, and the trial of these passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.analysis.chains import constant_chains
from workbench.analysis.outcome import Remains
from workbench.analysis.tensors import size_of
from workbench.debugging.lints.result import Lint, Lints
from workbench.debugging.lints.schedules import Build, fallback_kernels, unused_records
from workbench.debugging.remarks.decisions import FUSE_OPS, after_passes, computing, pass_of, report_of
from workbench.debugging.remarks.result import trace_of
from workbench.dialects.base import Workload, workload_of
from workbench.dialects.registry import dialect_of
from workbench.errors import Cancelled, MeasureError, WorkerLost
from workbench.graph.model import Graph, Node
from workbench.measurement.memory.plan import MemoryPlan
from workbench.measurement.memory.planning import memory_config
from workbench.pipeline.config import Config, check_config
from workbench.pipeline.run import trace
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike, target_text
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never
from workbench.worker.progress import showing_progress

UNDONE, WITHOUT_KIND, UNFOLDED = "layouts-undo-each-other", "operator-without-kind", "weight-not-folded"
_LAYOUTS = ("transpose", "layout_transform", "relax.permute_dims", "relax.layout_transform")
BIND_AND_FOLD = "BindParams,FoldConstant"
"they run late: other passes, such as SimplifyInference, make operators on parameters too"


@dataclass(frozen=True)
class Finding:
    """An avoidable cost at a place of a graph."""

    name: str
    message: str
    passes: str
    "the passes that remove it, as a Pipeline's text"
    is_late: bool
    "whether they run right before FuseOps; otherwise first"
    graph: Graph
    nodes: tuple[int, ...]
    bytes: int | None = None
    "bytes of the values that need not be computed in each run; None where they are not known"


def undone_layouts(made: Trace) -> Iterator[Finding]:
    """Yield the chains of layout changes that lead back to the first layout."""
    graph = made.start.graph
    for chain in constant_chains(graph):
        layouts = all(graph.nodes[node].op in _LAYOUTS for node in chain.nodes)
        if not (layouts and chain.folds and chain.safe and chain.left == 0):
            continue
        end = after_passes(made, [step.name for step in Pipeline.parse(chain.passes)])
        if end is not None and Remains(graph, end).left_of(chain.nodes) == 0:
            # a step of the trace removes them
            continue
        names = " -> ".join(graph.nodes[node].op for node in chain.nodes)
        sizes = [size_of(graph.nodes[node].type) for node in chain.nodes]
        saved = sum(size for size in sizes if size is not None) if None not in sizes else None
        said = f"{names} lead back to the first layout; {chain.passes} removes them"
        yield Finding(UNDONE, said, chain.passes, False, graph, chain.nodes, saved)


def operators_without_kind(made: Trace) -> Iterator[Finding]:
    """Yield each operator for which FuseOps knows no pattern kind: Relay's pass fails on it, Relax's leaves it alone."""
    step = _fuse_ops(made)
    if step is None:
        return
    graph, unknown = step.before, dict[str, list[int]]()
    for node in report_of(made, step).without_kind:
        unknown.setdefault(graph.nodes[node].op, []).append(node)
    for op, nodes in unknown.items():
        passes = "qnn.Legalize" if op.startswith("qnn.") else _PREPARING[made.dialect]
        said = f"{op} has no pattern kind when FuseOps runs, so it is not fused; {passes} before it gives one"
        yield Finding(WITHOUT_KIND, said, passes, True, graph, tuple(nodes))


_PREPARING = {"relay": "SimplifyInference", "relax": "LegalizeOps,AnnotateTIROpPattern"}
"dialect -> the passes after which operators have pattern kinds"


def unfolded_weights(made: Trace, weights: Collection[str]) -> Iterator[Finding]:
    """Yield the operators that compute the same value in each run, because their parameters are not constants."""
    step = _fuse_ops(made)
    graph = made.end.graph if step is None else step.before
    # constants, these parameters, and the nodes that are computed from them alone
    fixed: set[int] = set()
    for node, inputs in zip(graph.nodes, graph.inputs, strict=True):
        given = node.kind in ("constant", "shape") or (node.kind == "param" and node.op in weights)
        if given or (inputs and fixed.issuperset(inputs)):
            fixed.add(node.id)
    operators = {node.id for node in graph.ops if node.id in fixed}
    for node in graph.ops:
        users = [user for user, _ in graph.consumers[node.id]]
        if node.id not in fixed or all(user in fixed for user in users):
            continue
        inside = computing(graph, node.id, operators)
        names = " -> ".join(graph.nodes[each].op for each in inside)
        said = f"{names} (node {node.id}) runs each time on parameters only; {BIND_AND_FOLD} computes it once"
        yield Finding(UNFOLDED, said, BIND_AND_FOLD, True, graph, inside, size_of(node.type))


def _fuse_ops(made: Trace) -> Step | None:
    """Return the first FuseOps that is not switched off, also one that failed."""
    return next((s for s in made.steps if pass_of(s) == FUSE_OPS and s.status in ("changed", "same", "error")), None)


def findings(made: Trace, weights: Collection[str]) -> list[Finding]:
    """Return all findings in a trace; `weights` are the names of the parameters whose values are known."""
    return [*undone_layouts(made), *operators_without_kind(made), *unfolded_weights(made, weights)]


def fixed_pipeline(pipeline: str, found: Finding) -> str:
    """Return a pipeline with the passes that remove a finding.

    >>> from workbench.graph.model import Graph
    >>> fixed_pipeline("SimplifyInference,FuseOps", Finding("", "", "A", True, Graph(), ()))
    'SimplifyInference,A,FuseOps'
    """
    steps = list(Pipeline.parse(pipeline))
    names = [step.name for step in steps]
    place = names.index(FUSE_OPS) if found.is_late and FUSE_OPS in names else 0
    return str(Pipeline([*steps[:place], found.passes, *steps[place:]]))


COPIED = "reshape-copies"
_RESHAPES = ("reshape", "expand_dims", "squeeze", "flatten")
_PASSED_ON = {"relax": "ConvertToDataflow,RemoveRedundantReshape"}
"""dialect -> passes after which a reshape is not a kernel. Relax makes calls without code of reshapes in dataflow blocks, but not of a block's
outputs and of two that are fused. Relay's graph executor runs no code for any reshape."""


def may_copy(made: Trace) -> bool:
    """Return whether a build may have a kernel that only reshapes."""
    # a fused kernel has the names of its operators
    names = " ".join(node.op for node in made.end.graph.ops)
    return made.dialect in _PASSED_ON and any(name in names for name in _RESHAPES)


def copying_reshapes(plan: MemoryPlan, dialect: str) -> Iterator[Finding]:
    """Yield the kernels of a build that only reshape, in the order of the run."""
    for nodes in _copies(plan):
        names = " -> ".join(plan.graph.nodes[node].op for node in nodes)
        said = f"{names} (node {nodes[-1]}) is a kernel that copies its input; {_PASSED_ON[dialect]} lets TVM pass the memory on"
        size = size_of(plan.graph.nodes[nodes[-1]].type)
        yield Finding(COPIED, said, _PASSED_ON[dialect], False, plan.graph, nodes, size)


def fixed_reshapes(found: list[Finding], after: MemoryPlan) -> Iterator[Finding]:
    """Yield the findings that a build with the fix does not have: the result of a program keeps its copy."""
    left = Counter(_key(after.graph, nodes) for nodes in _copies(after))
    for each in reversed(found):
        key = _key(each.graph, each.nodes)
        if left[key]:
            left[key] -= 1
        else:
            yield each


def _copies(plan: MemoryPlan) -> list[tuple[int, ...]]:
    """Return the nodes of each kernel that only reshapes; a step without code has a workspace of 0 bytes."""
    kernels = (step.nodes for step in plan.steps if step.workspace_bytes != 0)
    return [nodes for nodes in kernels if nodes and all(_kind(plan.graph.nodes[node]) in _RESHAPES for node in nodes)]


def _key(graph: Graph, nodes: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"{_kind(graph.nodes[node])} {graph.nodes[node].type}" for node in nodes)


def _kind(node: Node) -> str:
    """Return the operator's name without the number that LegalizeOps gives the second function of a name."""
    return node.op.rpartition(".")[2].rstrip("0123456789")


def lint(
    workload: Workload,
    target: TargetLike = "llvm",
    config: Config | Pipeline | Mapping[str, Any] | str | int | None = None,
    *,
    log: str | Path | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Lints:
    """Return avoidable costs of a program under some passes, each with the call that avoids it.

    Six rules: layout changes that undo each other, operators without a pattern kind when FuseOps runs, operators on parameters only
    that run each time because the parameters are not bound, reshapes that copy, kernels that TVM builds with a fallback, and tuned schedules that the build does not
    look up. The fix of a finding is run, and the finding is left out if it is still there after it; a fix that searches for schedules is not run.

    Parameters
    ----------
    target, config
        Of the build, as `wb.memory` takes them.
    log
        A file of AutoTVM's records, of Relay: the build is the one under `tvm.autotvm.apply_history_best(log)`.

    Returns
    -------
    Lints
        A sequence of lints with `name`, `message`, `nodes`, `operators`, `bytes` and `fix`; `.measure(rows)` races fixes.

    Raises
    ------
    MeasureError, WorkerLost
        The passes could not be started, or ended their process.
    WorkbenchError
        The log cannot be read, or the program is not Relay.

    Examples
    --------
    >>> found = wb.lint(wb.samples.load("mlp", layers=1))
    >>> [(each.name, each.operators, each.bytes) for each in found]
    [('weight-not-folded', ('transpose',), 4096), ('fallback-kernel', ('matmul', 'add', 'relu'), None)]
    >>> found[0].fix
    "wb.trace(w, 'DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern,BindParams,FoldConstant,FuseOps{fuse_opt_level=2}')"
    """
    workload = workload_of(workload, "lint")
    how = Config.of({} if config is None else config)
    check_config(workload, how)
    plain = how.pipeline or dialect_of(workload).passes.fusing()
    with showing_progress(progress, f"Linting {workload.name}") as report:
        limits: JobOptions = {"timeout": timeout, "progress": report, "cancelled": cancelled}
        build = Build(workload, how, target_text(target), limits)
        made = trace_of(workload, target, how, timeout, report, cancelled)
        found = findings(made, workload.params)
        kept = [*_fixable(workload, how, plain, found, cancelled)]
        if may_copy(made):
            kept += _copying(build, plain)
        lints = []
        for each in kept:
            names = tuple(each.graph.nodes[node].op for node in each.nodes)
            configs = Config(pipeline=plain), Config(pipeline=fixed_pipeline(plain, each))
            lints.append(Lint(each.name, each.message, each.nodes, names, each.bytes, *configs))
        lints += fallback_kernels(build, log)
        lints += unused_records(build)
    return Lints(tuple(sorted(lints, key=lambda each: -(each.bytes or 0))), workload, target)


def _fixable(
    workload: Workload, how: Config, plain: str, found: list[Finding], cancelled: Callable[[], bool]
) -> Iterator[Finding]:
    """Yield the findings of each rule whose fix leaves fewer of them."""
    before = Counter(each.name for each in found)
    left: dict[str, Counter[str]] = {}
    for each in found:
        pipeline = fixed_pipeline(plain, each)
        if pipeline not in left:
            if cancelled():
                raise Cancelled("the lints were cancelled")
            after = trace(workload, pipeline, how.opt_level)
            left[pipeline] = Counter(one.name for one in findings(after, workload.params))
        if left[pipeline][each.name] < before[each.name]:
            yield each


def _copying(build: Build, plain: str) -> Iterator[Finding]:
    """Yield the reshapes that are kernels of the build, and of which the build with the fix has none."""
    before = _planned(build)
    found = [] if before is None else list(copying_reshapes(before, build.workload.dialect))
    if found:
        fixed = replace(build.config, pipeline=fixed_pipeline(plain, found[0]))
        after = _planned(replace(build, config=fixed))
        yield from () if after is None else fixed_reshapes(found, after)


def _planned(build: Build) -> MemoryPlan | None:
    """Return the plan of a build; None for passes that fail, which have no kernels."""
    try:
        return memory_config(build.workload, build.config, build.target, **build.limits)
    except WorkerLost:
        raise
    except MeasureError:
        return None
