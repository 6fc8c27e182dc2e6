"""Sibling branches in Relay: TVM's combiners, EliminateCommonSubexpr, and two passes of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.branches import batched
from workbench.analysis.branches.calls import Branches, Calls, circular
from workbench.analysis.branches.equal import equal_branches, equal_kernels, nearly_equal
from workbench.analysis.branches.report import BranchGroup, alone, few, producer
from workbench.analysis.branches.rules import TVM_RULES, Combiner, type_of
from workbench.analysis.branches.siblings import SiblingGroup, common_levels, find_siblings
from workbench.analysis.outcome import Reason

SAME = "EliminateCommonSubexpr"


def relay_branches(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Yield the branch groups of a Relay graph, in no order."""
    graph = calls.graph
    for branches in equal_branches(calls):
        yield BranchGroup("identical", producer(graph, branches), branches, SAME, 3, graph=graph)
    for groups in equal_kernels(graph):
        branches = tuple(tuple(n.id for n in graph.ops if graph.kernel_of(n.id) == group) for group in groups)
        yield BranchGroup("identical", producer(graph, branches), branches, "MergeIdenticalKernels", 0, graph=graph)
    for rules in TVM_RULES:
        yield from _combiner(calls, rules, least)
    yield from _ours(calls, least)
    for nodes, reasons in nearly_equal(calls):
        yield BranchGroup("near", producer(graph, alone(nodes)), alone(nodes), SAME, 3, reasons, graph=graph)
    for rules in TVM_RULES:
        if not rules.passes.endswith("to_batch=False}}"):
            for nodes, reason in calls.share_second(rules.op):
                root, passes = graph.inputs[nodes[0]][1], rules.passes.format(min=least)
                yield BranchGroup("near", root, alone(nodes), passes, 4, (reason,), graph=graph)


def _combiner(calls: Calls, rules: Combiner, least: int) -> Iterator[BranchGroup]:
    """Yield the groups of one of TVM's combiners, and its near misses."""
    found = find_siblings(calls, rules)
    made: list[tuple[SiblingGroup, Branches, Reason | None, list[Reason]]] = []
    for group in found:
        if len(group.chains) >= least:
            depth, stop = common_levels(calls, group)
            branches = tuple(tuple(chain[:depth]) for chain in group.chains)
            dangers = [reason for hazards in rules.hazards for reason in hazards(calls, branches)]
            made.append((group, branches, stop, [*group.crashes, *dangers, *_unknown(calls, branches)]))
    sound = [(branches, dangers) for _, branches, _, dangers in made if not dangers]
    for place in circular(calls.graph, [branches for branches, _ in sound]):
        branches, dangers = sound[place]
        said = (
            "one branch needs what another one gives, and TVM puts their results into each other for ever: the process ends "
            "with a segfault"
        )
        dangers.append(Reason("sibling-dependency-crash", said, tuple(branch[0] for branch in branches)))
    crashes = [reason for group in found for reason in group.crashes]
    dangerous = [*crashes, *(reason for *_, dangers in made for reason in dangers)]
    for group, branches, stop, dangers in made:
        if dangerous and not dangers:
            said = f"the same pass meets a hazard elsewhere in the graph: {dangerous[0].sentence}"
            dangers.append(Reason("fails-elsewhere", said, dangerous[0].nodes))
        kind, notes = "hazard" if dangers else "combinable", tuple(_notes(calls, group, branches, stop))
        passes, hazards = rules.passes.format(min=least), tuple(dict.fromkeys(dangers))
        yield BranchGroup(kind, group.root, branches, passes, 4, tuple(dict.fromkeys(notes)), hazards, calls.graph)
    yield from _near(calls, rules, found, least)


def _unknown(calls: Calls, branches: Sequence[Sequence[int]]) -> Iterator[Reason]:
    nodes = {n for branch in branches for node in branch for n in (node, *calls.graph.inputs[node])}
    open = tuple(n for n in sorted(nodes) if not type_of(calls, n).known)
    if open:
        yield Reason("dynamic-shape", "a shape is not known here, and the combiners were not made for that", open)
    bound = tuple(n for n in sorted(nodes) if calls.is_let(n))
    if bound:
        said = (
            "a let binds values here, and the combined call may use one before it is bound; run ToGraphNormalForm first"
        )
        yield Reason("let-bound", said, bound)


def _notes(
    calls: Calls, group: SiblingGroup, branches: Sequence[Sequence[int]], stop: Reason | None
) -> Iterator[Reason]:
    """Yield the reasons why no more of the branches is combined, and for values computed twice."""
    graph = calls.graph
    if stop:
        yield stop
    for chain, reason in zip(group.chains, group.stops, strict=True):
        if reason and len(chain) == len(branches[0]) and (stop is None or stop.code == "depth-min"):
            yield reason
    for branch in branches:
        for node in branch[:-1]:
            if node in graph.outputs or any(user not in branch for user, _ in graph.consumers[node]):
                said = f"{graph.nodes[node].op} is also part of a tuple or a result, so it is still computed, a second time"
                yield Reason("tuple-consumer-duplicates", said, (node,))


def _near(calls: Calls, rules: Combiner, found: list[SiblingGroup], least: int) -> Iterator[BranchGroup]:
    """Yield sibling calls that are not combined: too few, or not compatible with their siblings."""
    by_root: dict[tuple[int, int | None], list[SiblingGroup]] = {}
    for group in found:
        by_root.setdefault((group.root, calls.scopes[group.chains[0][0]]), []).append(group)
    for (root, _), groups in by_root.items():
        left = [group for group in groups if len(group.chains) < least]
        heads = tuple((chain[0],) for group in left for chain in group.chains)
        reasons = [reason for group in groups for reason in group.refused if group in left or groups[0] in left]
        reasons += [few([chain[0] for chain in group.chains], least) for group in left if len(group.chains) > 1]
        crashes = tuple(reason for group in left for reason in group.crashes)
        is_near = sum(len(group.chains) for group in groups) > 1 and bool(reasons)
        if heads and (is_near or crashes):
            # TVM raises at an operator without siblings too
            kind, passes = "near" if is_near else "hazard", rules.passes.format(min=least)
            yield BranchGroup(kind, root, heads, passes, 4, tuple(dict.fromkeys(reasons)), crashes, calls.graph)


def _ours(calls: Calls, least: int) -> Iterator[BranchGroup]:
    graph = calls.graph
    for op in batched.operators(graph):
        taken, refused = batched.batches(graph, op, least)
        text = f"CombineParallelOps{{op={op!r},min_num_branches={least}}}"
        for batch in taken:
            # equal calls are listed as such already
            if not batch.equal:
                root = graph.inputs[batch.branches[0][0]][0]
                yield BranchGroup("combinable", root, batch.branches, text, 0, graph=graph)
        for reason in refused:
            root = graph.inputs[reason.nodes[0]][0]
            yield BranchGroup("near", root, alone(reason.nodes), text, 0, (reason,), graph=graph)
