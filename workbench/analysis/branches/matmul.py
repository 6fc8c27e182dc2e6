"""Products that share a factor: those that CombineParallelMatmul joins, and the reasons for the others.

TVM runs the pass (`Graph.products`). `matmul_reasons.py` has its conditions, which only explain the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.contraction import circular
from workbench.analysis.branches.matmul_reasons import (
    ACTIVATIONS,
    ADD,
    MATMUL,
    bias_reason,
    factor_reasons,
    hazards,
    join_reasons,
    stop_reason,
)
from workbench.analysis.branches.report import BranchGroup
from workbench.analysis.branches.rules import type_of
from workbench.analysis.branches.siblings import Reason
from workbench.graph.nodes import Joined, Products

PASS = "CombineParallelMatmul"
WRONG = ("out-dtype", "bias-rank", "bias-width")
"hazards where the pass may give something else instead of raising"


@dataclass(frozen=True)
class SharedProducts:
    """Products of one value."""

    left: int
    scope: int | None
    products: list[int]


@dataclass
class JoinedProducts:
    """Products that the pass joins into one, over all its rounds."""

    left: int
    chains: list[tuple[int, ...]]
    "for each, the product, the sum if the pass includes a bias, and the activation if it includes one"
    right: list[int]
    bias: list[int]

    @property
    def heads(self) -> tuple[int, ...]:
        """The products."""
        return tuple(chain[0] for chain in self.chains)

    @property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """The chains, cut to the length of the shortest."""
        depth = min(map(len, self.chains))
        return tuple(chain[:depth] for chain in self.chains)


def matmul_groups(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Yield the groups of the pass, and its near misses."""
    siblings = find_products(calls)
    answer = calls.graph.products
    if answer is not None:
        yield from Verdicts(calls, siblings, answer).groups(least)
    for each in siblings if answer is None else ():
        why = "it was not tried whether TVM combines them: needs TVM and the module"
        reasons = factor_reasons(calls, each.products) or [Reason("not-tried", why, tuple(each.products))]
        yield _group(calls, "near", each.left, _alone(each.products), tuple(reasons))
    yield from _other_factor(calls)


def find_products(calls: Calls) -> list[SharedProducts]:
    """Return the products of each first factor that has several, function by function."""
    found: dict[tuple[int | None, int], list[int]] = {}
    for node in calls.graph.ops:
        if node.op == MATMUL:
            found.setdefault((calls.scopes[node.id], calls.graph.inputs[node.id][0]), []).append(node.id)
    return [SharedProducts(left, scope, nodes) for (scope, left), nodes in found.items() if len(nodes) > 1]


def _group(
    calls: Calls,
    kind: str,
    left: int,
    branches: tuple[tuple[int, ...], ...],
    reasons: tuple[Reason, ...],
    hazards: tuple[Reason, ...] = (),
) -> BranchGroup:
    return BranchGroup(kind, left, branches, PASS, 0, reasons, hazards, calls.graph)


def _alone(nodes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple((node,) for node in nodes)


@dataclass(frozen=True)
class Verdicts:
    """The pass's answer, as groups with their reasons and hazards."""

    calls: Calls
    siblings: list[SharedProducts]
    answer: Products

    def groups(self, least: int) -> Iterator[BranchGroup]:
        """Yield the groups."""
        first = next((reason for reasons in self.dangers.values() for reason in reasons), None)
        elsewhere = []
        if first is not None:
            said = f"the same pass meets a hazard elsewhere in the graph: {first.sentence}"
            elsewhere = [Reason("fails-elsewhere", said, first.nodes)]
        for each in self.sets:
            reasons = tuple(dict.fromkeys(self._notes(each)))
            hazards = tuple(self._own(each.heads) or elsewhere)
            few = len(each.chains) < least and not hazards
            if few:
                said = f"{len(each.chains)} branches, and {least} are asked for; the pass has no such option and combines these all the same"
                reasons = (Reason("below-min", said), *reasons)
            kind = "hazard" if hazards else "near" if few else "combinable"
            yield _group(self.calls, kind, each.left, each.branches, reasons, hazards)
        taken = {head for each in self.sets for head in each.heads}
        for each in self.siblings:
            if taken.isdisjoint(each.products):
                yield self._unjoined_group(each, elsewhere)

    def _own(self, products: Sequence[int]) -> list[Reason]:
        return [r for heads, reasons in self.dangers.items() if not set(heads).isdisjoint(products) for r in reasons]

    def _unjoined_group(self, each: SharedProducts, elsewhere: list[Reason]) -> BranchGroup:
        """Return the group of products that are not joined."""
        own = self._own(each.products)
        reasons = factor_reasons(self.calls, each.products)
        hazards = own or (elsewhere if self.answer.failure and (self._constant_left or not reasons) else [])
        if hazards:
            return _group(self.calls, "hazard", each.left, _alone(each.products), (), tuple(hazards))
        reasons = reasons or [self._unmatched(each)]
        return _group(self.calls, "near", each.left, _alone(each.products), tuple(dict.fromkeys(reasons)))

    @cached_property
    def sets(self) -> list[JoinedProducts]:
        """Return the sets that the pass joins, those of later rounds merged with the sets they are made of."""
        made: list[JoinedProducts] = []
        for joined in self.answer.joined:
            earlier = [each for each in made if each.left == joined.left and set(each.right) & set(joined.right)]
            one = earlier[0] if earlier else JoinedProducts(joined.left, [], [], [])
            for each in earlier[1:]:
                one.chains += each.chains
                one.right += each.right
                made.remove(each)
            if not earlier:
                made.append(one)
            known = set(one.right)
            one.chains += self._chains(joined, known, {head for each in made for head in each.heads})
            one.right += [node for node in joined.right if node not in known]
            one.bias += joined.bias
        return [each for each in made if len(each.chains) > 1]

    def _chains(self, joined: Joined, known: set[int], taken: set[int]) -> list[tuple[int, ...]]:
        """Return the branches of a set whose second factors are not known yet."""
        graph = self.calls.graph
        chains: list[list[int]] = []
        biased = len(joined.bias) == len(joined.right)
        for place, right in enumerate(joined.right):
            products = [] if right in known else [p for p in self._users(joined.left, MATMUL, right) if p not in taken]
            begun = [[p, *(self._users(p, ADD, joined.bias[place])[:1] if biased else ())] for p in products]
            # the pass takes the equal product that has the bias
            chains += [max(begun, key=len)] if begun else []
            taken.update(chain[0] for chain in chains)
        after = [{graph.nodes[u].op: u for u, _ in reversed(graph.consumers[chain[-1]])} for chain in chains]
        common = [op for op in ACTIVATIONS if chains and all(op in users for users in after)]
        taken_along = [op for op in common if any(users[op] in self.answer.parts for users in after)]
        if not taken_along and self.answer.parts.isdisjoint(chain[-1] for chain in chains):
            # the ends of the branches are dead, or the pass raised
            taken_along = common
        for op in taken_along[:1]:
            chains = [[*chain, users[op]] for chain, users in zip(chains, after, strict=True)]
        return [tuple(chain) for chain in chains]

    def _users(self, value: int, op: str, other: int) -> list[int]:
        """Return the calls of an operator on a value and another one, in this order."""
        graph = self.calls.graph
        users = dict.fromkeys(user for user, _ in graph.consumers[value])
        return [u for u in users if graph.nodes[u].op == op and graph.inputs[u] == (value, other)]

    # -- hazards

    @cached_property
    def _constant_left(self) -> int | None:
        nodes = self.calls.graph.nodes
        products = (node.id for node in self.calls.graph.ops if node.op == MATMUL)
        return next((p for p in products if nodes[self.calls.graph.inputs[p][0]].kind == "constant"), None)

    @cached_property
    def dangers(self) -> dict[tuple[int, ...], list[Reason]]:
        """Return the hazards of the pass, by the products that they are about."""
        found = {each.heads: hazards(self.calls, each) for each in self.sets}
        if not self.answer.failure:
            found = {heads: [reason for reason in each if reason.code in WRONG] for heads, each in found.items()}
            return {heads: each for heads, each in found.items() if each}
        if self._constant_left is not None:
            said = "the first factor of a product is a constant, which the pass takes for a variable: it raises; run it before BindParams"
            danger = Reason("constant-left", said, (self._constant_left,))
            return {tuple(each.products): [danger] for each in self.siblings}
        return (
            {heads: each for heads, each in found.items() if each}
            or self._vectors()
            or self._dependent()
            or self._with_symbols()
            or self._unexplained()
        )

    def _vectors(self) -> dict[tuple[int, ...], list[Reason]]:
        found = {}
        for each in self.siblings:
            right = [type_of(self.calls, self.calls.graph.inputs[product][1]) for product in each.products]
            if sum(len(kind.shape) == 1 for kind in right) > 1:
                said = "the second factors are vectors, and the pass reads past their shapes: it raises"
                found[tuple(each.products)] = [Reason("weight-vector", said, tuple(each.products))]
        return found

    def _dependent(self) -> dict[tuple[int, ...], list[Reason]]:
        said = "one branch needs what another one gives, and there is no order in which they could be computed together: the pass raises"
        graph = self.calls.graph
        # where the pass includes no activations, the branch is the product alone; equal products are merged before a later round
        equal = [[p for right in each.right for p in self._users(each.left, MATMUL, right)] for each in self.sets]
        tries = ([s.branches for s in self.sets], [_alone(s.heads) for s in self.sets], list(map(_alone, equal)))
        places = next((found for branches in tries if (found := circular(graph, branches))), set[int]())
        heads = [self.sets[place].heads for place in sorted(places)]
        return {each: [Reason("sibling-dependency", said, each)] for each in heads}

    def _with_symbols(self) -> dict[tuple[int, ...], list[Reason]]:
        """Return the siblings where TVM takes a symbol in a shape for the variable of a constant."""
        graph = self.calls.graph
        said = (
            "one factor or bias is a constant and the shape has a symbol, which TVM then takes for the missing variable: the "
            "pass raises; run it before BindParams"
        )
        found = {}
        for each in self.siblings:
            sums = [u for p in each.products for u, _ in graph.consumers[p] if graph.nodes[u].op == ADD]
            calls = [
                n for n in (*each.products, *sums) if any(graph.nodes[s].kind == "constant" for s in graph.inputs[n])
            ]
            if any(not type_of(self.calls, n).known for call in calls for n in (call, *graph.inputs[call])):
                found[tuple(each.products)] = [Reason("symbol-for-constant", said, tuple(each.products))]
        return found

    def _unexplained(self) -> dict[tuple[int, ...], list[Reason]]:
        last = [each.heads for each in self.sets[-1:]] or [tuple(each.products) for each in self.siblings]
        return {heads: [Reason("raises", f"the pass raises: {self.answer.failure}", heads)] for heads in last}

    # -- reasons

    def _notes(self, each: JoinedProducts) -> Iterator[Reason]:
        """Yield the reasons why no more of the branches is combined, and for values computed twice."""
        graph = self.calls.graph
        inside = each.heads
        siblings = next(
            s for s in self.siblings if s.left == each.left and s.scope == self.calls.scopes[each.chains[0][0]]
        )
        others = [product for product in siblings.products if product not in inside]
        if others:
            yield from factor_reasons(self.calls, [*others, *sorted(inside)]) or [self._unmatched(siblings)]
        ends = [branch[-1] for branch in each.branches]
        after = [[user for user, _ in graph.consumers[end]] for end in ends]
        ops = {graph.nodes[users[0]].op if [graph.nodes[u].kind for u in users] == ["op"] else "" for users in after}
        following = tuple(users[0] for users in after if len(users) == 1)
        if len(ops) == 1 and "" not in ops:
            yield stop_reason(self.calls, ends, following)
        elif ops - {""} & {ADD, *ACTIVATIONS}:
            said = "the branches go on in different ways, and only what all products of the value have after them is combined"
            yield Reason("level-op", said, following)
        for node in (node for branch in each.branches for node in branch[:-1]):
            if len(graph.consumers[node]) > 1 or node in graph.outputs:
                said = f"{graph.nodes[node].op} is used elsewhere too, so it is still computed, a second time"
                yield Reason("used-elsewhere", said, (node,))
        ours = self._form(siblings)
        if any(theirs[0] == ours[0] and theirs != ours for theirs in map(self._form, self.siblings)):
            said = (
                "other products of the function have as many branches in another form, and the order in which TVM takes forms "
                "depends on memory addresses: other runs may combine less or more of this"
            )
            yield Reason("order-by-address", said, inside)

    def _form(self, each: SharedProducts) -> tuple[object, ...]:
        """Return the number of products, and the operators that follow all of them."""
        graph = self.calls.graph
        after = [{graph.nodes[user].op for user, _ in graph.consumers[product]} for product in each.products]
        sums = [u for p in each.products for u, _ in graph.consumers[p] if graph.nodes[u].op == ADD]
        behind = [{graph.nodes[user].op for user, _ in graph.consumers[node]} for node in sums]
        wanted = {ADD, *ACTIVATIONS}
        common = [sorted(wanted.intersection(*ops)) if ops else [] for ops in (after, behind)]
        return len(each.products), each.scope, *map(tuple, common)

    def _unmatched(self, each: SharedProducts) -> Reason:
        """Return why the pass did not consider branches together that could be joined."""
        graph = self.calls.graph
        products = each.products
        adds = [user for p in products for user, _ in graph.consumers[p] if graph.nodes[user].op == ADD]
        biases = [s for user in adds for s in graph.inputs[user] if s not in products]
        if len(adds) >= len(products):
            why = bias_reason(self.calls, products, adds, biases)
            if why is not None:
                return why
        ended = ((s, r[0]) for s in self.siblings if s != each and (r := join_reasons(self.calls, s.products)))
        for other, reason in ended:
            said = f"the pass met other products that it could not combine ({reason.sentence}), and a search ends there"
            return Reason("search-ended", said, (other.left, *other.products))
        said = (
            f"the pass looks for {len(products)} branches that all differ in their factors and biases, and finds fewer"
        )
        return Reason("unmatched", said, tuple(products))


def _other_factor(calls: Calls) -> Iterator[BranchGroup]:
    """Yield products that share their second factor, which the pass does not look at."""
    shared: dict[object, list[int]] = {}
    for node in calls.graph.ops:
        if node.op == MATMUL:
            shared.setdefault(calls.arguments(node.id)[1], []).append(node.id)
    for nodes in shared.values():
        if len({calls.arguments(node)[0] for node in nodes}) > 1:
            said = f"these {MATMUL} share their second argument; TVM combines only what shares the first"
            reason = Reason("not-arg0", said, tuple(nodes))
            yield _group(calls, "near", calls.graph.inputs[nodes[0]][1], _alone(nodes), (reason,))
