"""Sibling branches in Relay: TVM's combiners, EliminateCommonSubexpr, and two passes of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.analysis.branches import batched
from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.contraction import circular
from workbench.analysis.branches.equal import equal_branches, equal_kernels, nearly_equal
from workbench.analysis.branches.report import BranchGroup, producer
from workbench.analysis.branches.rules import TVM_RULES, type_of
from workbench.analysis.branches.siblings import Reason, Rules, SiblingGroup, common_levels, find_siblings


def relay_branches(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Yield the branch groups of a Relay graph, in no order."""
    yield from _equal(calls)
    for rules in TVM_RULES:
        yield from _combiner(calls, rules, least)
    yield from _ours(calls, least)
    yield from _near_equal(calls)
    for rules in TVM_RULES:
        yield from _other_argument(calls, rules, least)


def _equal(calls: Calls) -> Iterator[BranchGroup]:
    graph = calls.graph
    for branches in equal_branches(calls):
        yield BranchGroup("identical", producer(graph, branches), branches, "EliminateCommonSubexpr", 3, graph=graph)
    for groups in equal_kernels(graph):
        branches = tuple(tuple(n.id for n in graph.ops if graph.kernel_of(n.id) == group) for group in groups)
        yield BranchGroup("identical", producer(graph, branches), branches, "MergeIdenticalKernels", 0, graph=graph)


def _combiner(calls: Calls, rules: Rules, least: int) -> Iterator[BranchGroup]:
    """Yield the groups of one of TVM's combiners, and its near misses."""
    found = find_siblings(calls, rules)
    taken = [(group, *common_levels(calls, group)) for group in found if len(group.chains) >= least]
    crashes = [reason for group in found for reason in group.crashes]
    made = []
    for group, depth, _ in taken:
        branches = tuple(tuple(chain[:depth]) for chain in group.chains)
        dangers = [*group.crashes, *rules.hazards(calls, branches), *_unknown(calls, branches)]
        made.append((branches, dangers))
    places = [place for place, (_, dangers) in enumerate(made) if not dangers]
    for place in circular(calls.graph, [made[p][0] for p in places]):
        branches, dangers = made[places[place]]
        dangers.append(
            Reason(
                "sibling-dependency-crash",
                "one branch needs what another one gives, and TVM puts their results into each other for ever: the process ends with a segfault",
                tuple(branch[0] for branch in branches),
            )
        )
    dangerous = [*crashes, *(reason for _, dangers in made for reason in dangers)]
    for place, (group, _, stop) in enumerate(taken):
        branches, dangers = made[place]
        if dangerous and not dangers:
            said = f"the same pass meets a hazard elsewhere in the graph: {dangerous[0].sentence}"
            dangers.append(Reason("fails-elsewhere", said, dangerous[0].nodes))
        yield BranchGroup(
            "hazard" if dangers else "combinable",
            group.root,
            branches,
            rules.passes.format(min=least),
            4,
            _notes(calls, group, branches, stop),
            tuple(dict.fromkeys(dangers)),
            calls.graph,
        )
    yield from _near(calls, rules, found, least)


def _unknown(calls: Calls, branches: Sequence[Sequence[int]]) -> Iterator[Reason]:
    nodes = {n for branch in branches for node in branch for n in (node, *calls.graph.inputs[node])}
    open = tuple(n for n in sorted(nodes) if not type_of(calls, n).known)
    if open:
        yield Reason("dynamic-shape", "a shape is not known here, and the combiners were not made for that", open)
    bound = tuple(n for n in sorted(nodes) if calls.is_let(n))
    if bound:
        yield Reason(
            "let-bound",
            "a let binds values here, and the combined call may use one before it is bound; run ToGraphNormalForm first",
            bound,
        )


def _notes(
    calls: Calls, group: SiblingGroup, branches: Sequence[Sequence[int]], stop: Reason | None
) -> tuple[Reason, ...]:
    """Return the reasons why no more of the branches is combined, and for values computed twice."""
    notes = [stop] if stop else []
    shortest = len(branches[0])
    notes += [
        reason
        for chain, reason in zip(group.chains, group.stops, strict=True)
        if reason and len(chain) == shortest and (stop is None or stop.code == "depth-min")
    ]
    graph = calls.graph
    for branch in branches:
        for node in branch[:-1]:
            outside = [u for u, _ in graph.consumers[node] if u not in branch]
            if outside or node in graph.outputs:
                notes.append(
                    Reason(
                        "tuple-consumer-duplicates",
                        f"{graph.nodes[node].op} is also part of a tuple or a result, so it is still computed, a second time",
                        (node,),
                    )
                )
    return tuple(dict.fromkeys(notes))


def _near(calls: Calls, rules: Rules, found: list[SiblingGroup], least: int) -> Iterator[BranchGroup]:
    """Yield sibling calls that are not combined: too few, or not compatible with their siblings."""
    by_root: dict[tuple[int, int | None], list[SiblingGroup]] = {}
    for group in found:
        by_root.setdefault((group.root, calls.scopes[group.chains[0][0]]), []).append(group)
    for (root, _), groups in by_root.items():
        left = [group for group in groups if len(group.chains) < least]
        heads = tuple((chain[0],) for group in left for chain in group.chains)
        siblings = sum(len(group.chains) for group in groups)
        reasons = [reason for group in groups for reason in group.refused if group in left or groups[0] in left]
        for group in left:
            if len(group.chains) > 1:
                said = f"{len(group.chains)} branches fit together, and {least} are asked for"
                reasons.append(Reason("below-min", said, tuple(chain[0] for chain in group.chains)))
        crashes = tuple(reason for group in left for reason in group.crashes)
        is_near = siblings > 1 and bool(reasons)
        if heads and (is_near or crashes):
            yield BranchGroup(
                # TVM raises at an operator without siblings too
                "near" if is_near else "hazard",
                root,
                heads,
                rules.passes.format(min=least),
                4,
                tuple(dict.fromkeys(reasons)),
                crashes,
                calls.graph,
            )


def _other_argument(calls: Calls, rules: Rules, least: int) -> Iterator[BranchGroup]:
    """Yield calls that share an argument other than the first, which the combiners do not look at."""
    if rules.passes.endswith("to_batch=False}}"):
        return
    shared: dict[object, list[int]] = {}
    for node in calls.graph.ops:
        if node.op == rules.op:
            shared.setdefault(calls.arguments(node.id)[1], []).append(node.id)
    for nodes in shared.values():
        if len({calls.arguments(node)[0] for node in nodes}) > 1:
            reason = Reason(
                "not-arg0",
                f"these {rules.op} share their second argument; TVM combines only what shares the first",
                tuple(nodes),
            )
            source = calls.graph.inputs[nodes[0]][1]
            branches = tuple((node,) for node in nodes)
            yield BranchGroup("near", source, branches, rules.passes.format(min=least), 4, (reason,), (), calls.graph)


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
            branches = tuple((node,) for node in reason.nodes)
            root = graph.inputs[reason.nodes[0]][0]
            yield BranchGroup("near", root, branches, text, 0, (reason,), graph=graph)


def _near_equal(calls: Calls) -> Iterator[BranchGroup]:
    for nodes, reasons in nearly_equal(calls):
        branches = tuple((node,) for node in nodes)
        yield BranchGroup(
            "near", producer(calls.graph, branches), branches, "EliminateCommonSubexpr", 3, reasons, graph=calls.graph
        )
