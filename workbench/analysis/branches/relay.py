"""Sibling branches in Relay: TVM's combiners, EliminateCommonSubexpr, and two passes of ours.

The combiners' search is that of BranchGroupFinder and ParallelOpCombiner (src/relay/transforms/combine_parallel_op.cc, TVM 0.17):
calls of one operator on the same first argument, each followed by the element-wise and broadcast operators that are the
only consumers; groups of compatible calls; level by level, as long as every branch has the same operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from workbench.analysis.branches import batched
from workbench.analysis.branches.calls import Branches, Calls, Key, Use, attribute, circular
from workbench.analysis.branches.equal import equal_branches, equal_kernels, nearly_equal
from workbench.analysis.branches.report import BranchGroup, alone, few, producer
from workbench.analysis.branches.rules import BROADCAST, TVM_RULES, Combiner, Pair, type_of
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


# -- the combiners' search


@dataclass
class SiblingGroup:
    """Sibling calls that a combiner puts into one group."""

    rules: Combiner
    root: int
    "the node whose value they share"
    chains: list[list[int]] = field(default_factory=list)
    "each call with the operators that follow it, as far as the combiner looks"
    stops: list[Reason | None] = field(default_factory=list)
    "why each chain ended; None for an ordinary end"
    crashes: list[Reason] = field(default_factory=list)
    "why the combiner fails during its search"
    refused: list[Reason] = field(default_factory=list)
    "why it is not in the previous group of the same root"


def find_siblings(calls: Calls, rules: Combiner) -> list[SiblingGroup]:
    """Return the groups of one combiner, including small ones, by root and then in the order of their calls."""
    roots, children = _children(calls, rules)
    found: list[SiblingGroup] = []
    for root in roots:
        groups: list[SiblingGroup] = []
        for use in children[root]:
            if use.is_function or calls.graph.nodes[use.node].op != rules.op:
                continue
            chain, stop, crash = _chain(calls, children, use.node)
            refusals = []
            for group in groups:
                refusal = rules.compatible(calls, group.chains[0][0], use.node)
                if refusal is None:
                    break
                refusals.append(refusal)
            else:
                group = SiblingGroup(rules, calls.graph.inputs[use.node][0], refused=refusals)
                groups.append(group)
            group.chains.append(chain)
            group.stops.append(stop)
            group.crashes += [crash] if crash else []
        found += groups
    return found


def _children(calls: Calls, rules: Combiner) -> tuple[list[Key], dict[Key, list[Use]]]:
    children: dict[Key, list[Use]] = {}
    roots: dict[Key, None] = {}
    functions: dict[int, list[Key]] = {}
    for node, key in calls.called:
        functions.setdefault(node, []).append(key)
    for node in calls.graph.nodes:
        for key in functions.get(node.id, ()):
            children.setdefault(key, []).append(Use(node.id, True))
        if node.kind not in ("op", "call"):
            continue
        arguments = calls.arguments(node.id)
        if node.kind == "op" and rules.has_root(node):
            roots[arguments[0]] = None
            arguments = arguments[:1]
        for key in arguments:
            children.setdefault(key, []).append(Use(node.id, node.kind == "call"))
    return list(roots), children


def _chain(calls: Calls, children: dict[Key, list[Use]], start: int) -> tuple[list[int], Reason | None, Reason | None]:
    """Return the operators that follow `start`, the reason for the end, and the reason why TVM fails there."""
    graph, chain = calls.graph, [start]
    while True:
        last = graph.nodes[chain[-1]]
        if last.name:
            said = f"{last.op} is bound by a let, and the combiner does not look past it"
            return chain, Reason("let-bound", said, (last.id,)), None
        uses = children.get(last.id, [])
        if len(uses) > 1:
            said = f"{last.op} is used by {len(uses)} calls, so the chain ends there"
            return chain, Reason("multi-call-consumer", said, tuple(use.node for use in uses)), None
        if not uses:
            return chain, None, None
        after = graph.nodes[uses[0].node]
        if uses[0].is_function:
            said = f"the only use of {last.op} is the call of a function; TVM raises there, so run the pass before FuseOps and partitioning"
            return chain, None, Reason("function-consumer-crash", said, (last.id, after.id))
        if after.pattern is None:
            said = f"{after.op} has no fusion pattern, and TVM raises when it looks at it; run SimplifyInference (or the qnn passes) first"
            return chain, None, Reason("no-TOpPattern-crash", said, (after.id,))
        if after.pattern > BROADCAST:
            return chain, None, None
        chain.append(after.id)


def common_levels(calls: Calls, found: SiblingGroup) -> tuple[int, Reason | None]:
    """Return the number of levels of the group that are combined, and why not more."""
    first, *others = found.chains
    shortest = min(found.chains, key=len)
    for level in range(1, len(shortest)):
        for chain in others:
            reason = _level(calls, found.rules, first, chain, level)
            if reason:
                return level, reason
    if len(shortest) == max(map(len, found.chains)):
        return len(shortest), None
    said = f"one branch ends after {calls.graph.nodes[shortest[-1]].op}, so the others are combined only as far"
    return len(shortest), Reason("depth-min", said, (shortest[-1],))


def _level(calls: Calls, rules: Combiner, first: list[int], other: list[int], level: int) -> Reason | None:
    nodes, inputs = calls.graph.nodes, calls.graph.inputs
    a, b = nodes[first[level]], nodes[other[level]]
    parent, both = inputs[a.id].index(first[level - 1]), (a.id, b.id)
    if a.op != b.op:
        return Reason("level-op", f"one branch goes on with {a.op}, another with {b.op}", both)
    different = attribute(a, b)
    if different:
        return Reason(f"level-attr:{different}", f"the {a.op} of two branches differ in {different}", both)
    if len(inputs[a.id]) != len(inputs[b.id]):
        return Reason("level-op", f"the {a.op} of two branches have different numbers of arguments", both)
    if inputs[b.id][parent] != other[level - 1]:
        said = f"{a.op} takes the branch's value as argument {parent} in one branch and not in another"
        return Reason("level-parent-position", said, both)
    others = (index for index in range(len(inputs[a.id])) if index != parent)
    reasons = (rules.argument(calls, Pair(first[0], a.id, b.id, index)) for index in others)
    return next(filter(None, reasons), None)
