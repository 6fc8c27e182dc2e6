"""Products that share a factor: those that CombineParallelMatmul joins, and the reasons for the others.

TVM runs the pass (`Graph.products`). Its conditions (src/relax/transform/combine_parallel_matmul.cc, TVM 0.27) only explain the
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.branches.calls import Calls, circular
from workbench.analysis.branches.report import BranchGroup, alone
from workbench.analysis.branches.rules import type_of
from workbench.analysis.outcome import Reason
from workbench.graph.nodes import Joined, Products

PASS, MATMUL, ADD = "CombineParallelMatmul", "relax.matmul", "relax.add"
ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")
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
        reasons = factor_reasons(calls, each.products) or [_reason("not-tried", each.products)]
        yield _group(calls, "near", each.left, alone(each.products), tuple(reasons))
    for nodes, reason in calls.share_second(MATMUL):
        yield _group(calls, "near", calls.graph.inputs[nodes[0]][1], alone(nodes), (reason,))


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


@dataclass(frozen=True)
class Verdicts:
    """The pass's answer, as groups with their reasons and hazards."""

    calls: Calls
    siblings: list[SharedProducts]
    answer: Products

    def groups(self, least: int) -> Iterator[BranchGroup]:
        """Yield the groups."""
        first = next((reason for reasons in self.dangers.values() for reason in reasons), None)
        elsewhere = [] if first is None else [_reason("fails-elsewhere", first.nodes, why=first.sentence)]
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
            return _group(self.calls, "hazard", each.left, alone(each.products), (), tuple(hazards))
        reasons = reasons or [self._unmatched(each)]
        return _group(self.calls, "near", each.left, alone(each.products), tuple(dict.fromkeys(reasons)))

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
            danger = _reason("constant-left", (self._constant_left,))
            return {tuple(each.products): [danger] for each in self.siblings}
        found = {heads: each for heads, each in found.items() if each} or self._unjoinable()
        last = [each.heads for each in self.sets[-1:]] or [tuple(each.products) for each in self.siblings]
        return found or {heads: [_reason("raises", heads, failure=self.answer.failure)] for heads in last}

    def _unjoinable(self) -> dict[tuple[int, ...], list[Reason]]:
        """Return the hazards outside of the sets: vectors, branches that need each other, or symbols beside constants."""
        siblings = [(tuple(each.products), each) for each in self.siblings]
        vectors = {nodes: [_reason("weight-vector", nodes)] for nodes, each in siblings if self._are_vectors(each)}
        if found := vectors or self._dependent():
            return found
        return {nodes: [_reason("symbol-for-constant", nodes)] for nodes, each in siblings if self._have_symbols(each)}

    def _are_vectors(self, each: SharedProducts) -> bool:
        right = [type_of(self.calls, self.calls.graph.inputs[product][1]) for product in each.products]
        return sum(len(kind.shape) == 1 for kind in right) > 1

    def _have_symbols(self, each: SharedProducts) -> bool:
        """Return whether TVM takes a symbol in a shape for the variable of a constant."""
        graph = self.calls.graph
        sums = [u for p in each.products for u, _ in graph.consumers[p] if graph.nodes[u].op == ADD]
        calls = [n for n in (*each.products, *sums) if any(graph.nodes[s].kind == "constant" for s in graph.inputs[n])]
        return any(not type_of(self.calls, n).known for call in calls for n in (call, *graph.inputs[call]))

    def _dependent(self) -> dict[tuple[int, ...], list[Reason]]:
        graph = self.calls.graph
        # where the pass includes no activations, the branch is the product alone; equal products are merged before a later round
        equal = [[p for right in each.right for p in self._users(each.left, MATMUL, right)] for each in self.sets]
        tries = ([s.branches for s in self.sets], [alone(s.heads) for s in self.sets], list(map(alone, equal)))
        places = next((found for branches in tries if (found := circular(graph, branches))), set[int]())
        heads = [self.sets[place].heads for place in sorted(places)]
        return {each: [_reason("sibling-dependency", each)] for each in heads}

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
                yield _reason("used-elsewhere", (node,), op=graph.nodes[node].op)
        ours = self._form(siblings)
        if any(theirs[0] == ours[0] and theirs != ours for theirs in map(self._form, self.siblings)):
            yield _reason("order-by-address", inside)

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
            return _reason("search-ended", (other.left, *other.products), why=reason.sentence)
        return _reason("unmatched", products, many=len(products))


def bias_reason(calls: Calls, products: Sequence[int], adds: Sequence[int], biases: Sequence[int]) -> Reason | None:
    """Return why the pass does not find these sums; None where it may."""
    graph = calls.graph
    found = _reasons(
        ("bias-constant", any(graph.nodes[s].kind == "constant" for s in biases), biases),
        ("commuted", any(graph.inputs[user][0] not in products for user in adds), adds),
        ("bias-shared", len(set(biases)) < len(adds), biases),
    )
    return next(iter(found), None)


def stop_reason(calls: Calls, ends: Sequence[int], following: tuple[int, ...]) -> Reason:
    """Return why an operator that follows all branches is not combined."""
    graph = calls.graph
    op = graph.nodes[following[0]].op
    said = "not all products of the value have a bias of one rank after them"
    if op in ACTIVATIONS:
        said = f"{op} follows, and other products of the value have no {op} there"
    elif op != ADD:
        said = f"{op} follows in all branches, and the pass takes one {ADD} and one of {', '.join(ACTIVATIONS)} along"
    ours = zip(ends, following, strict=True)
    others = [next((s for s in graph.inputs[user] if s != end), end) for end, user in ours]
    why = bias_reason(calls, ends, following, others) if op == ADD else None
    return why or Reason("level-op", said, following)


def factor_reasons(calls: Calls, products: Sequence[int]) -> list[Reason]:
    """Return the reasons, found in their second factors, why products of one value are not combined."""
    graph = calls.graph
    left = graph.inputs[products[0]][0]
    right = [graph.inputs[product][1] for product in products]
    constants = [s for s in right if graph.nodes[s].kind == "constant"]
    shared = [s for s in dict.fromkeys(right) if right.count(s) > 1 and s not in constants]
    own = [s for s in right if s == left or s in products]
    return _reasons(
        ("weight-constant", constants, constants),
        ("weight-shared", shared, shared),
        ("weight-is-left", own, own),
        ("other-block", len({calls.stretches[product] for product in products}) > 1, products),
    ) or join_reasons(calls, products)


def join_reasons(calls: Calls, products: Sequence[int]) -> list[Reason]:
    """Return why the pass does not join more of the products that it matched."""
    right = tuple(calls.graph.inputs[product][1] for product in products)
    kinds = [type_of(calls, node) for node in right]
    ranks = sorted({len(kind.shape) for kind in kinds})
    dynamic = [node for node, kind in zip(right, kinds, strict=True) if not isinstance((*kind.shape, 0)[-2:][0], int)]
    return _reasons(
        ("shape-unknown", any("?" in kind.shape for kind in kinds), right),
        ("weight-rank", len(ranks) > 1, right),
        ("batch-shape", len({kind.shape[:-2] for kind in kinds}) > 1, right),
        ("dynamic-width", len(dynamic) > 1, dynamic[1:]),
        ranks=" and ".join(map(str, ranks)),
        kinds=" and ".join(map(str, kinds)),
    )[:1]


def hazards(calls: Calls, each: JoinedProducts) -> list[Reason]:
    """Return the hazards of combining these branches; the pass checks none of them."""
    heads = each.heads
    right, products, biases = ([type_of(calls, node) for node in nodes] for nodes in (each.right, heads, each.bias))
    pairs = list(zip(biases, products, strict=False))
    of_products = _reasons(
        ("left-vector", len(type_of(calls, each.left).shape) == 1, heads),
        ("weight-dtype", len({kind.dtype for kind in right}) > 1, heads),
        ("out-dtype", len({kind.dtype for kind in products}) > 1, heads),
    )
    of_biases = _reasons(
        ("bias-scalar", biases and not biases[0].shape, each.bias),
        ("bias-shapes", len({(len(bias.shape), bias.shape[:-1], bias.dtype) for bias in biases}) > 1, each.bias),
        ("bias-rank", any(len(bias.shape) > len(product.shape) for bias, product in pairs), each.bias),
        ("bias-width", any(bias.shape[-1:] != product.shape[-1:] for bias, product in pairs), each.bias),
        first=biases[0] if biases else "",
    )
    # of what is added the first hazard decides
    return of_products + of_biases[:1]


def _reasons(*table: tuple[str, object, Iterable[int]], **fields: object) -> list[Reason]:
    """Return the reasons of a table of codes, each with its condition and its nodes, whose condition holds."""
    return [_reason(code, nodes, **fields) for code, holds, nodes in table if holds]


def _reason(code: str, nodes: Iterable[int], **fields: object) -> Reason:
    return Reason(code, SENTENCES[code].format(**fields), tuple(nodes))


SENTENCES = {
    # why the pass joins no more
    "weight-constant": "a second factor is a constant, and the pass looks for variables; run it before BindParams",
    "weight-shared": (
        "the products share their second factor too, and the pass merges only products of different variables; run "
        "EliminateCommonSubexpr first"
    ),
    "weight-is-left": "a second factor is the shared value itself or another of the products",
    "other-block": "the products are in different stretches of bindings",
    "shape-unknown": "the shape of a second factor is not known",
    "weight-rank": "the second factors have ranks {ranks}, and only factors of one rank are joined",
    "batch-shape": "the second factors are {kinds}, and their batch dimensions differ",
    "dynamic-width": (
        "more than one result has a width that is not a number, and only the first of them is combined, as the last part"
    ),
    "bias-constant": "what is added is a constant, and the pass looks for a variable; run it before BindParams",
    "commuted": "a product is the second argument of its add, and the pass looks for it as the first",
    "bias-shared": "the branches add the same value, and the pass merges only branches that add different variables",
    "used-elsewhere": "{op} is used elsewhere too, so it is still computed, a second time",
    "order-by-address": (
        "other products of the function have as many branches in another form, and the order in which TVM takes forms "
        "depends on memory addresses: other runs may combine less or more of this"
    ),
    "search-ended": "the pass met other products that it could not combine ({why}), and a search ends there",
    "unmatched": "the pass looks for {many} branches that all differ in their factors and biases, and finds fewer",
    "not-tried": "it was not tried whether TVM combines them: needs TVM and the module",
    # what goes wrong where it joins them
    "left-vector": "the shared factor is a vector, and the pass splits along an axis that the product lacks: it raises",
    "weight-dtype": "the second factors are of different types, and concat raises",
    "out-dtype": "the products give different types, and TVM gives all the type of the first",
    "bias-scalar": "what is added is of rank 0, and concat raises",
    "bias-shapes": "what is added, {first} and others, cannot be joined along the last axis: the pass raises",
    "bias-rank": (
        "what is added has more dimensions than the product, and the pass splits along another axis than the last"
    ),
    "bias-width": "what is added has no entry for each column; joined, it is added to other columns, or the pass raises",
    "constant-left": (
        "the first factor of a product is a constant, which the pass takes for a variable: it raises; run it before BindParams"
    ),
    "weight-vector": "the second factors are vectors, and the pass reads past their shapes: it raises",
    "sibling-dependency": (
        "one branch needs the result of another, so they cannot be computed together: the pass raises"
    ),
    "symbol-for-constant": (
        "one factor or bias is a constant and the shape has a symbol, which TVM then takes for the missing variable: the "
        "pass raises; run it before BindParams"
    ),
    "raises": "the pass raises: {failure}",
    "fails-elsewhere": "the same pass meets a hazard elsewhere in the graph: {why}",
}
"Reason code -> its sentence."
