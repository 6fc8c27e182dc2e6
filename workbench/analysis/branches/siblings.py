"""Sibling branches as TVM's combiners find them.

The rules are those of BranchGroupFinder and ParallelOpCombiner (src/relay/transforms/combine_parallel_op.cc, TVM 0.17):
calls of one operator on the same first argument, each followed by the element-wise and broadcast operators that are the
only consumers; groups of compatible calls; level by level, as long as every branch has the same operator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from workbench.analysis.branches.calls import Calls, Key, Use
from workbench.graph.identity import frozen
from workbench.graph.model import Node

BROADCAST = 1


@dataclass(frozen=True)
class Reason:
    """A reason why branches merge, stop merging, or are hazardous to merge."""

    code: str
    "short and stable: `below-min`, `attr:strides`, ..."
    sentence: str
    nodes: tuple[int, ...] = ()
    "the nodes that the sentence is about"


@dataclass(frozen=True)
class Pair:
    """An argument of two operators at the same level of two branches."""

    head: int
    "the call that the first branch starts with"
    first: int
    "the operator of the first branch"
    other: int
    "the operator of the other"
    index: int
    "position of the argument"


class Rules(Protocol):
    """The conditions of one combiner on the operators it combines."""

    @property
    def op(self) -> str:
        """The operator that it combines."""
        ...

    @property
    def passes(self) -> str:
        """The pass as a Pipeline's text, with `{min}` where the least number of branches goes."""
        ...

    def supported(self, node: Node) -> bool:
        """Return whether the operator counts as one that makes its first argument a root."""
        ...

    def compatible(self, calls: Calls, first: int, other: int) -> Reason | None:
        """Return why two sibling calls are not combined; None if they are."""
        ...

    def argument(self, calls: Calls, pair: Pair) -> Reason | None:
        """Return why an argument of a following operator stops the chain; None if it does not."""
        ...

    def hazards(self, calls: Calls, branches: tuple[tuple[int, ...], ...]) -> Iterable[Reason]:
        """Return the hazards of combining these branches, of equal length."""
        ...


@dataclass
class SiblingGroup:
    """Sibling calls that a combiner puts into one group."""

    rules: Rules
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


def find_siblings(calls: Calls, rules: Rules) -> list[SiblingGroup]:
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


def _children(calls: Calls, rules: Rules) -> tuple[list[Key], dict[Key, list[Use]]]:
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
        if node.kind == "op" and node.op == rules.op and rules.supported(node):
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
            return (
                chain,
                Reason("let-bound", f"{last.op} is bound by a let, and the combiner does not look past it", (last.id,)),
                None,
            )
        uses = children.get(last.id, [])
        if len(uses) > 1:
            users = tuple(use.node for use in uses)
            return (
                chain,
                Reason(
                    "multi-call-consumer", f"{last.op} is used by {len(uses)} calls, so the chain ends there", users
                ),
                None,
            )
        if not uses:
            return chain, None, None
        after = graph.nodes[uses[0].node]
        if uses[0].is_function:
            return (
                chain,
                None,
                Reason(
                    "function-consumer-crash",
                    f"the only use of {last.op} is the call of a function; TVM raises there, so run the pass before FuseOps and partitioning",
                    (last.id, after.id),
                ),
            )
        if after.pattern is None:
            return (
                chain,
                None,
                Reason(
                    "no-TOpPattern-crash",
                    f"{after.op} has no fusion pattern, and TVM raises when it looks at it; run SimplifyInference (or the qnn passes) first",
                    (after.id,),
                ),
            )
        if after.pattern > BROADCAST:
            return chain, None, None
        chain.append(after.id)


def common_levels(calls: Calls, found: SiblingGroup) -> tuple[int, Reason | None]:
    """Return the number of levels of the group that are combined, and why not more."""
    chains = found.chains
    shortest = min(map(len, chains))
    for level in range(1, shortest):
        parent = calls.graph.inputs[chains[0][level]].index(chains[0][level - 1])
        for chain in chains[1:]:
            reason = _level(calls, found.rules, chains[0], chain, level, parent)
            if reason:
                return level, reason
    if shortest == max(map(len, chains)):
        return shortest, None
    ended = next(chain for chain in chains if len(chain) == shortest)
    last = calls.graph.nodes[ended[-1]]
    return shortest, Reason(
        "depth-min", f"one branch ends after {last.op}, so the others are combined only as far", (last.id,)
    )


def _level(calls: Calls, rules: Rules, first: list[int], other: list[int], level: int, parent: int) -> Reason | None:
    nodes, inputs = calls.graph.nodes, calls.graph.inputs
    a, b = nodes[first[level]], nodes[other[level]]
    both = (a.id, b.id)
    if a.op != b.op:
        return Reason("level-op", f"one branch goes on with {a.op}, another with {b.op}", both)
    different = attribute(a, b)
    if different:
        return Reason(f"level-attr:{different}", f"the {a.op} of two branches differ in {different}", both)
    if len(inputs[a.id]) != len(inputs[b.id]):
        return Reason("level-op", f"the {a.op} of two branches have different numbers of arguments", both)
    if inputs[b.id][parent] != other[level - 1]:
        return Reason(
            "level-parent-position",
            f"{a.op} takes the branch's value as argument {parent} in one branch and not in another",
            both,
        )
    for index in range(len(inputs[a.id])):
        if index != parent:
            reason = rules.argument(calls, Pair(first[0], a.id, b.id, index))
            if reason:
                return reason
    return None


def attribute(a: Node, b: Node) -> str:
    """Return the first attribute in which two nodes differ; empty if there is none."""
    for name in sorted({*a.attrs, *b.attrs}):
        if frozen(a.attrs.get(name)) != frozen(b.attrs.get(name)) or (name in a.attrs) != (name in b.attrs):
            return name
    return ""
