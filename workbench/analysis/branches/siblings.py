"""Sibling branches as TVM's combiners find them.

The rules are those of BranchGroupFinder and ParallelOpCombiner (src/relay/transforms/combine_parallel_op.cc, TVM 0.17):
calls of one operator on the same first argument, each followed by the element-wise and broadcast operators that are the
only consumers; groups of compatible calls; level by level, as long as every branch has the same operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.analysis.branches.calls import Calls, Key, Use, attribute
from workbench.analysis.branches.rules import Combiner, Pair
from workbench.analysis.outcome import Reason

BROADCAST = 1


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
