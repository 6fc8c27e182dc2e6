"""Remarks of the passes that merge sibling branches: merged ones, near misses and hazards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.outcome import MERGED
from workbench.analysis.tensors import size_of
from workbench.debugging.remarks.places import Places, places
from workbench.debugging.remarks.remark import ANALYSIS, MISSED, PASSED, Remark
from workbench.debugging.remarks.steps import pass_of, ran
from workbench.graph.model import After, Graph
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.wording import counted

DEFAULT_LEAST = 3
"TVM's default of `min_num_branches`"
NOT_RUN, LEFT = "not-run", "left"
"reason codes: no step of the trace runs the pass; TVM's pass leaves the branches although the rules allow the merge"


def merge_remarks(trace: Trace, step: Step) -> Iterator[Remark]:
    """Yield the remarks of a step whose pass merges branches; none for another step."""
    name = pass_of(step)
    if name not in _MERGING:
        return
    options = Pipeline.parse(step.name)[0].options
    after = After(step.before, step.after)
    graph = replace(step.before, ask_after=lambda _: after)
    found = [
        g for g in _groups(graph, int(options.get("min_num_branches", DEFAULT_LEAST))) if g.passes.startswith(name)
    ]
    if found:
        here = places(trace, step.state_before)
        yield from (_remark(here, group, is_run=True) for group in found)


def unmerged_remarks(trace: Trace) -> Iterator[Remark]:
    """Yield the remarks of branches in the trace's first graph whose pass the trace does not run."""
    passes = {pass_of(step) for step in trace.steps if ran(step)}
    found = [g for g in _groups(trace.start.graph, 2) if g.passes.partition("{")[0] not in passes]
    if found:
        here = places(trace, trace.start)
        yield from (_remark(here, group, is_run=False) for group in found)


_MERGING = (
    "EliminateCommonSubexpr",
    "MergeIdenticalKernels",
    "CombineParallelOps",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "CombineParallelMatmul",
)


def _groups(graph: Graph, least: int) -> list[BranchGroup]:
    return parallel_branches(graph, least) if graph.dialect else []


def _remark(here: Places, group: BranchGroup, *, is_run: bool) -> Remark:
    kind, name, message, change = _verdict(group, is_run=is_run)
    nodes = [node for branch in group.branches for node in branch]
    pass_name = group.passes.partition("{")[0]
    found = Remark(kind, pass_name, name, message, bytes=_bytes(here.graph, group), change=change)
    return here.located(found, nodes, group.branches[0])


def _bytes(graph: Graph, group: BranchGroup) -> int | None:
    """Return the bytes of the values that equal branches compute again; other merges save none of known size."""
    size = size_of(graph.nodes[group.branches[0][-1]].type)
    return None if group.kind != "identical" or size is None else size * (len(group.branches) - 1)


def _verdict(group: BranchGroup, *, is_run: bool) -> tuple[str, str, str, str]:
    """Return the kind of remark, its reason code, its message, and the change that would merge the branches."""
    nodes = group.graph.nodes
    subject = f"{counted(len(group.branches), 'branch')} of {' -> '.join(nodes[n].op for n in group.branches[0])}"
    if group.kind == "hazard":
        return ANALYSIS, group.hazards[0].code, _with_reasons(f"{subject} are a hazard for {group.passes}", group), ""
    if group.kind == "near":
        code = group.reasons[0].code if group.reasons else group.kind
        return MISSED, code, _with_reasons(f"{subject} are not merged by {group.passes}", group), ""
    if not is_run:
        said = f"{subject} are not merged: no step runs {group.passes}, whose conditions they meet."
        return MISSED, NOT_RUN, said, f"{group.passes} ran"
    if group.outcome.status == MERGED:
        return PASSED, group.kind, f"{subject} are merged.", ""
    return MISSED, LEFT, f"{subject} are {group.outcome.sentence}.", ""


def _with_reasons(said: str, group: BranchGroup) -> str:
    why = "; ".join(reason.sentence for reason in (*group.hazards, *group.reasons))
    return f"{said}: {why}." if why else f"{said}."
