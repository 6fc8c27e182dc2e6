"""Products of one value side by side: which CombineParallelMatmul combines, and why not the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.finder import Reason
from workbench.analysis.branches.group import BranchGroup
from workbench.analysis.branches.relax_block import Block, blocks_of
from workbench.analysis.branches.relax_matmul import Merged, Outcome, outcome
from workbench.analysis.branches.relax_pattern import (
    ACTIVATIONS,
    ADD,
    MATMUL,
    ConstantLeft,
    Forms,
    Shape,
    forms,
    orders,
)
from workbench.analysis.branches.rules import type_of

PASS = "CombineParallelMatmul"
FOLLOWS = f"one {ADD} and one of {', '.join(ACTIVATIONS)}"


@dataclass(frozen=True)
class Foretold:
    """What the pass does to one function."""

    calls: Calls
    blocks: list[Block]
    forms: Forms
    constant_left: int | None = None
    "a product whose first factor is a constant"

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """What it does, in each order in which it may take the forms; the likely one first."""
        return [outcome(self.calls.graph, self.blocks, order) for order in orders(self.forms.wanted)]

    @property
    def likely(self) -> Outcome:
        """What it does in the likely order."""
        return self.outcomes[0]

    @cached_property
    def siblings(self) -> dict[int, list[int]]:
        """First factor -> its products, where there are several."""
        found: dict[int, list[int]] = {}
        for block in self.blocks:
            for bound in block.bindings:
                if bound.kind == "op" and bound.op == MATMUL:
                    found.setdefault(bound.args[0], []).append(bound.var)
        return {left: products for left, products in found.items() if len(products) > 1}


def foretold(calls: Calls) -> list[Foretold]:
    """What the pass does to each function of a graph."""
    found = []
    for blocks in blocks_of(calls).values():
        try:
            found.append(Foretold(calls, blocks, forms(blocks)))
        except ConstantLeft as error:
            found.append(Foretold(calls, blocks, Forms((), {}), error.node))
    return found


def matmul_groups(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """The groups of the pass, and its near misses."""
    functions = foretold(calls)
    dangers = [
        Reason(
            "constant-left",
            "the first factor of a product is a constant, which the pass takes for a variable: it raises; run it before BindParams",
            (each.constant_left,),
        )
        for each in functions
        if each.constant_left is not None
    ]
    dangers += [hazard for each in functions for merged in each.likely.merged for hazard in merged.hazards]
    for each in functions:
        if each.constant_left is not None:
            for left, products in each.siblings.items():
                branches = tuple((product,) for product in products)
                yield BranchGroup("hazard", left, branches, PASS, 0, (), tuple(dangers[:1]), calls.graph)
            continue
        for merged in each.likely.merged:
            yield _group(each, merged, dangers, least)
        yield from _near(each)
    yield from _other_factor(calls)


def _group(function: Foretold, merged: Merged, dangers: Sequence[Reason], least: int) -> BranchGroup:
    graph = function.calls.graph
    depth = min(len(chain) for chain in merged.chains)
    branches = tuple(chain[:depth] for chain in merged.chains)
    reasons = tuple(dict.fromkeys(_notes(function, merged, depth)))
    hazards = list(merged.hazards)
    if dangers and not hazards:
        said = f"the same pass meets a hazard elsewhere in the graph: {dangers[0].sentence}"
        hazards.append(Reason("fails-elsewhere", said, dangers[0].nodes))
    if len(branches) < least and not hazards:
        said = f"{len(branches)} branches, and {least} are asked for; the pass has no such option and combines these all the same"
        return BranchGroup("near", merged.left, branches, PASS, 0, (Reason("below-min", said), *reasons), (), graph)
    kind = "hazard" if hazards else "combinable"
    recipe = None if hazards else merged.recipe
    return BranchGroup(kind, merged.left, branches, PASS, 0, reasons, tuple(hazards), graph, recipe)


def _notes(function: Foretold, merged: Merged, depth: int) -> Iterator[Reason]:
    """Why no more of the branches is combined, and what is computed twice."""
    calls = function.calls
    graph = calls.graph
    yield from _left_out(function, merged)
    ends = [chain[depth - 1] for chain in merged.chains]
    after = [[user for user, _ in graph.consumers[end]] for end in ends]
    ops = {graph.nodes[users[0]].op if [graph.nodes[u].kind for u in users] == ["op"] else "" for users in after}
    following = tuple(users[0] for users in after if len(users) == 1)
    if len(ops) == 1 and "" not in ops:
        yield _stopped(calls, ends, following)
    elif ops - {""} & {ADD, *ACTIVATIONS}:
        said = (
            "the branches go on in different ways, and only what all products of the value have after them is combined"
        )
        yield Reason("level-op", said, following)
    for chain in merged.chains:
        for node in chain[: depth - 1]:
            if len(graph.consumers[node]) > 1 or node in graph.outputs:
                said = f"{graph.nodes[node].op} is used elsewhere too, so it is still computed, a second time"
                yield Reason("used-elsewhere", said, (node,))
    if len({each.groups for each in function.outcomes}) > 1:
        said = (
            "other products of the function have as many branches in another form, and which form TVM takes first hangs on "
            "where its variables lie in memory: other runs may combine less or more of this"
        )
        yield Reason("order-by-address", said, tuple(chain[0] for chain in merged.chains))


def _stopped(calls: Calls, ends: Sequence[int], following: tuple[int, ...]) -> Reason:
    """Why an operator that follows in all branches is not combined."""
    graph = calls.graph
    op = graph.nodes[following[0]].op
    if op not in (ADD, *ACTIVATIONS):
        return Reason("level-op", f"{op} follows in all branches, and the pass takes {FOLLOWS} along", following)
    if op in ACTIVATIONS:
        return Reason("level-op", f"{op} follows, and other products of the value have no {op} there", following)
    others = [next((s for s in graph.inputs[user] if s != end), end) for end, user in zip(ends, following, strict=True)]
    if any(graph.inputs[user][:1] != (end,) for end, user in zip(ends, following, strict=True)):
        return Reason(
            "commuted", "a product is the second argument of its add, and the pass looks for it as the first", following
        )
    if any(graph.nodes[other].kind == "constant" for other in others):
        return Reason(
            "bias-constant",
            "what is added is a constant, and the pass looks for a variable; run it before BindParams",
            tuple(others),
        )
    if len(set(others)) < len(others):
        return Reason(
            "bias-shared",
            "branches add one and the same value, and the parts of a match are different variables",
            tuple(others),
        )
    return Reason("level-op", "not all products of the value have a bias of one rank after them", following)


def _left_out(function: Foretold, merged: Merged) -> Iterator[Reason]:
    """Why products of the same value are not in this group."""
    inside = {chain[0] for chain in merged.chains}
    others = [product for product in function.siblings.get(merged.left, []) if product not in inside]
    if others:
        yield from _why(function, merged.left, [*others, *sorted(inside)])


def _near(function: Foretold) -> Iterator[BranchGroup]:
    """Products of one value that are not combined."""
    graph = function.calls.graph
    taken = {chain[0] for merged in function.likely.merged for chain in merged.chains}
    for left, products in function.siblings.items():
        alone = [product for product in products if product not in taken]
        if len(alone) == len(products):
            reasons = tuple(dict.fromkeys(_why(function, left, products)))
            yield BranchGroup("near", left, tuple((p,) for p in products), PASS, 0, reasons, (), graph)


def _why(function: Foretold, left: int, products: Sequence[int]) -> list[Reason]:
    """What keeps products of one value from being combined."""
    calls = function.calls
    graph = calls.graph
    right = [graph.inputs[product][1] for product in products]
    found = [reason for match, reason in function.likely.refused if match.left == left]
    constants = tuple(s for s in right if graph.nodes[s].kind == "constant")
    if constants:
        said = "a second factor is a constant, and the pass looks for variables; run it before BindParams"
        found.append(Reason("weight-constant", said, constants))
    shared = tuple(s for s in dict.fromkeys(right) if right.count(s) > 1 and s not in constants)
    if shared:
        said = "products share their second factor too, and the parts of a match are different variables; run EliminateCommonSubexpr first"
        found.append(Reason("weight-shared", said, shared))
    if left in right or set(right) & set(products):
        said = "a second factor is the shared value itself or another of the products"
        found.append(Reason("weight-is-left", said, tuple(s for s in right if s == left or s in products)))
    ranks = {len(type_of(calls, s).shape) for s in right}
    if len(ranks) > 1 and not found:
        said = f"the second factors have ranks {' and '.join(map(str, sorted(ranks)))}, and only factors of one rank are joined"
        found.append(Reason("weight-rank", said, tuple(right)))
    if len({calls.stretches[product] for product in products}) > 1:
        found.append(Reason("other-block", "the products stand in different stretches of bindings", tuple(products)))
    shape = function.forms.counted.get(left)
    if shape is not None and not found:
        found.append(_unmatched(function, shape, products))
    return found


def _unmatched(function: Foretold, shape: Shape, products: Sequence[int]) -> Reason:
    """Why branches that could be joined were not even looked at together."""
    graph = function.calls.graph
    if shape.bias:
        adds = [user for product in products for user, _ in graph.consumers[product] if graph.nodes[user].op == ADD]
        biases = [s for user in adds for s in graph.inputs[user] if s not in products]
        if any(graph.nodes[s].kind == "constant" for s in biases):
            return Reason(
                "bias-constant",
                "what is added is a constant, and the pass looks for a variable; run it before BindParams",
                tuple(biases),
            )
        if any(graph.inputs[user][0] not in products for user in adds):
            return Reason(
                "commuted",
                "a product is the second argument of its add, and the pass looks for it as the first",
                tuple(adds),
            )
        if len(set(biases)) < len(adds):
            return Reason(
                "bias-shared",
                "branches add one and the same value, and the parts of a match are different variables",
                tuple(biases),
            )
    ended = next(iter(function.likely.refused), None)
    if ended is not None:
        match, reason = ended
        return Reason(
            "search-ended",
            f"the pass met other products that it could not combine ({reason.sentence}), and a search ends there",
            (match.left, *(chain[0] for chain in match.chains)),
        )
    said = f"the pass looks for {shape.branches} branches that all differ in their factors and biases, and finds fewer"
    return Reason("unmatched", said, tuple(products))


def _other_factor(calls: Calls) -> Iterator[BranchGroup]:
    """Products that share their second factor, which the pass does not look at."""
    shared: dict[object, list[int]] = {}
    for node in calls.graph.ops():
        if node.op == MATMUL:
            shared.setdefault(calls.arguments(node.id)[1], []).append(node.id)
    for nodes in shared.values():
        if len({calls.arguments(node)[0] for node in nodes}) > 1:
            said = f"these {MATMUL} share their second argument; TVM combines only what shares the first"
            branches = tuple((node,) for node in nodes)
            source = calls.graph.inputs[nodes[0]][1]
            yield BranchGroup(
                "near", source, branches, PASS, 0, (Reason("not-arg0", said, tuple(nodes)),), (), calls.graph
            )
