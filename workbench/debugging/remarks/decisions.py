"""The remarks of each kind of pass: fusions, merged branches, folded constants and chains; with their places.

Passes drop spans and layers, so both are taken from the trace's first graph where a node comes from there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.branches.report import is_lowered
from workbench.analysis.chains import ConstantChain, constant_chains
from workbench.analysis.fusion import FusionReport, explain_fusion
from workbench.analysis.fusion.reasons import Decision
from workbench.analysis.outcome import MERGED, Remains
from workbench.analysis.tensors import size_of
from workbench.debugging.remarks.remark import ANALYSIS, MISSED, PASSED, Remark, Source
from workbench.graph.diff import diff
from workbench.graph.layers import layers, unnumbered
from workbench.graph.model import After, Graph, Node
from workbench.graph.nodes import reached
from workbench.graph.scopes import Scopes, function_of, path_of
from workbench.pipeline.spec import Pipeline
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.target_text import TargetLike
from workbench.wording import counted

FUSE_OPS, FOLD = "FuseOps", "FoldConstant"


def pass_of(step: Step) -> str:
    """Return the name of a step's pass, without its options."""
    return step.name.partition("{")[0]


def ran(step: Step) -> bool:
    """Return whether TVM ran the pass to its end."""
    return step.status in ("changed", "same")


_SPAN = re.compile(r"(.+):([1-9]\d{0,8}):(\d{1,9})", re.DOTALL)
"a file with a line; importers write other names, with the line 0"


@dataclass(frozen=True)
class Places:
    """The places of the nodes of one graph."""

    graph: Graph
    scopes: Scopes
    functions: Sequence[int | None]
    origins: Mapping[int, Node]
    "the node of the trace's first graph that a node comes from, for those that have one"

    def located(self, remark: Remark, nodes: Sequence[int], operators: Sequence[int] = ()) -> Remark:
        """Return a remark with its nodes, at the place of the first one; those of `operators`, or all, identify it."""
        first = nodes[0]
        known = [self.graph.nodes[first], *([self.origins[first]] if first in self.origins else [])]
        group, around = self.functions[first], self.scopes.around(self.scopes.home[first])
        layer = next(filter(None, map(path_of, known)), [self.scopes.scopes[at].name for at in around][::-1])
        return replace(
            remark,
            function="main" if group is None else self.graph.groups[group].name or "main",
            operators=tuple(unnumbered(self.graph.nodes[node].op) for node in operators or nodes),
            nodes=tuple(nodes),
            layer="/".join(layer),
            source=next(filter(None, (source_of(each.span) for each in known)), None),
        )


def places(trace: Trace, state: State) -> Places:
    """Return the places of the nodes of a state of a trace."""
    start, graph = trace.start.graph, state.graph
    if graph is start:
        return Places(graph, layers(graph), function_of(graph), {})
    mapping = diff(start, graph).mapping
    origins = {image: start.nodes[first] for first, images in reversed(mapping.items()) for image in images}
    return Places(graph, layers(graph), function_of(graph), origins)


def source_of(span: str) -> Source | None:
    """Return the line of a file that a span names; None for another span.

    >>> source_of("model.py:3:1"), source_of("/layer1/conv1/Conv:0:0")
    (Source(file='model.py', line=3, column=1), None)
    """
    found = _SPAN.fullmatch(span)
    return None if found is None else Source(found[1], int(found[2]), int(found[3]))


DISAGREES = "disagrees"
"the reason code of a graph on which the pass fails by the rules, and TVM ran it"
MOST_CHANGES = 64
"missed fusions for which a change is searched, those with the most bytes: each search runs the algorithm on the whole graph"
JOINED = ("fused", "together")
"reason codes of a node that is in one kernel with its post-dominator"


def report_of(trace: Trace, step: Step) -> FusionReport:
    """Return the decisions of a step that is FuseOps, under the settings of the trace."""
    options = Pipeline.parse(step.name)[0].options
    level = options.get("fuse_opt_level", -1)
    given = trace.build.get("options") or {}
    depth = given.get(f"{trace.dialect}.FuseOps.max_depth", 256)
    target: TargetLike = trace.build.get("target", "")
    return explain_fusion(step.before, trace.opt_level if level == -1 else level, depth, target=target)


def has_remark(report: FusionReport, decision: Decision) -> bool:
    """Return whether a decision has a remark: all but those that wait for another phase and do not settle their node."""
    return report.decided(decision.node) is decision or decision.code not in ("phase", "together")


def fusion_remarks(trace: Trace, step: Step) -> Iterator[Remark]:
    """Yield the remarks of a step that is FuseOps: one for each node whose kernel is decided, and one for each earlier refusal."""
    report = report_of(trace, step)
    if report.failure:
        yield Remark(ANALYSIS, FUSE_OPS, DISAGREES, f"TVM ran the pass, although {report.failure}.")
        return
    here = places(trace, step.state_before)
    # the first node of another kernel that reads a value
    readers = {value.source: value.targets[0] for value in report.handovers}
    decisions = [each for each in report.decisions if has_remark(report, each)]
    found = [_fusion_remark(report, here, decision, is_read=decision.node in readers) for decision in decisions]
    missed = [place for place, remark in enumerate(found) if remark.kind == MISSED]
    for place in sorted(missed, key=lambda place: -(found[place].bytes or 0))[:MOST_CHANGES]:
        node, dominator = decisions[place].node, decisions[place].dominator
        changes = report.why(node, readers[node] if dominator is None else dominator).changes
        if changes:
            found[place] = replace(found[place], change=changes[0].sentence)
    yield from found


def _fusion_remark(report: FusionReport, here: Places, decision: Decision, *, is_read: bool) -> Remark:
    value = here.graph.nodes[decision.node]
    if report.decided(value.id) is not decision:
        kind = ANALYSIS
    elif decision.code in JOINED:
        kind = PASSED
    else:
        kind = MISSED if is_read else ANALYSIS
    size = size_of(value.type) if value.kind == "op" else None
    nodes = (value.id,) if decision.dominator is None else (value.id, decision.dominator)
    return here.located(Remark(kind, FUSE_OPS, decision.code, decision.sentence, bytes=size), nodes)


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
    kind, name, message, change = _merge_verdict(group, is_run=is_run)
    nodes = [node for branch in group.branches for node in branch]
    pass_name = group.passes.partition("{")[0]
    # equal branches compute the same values again; other merges save none of known size
    size = size_of(here.graph.nodes[group.branches[0][-1]].type) if group.kind == "identical" else None
    saved = None if size is None else size * (len(group.branches) - 1)
    return here.located(Remark(kind, pass_name, name, message, bytes=saved, change=change), nodes, group.branches[0])


def _merge_verdict(group: BranchGroup, *, is_run: bool) -> tuple[str, str, str, str]:
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


FOLDED, SHORTENED, LOWERED = "folded", "shortened", "lowered"
"reason codes: operators on constants became a constant; a chain became shorter; the passes run too late to follow a chain"
CANONICAL = "canonical"
"the reason code of a chain that is as short as it gets"


def fold_remarks(trace: Trace, step: Step) -> Iterator[Remark]:
    """Yield a remark for each constant that a step computed, if its pass is FoldConstant."""
    if pass_of(step) != FOLD or not step.changed:
        return
    here, graph = places(trace, step.state_before), step.before
    gone = {node.id for node in graph.ops if node.id not in step.diff.mapping}
    for node in sorted(gone):
        if all(user in gone for user, _ in graph.consumers[node]) and graph.consumers[node]:
            continue
        folded = computing(graph, node, gone)
        names = ", ".join(graph.nodes[n].op for n in folded)
        said = f"{counted(len(folded), 'operator')} on constants ({names}) became a constant."
        size = size_of(graph.nodes[node].type)
        yield here.located(Remark(PASSED, FOLD, FOLDED, said, bytes=size), folded)


def chain_remarks(trace: Trace) -> Iterator[Remark]:
    """Yield a remark for each chain of operators with constants in the trace's first graph."""
    graph = trace.start.graph
    here = places(trace, trace.start)
    for chain in constant_chains(graph) if graph.dialect else ():
        kind, name, said = _chain_verdict(trace, graph, chain)
        subject = " -> ".join(graph.nodes[node].op for node in chain.nodes)
        change = f"{chain.passes} ran" if name == NOT_RUN else ""
        found = Remark(kind, chain.passes or FOLD, name, f"{subject}: {said}.", change=change)
        yield here.located(found, chain.nodes)


def computing(graph: Graph, root: int, nodes: Collection[int]) -> tuple[int, ...]:
    """Return those of some nodes that a node is computed from through them alone, and the node, ascending."""
    return tuple(sorted(reached([root], lambda node: [each for each in graph.inputs[node] if each in nodes])))


def _chain_verdict(trace: Trace, graph: Graph, chain: ConstantChain) -> tuple[str, str, str]:
    """Return the kind of remark, its reason code, and the reason."""
    why = "; ".join(reason.sentence for reason in chain.reasons)
    codes = [reason.code for reason in chain.reasons]
    if not chain.safe:
        return ANALYSIS, next(code for code in codes if code.startswith("unsafe-")), why
    if not chain.folds:
        return ANALYSIS if CANONICAL in codes else MISSED, codes[0] if codes else LEFT, why
    end = after_passes(trace, [step.name for step in Pipeline.parse(chain.passes)])
    if end is None:
        return MISSED, NOT_RUN, f"no steps run {chain.passes}, which leave {chain.left} of {len(chain.nodes)} operators"
    if is_lowered(end):
        return ANALYSIS, LOWERED, "the passes run on PrimFuncs, where the chain is not followed"
    left = Remains(graph, end).left_of(chain.nodes)
    said = f"{left} of {counted(len(chain.nodes), 'operator')} are left"
    return (PASSED, SHORTENED, said) if left < len(chain.nodes) else (MISSED, LEFT, said)


def after_passes(trace: Trace, names: Sequence[str]) -> Graph | None:
    """Return the graph after these passes, if the trace runs them in this order."""
    wanted, last = list(names), None
    for step in trace.steps:
        if wanted and ran(step) and pass_of(step) == wanted[0]:
            wanted, last = wanted[1:], step
    return last.after if last is not None and not wanted else None
