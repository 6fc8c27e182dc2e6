"""Products of one value side by side: those that CombineParallelMatmul joins, and the reasons for the others.

TVM runs the pass (`Graph.products`). The conditions of src/relax/transform/combine_parallel_matmul.cc (TVM 0.27) are here only to
give the reasons. The pass checks neither what makes it raise nor what makes its result wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.contraction import circular
from workbench.analysis.branches.report import BranchGroup
from workbench.analysis.branches.rules import type_of
from workbench.analysis.branches.siblings import Reason
from workbench.analysis.tensors import Tensor
from workbench.graph.nodes import Joined, Products

MATMUL, ADD = "relax.matmul", "relax.add"
ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")
PASS = "CombineParallelMatmul"
WRONG = ("out-dtype", "bias-rank", "bias-width")
"hazards where the pass may give something else instead of raising"


@dataclass(frozen=True)
class Siblings:
    """Products of one value."""

    left: int
    scope: int | None
    products: list[int]


@dataclass
class Set:
    """Products that the pass makes one of, over all its rounds."""

    left: int
    chains: list[tuple[int, ...]]
    "of each the product, the sum if a bias is taken along, and the activation if it is"
    right: list[int]
    bias: list[int]

    @property
    def heads(self) -> tuple[int, ...]:
        """The products."""
        return tuple(chain[0] for chain in self.chains)

    @property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """The chains, as far as all of them go."""
        depth = min(map(len, self.chains))
        return tuple(chain[:depth] for chain in self.chains)


def matmul_groups(calls: Calls, least: int) -> Iterator[BranchGroup]:
    """Yield the groups of the pass, and its near misses."""
    siblings = find_siblings(calls)
    answer = calls.graph.products
    if answer is not None:
        yield from Verdicts(calls, siblings, answer).groups(least)
    for each in siblings if answer is None else ():
        why = "it was not tried whether TVM combines them: needs TVM"
        reasons = factor_reasons(calls, each.products) or [Reason("not-tried", why, tuple(each.products))]
        yield _group(calls, "near", each.left, _alone(each.products), tuple(reasons))
    yield from _other_factor(calls)


def find_siblings(calls: Calls) -> list[Siblings]:
    """Return the products of each first factor that has several, function by function."""
    found: dict[tuple[int | None, int], list[int]] = {}
    for node in calls.graph.ops:
        if node.op == MATMUL:
            found.setdefault((calls.scopes[node.id], calls.graph.inputs[node.id][0]), []).append(node.id)
    return [Siblings(left, scope, nodes) for (scope, left), nodes in found.items() if len(nodes) > 1]


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
    siblings: list[Siblings]
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
                yield self._left_alone(each, elsewhere)

    def _own(self, products: Sequence[int]) -> list[Reason]:
        return [r for heads, reasons in self.dangers.items() if not set(heads).isdisjoint(products) for r in reasons]

    def _left_alone(self, each: Siblings, elsewhere: list[Reason]) -> BranchGroup:
        """Return the group of products of which none is joined."""
        own = self._own(each.products)
        reasons = factor_reasons(self.calls, each.products)
        hazards = own or (elsewhere if self.answer.failure and (self._constant_left or not reasons) else [])
        if hazards:
            return _group(self.calls, "hazard", each.left, _alone(each.products), (), tuple(hazards))
        reasons = reasons or [self._unmatched(each)]
        return _group(self.calls, "near", each.left, _alone(each.products), tuple(dict.fromkeys(reasons)))

    @cached_property
    def sets(self) -> list[Set]:
        """The sets that the pass joins, those of later rounds together with those that they were made of."""
        made: list[Set] = []
        for joined in self.answer.joined:
            earlier = [each for each in made if each.left == joined.left and set(each.right) & set(joined.right)]
            one = earlier[0] if earlier else Set(joined.left, [], [], [])
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
            # of two equal products the pass takes the one with the bias
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
        """The hazards of the pass, by the products that they are about."""
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
        # where the pass takes no activations along, a product alone is the branch; it makes equal products one before a later round
        equal = [[p for right in each.right for p in self._users(each.left, MATMUL, right)] for each in self.sets]
        tries = ([s.branches for s in self.sets], [_alone(s.heads) for s in self.sets], list(map(_alone, equal)))
        places = next((found for branches in tries if (found := circular(graph, branches))), set[int]())
        heads = [self.sets[place].heads for place in sorted(places)]
        return {each: [Reason("sibling-dependency", said, each)] for each in heads}

    def _with_symbols(self) -> dict[tuple[int, ...], list[Reason]]:
        """Return the siblings of which TVM takes a symbol in a shape for the variable of a constant."""
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

    def _notes(self, each: Set) -> Iterator[Reason]:
        """Yield why no more of the branches is combined, and what is computed twice."""
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
            yield _stopped(self.calls, ends, following)
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

    def _form(self, each: Siblings) -> tuple[object, ...]:
        """Return the number of products, and what follows all of them."""
        graph = self.calls.graph
        after = [{graph.nodes[user].op for user, _ in graph.consumers[product]} for product in each.products]
        sums = [u for p in each.products for u, _ in graph.consumers[p] if graph.nodes[u].op == ADD]
        behind = [{graph.nodes[user].op for user, _ in graph.consumers[node]} for node in sums]
        wanted = {ADD, *ACTIVATIONS}
        common = [sorted(wanted.intersection(*ops)) if ops else [] for ops in (after, behind)]
        return len(each.products), each.scope, *map(tuple, common)

    def _unmatched(self, each: Siblings) -> Reason:
        """Return why branches that could be joined were not even looked at together."""
        graph = self.calls.graph
        products = each.products
        adds = [user for p in products for user, _ in graph.consumers[p] if graph.nodes[user].op == ADD]
        biases = [s for user in adds for s in graph.inputs[user] if s not in products]
        if len(adds) >= len(products):
            why = _bias_reason(self.calls, products, adds, biases)
            if why is not None:
                return why
        ended = ((s, r[0]) for s in self.siblings if s != each and (r := _refusals(self.calls, s.products)))
        for other, reason in ended:
            said = f"the pass met other products that it could not combine ({reason.sentence}), and a search ends there"
            return Reason("search-ended", said, (other.left, *other.products))
        said = (
            f"the pass looks for {len(products)} branches that all differ in their factors and biases, and finds fewer"
        )
        return Reason("unmatched", said, tuple(products))


def _bias_reason(calls: Calls, products: Sequence[int], adds: Sequence[int], biases: Sequence[int]) -> Reason | None:
    """Return why the pass does not find these sums; None where it may."""
    graph = calls.graph
    if any(graph.nodes[s].kind == "constant" for s in biases):
        said = "what is added is a constant, and the pass looks for a variable; run it before BindParams"
        return Reason("bias-constant", said, tuple(biases))
    if any(graph.inputs[user][0] not in products for user in adds):
        said = "a product is the second argument of its add, and the pass looks for it as the first"
        return Reason("commuted", said, tuple(adds))
    if len(set(biases)) < len(adds):
        said = "branches add one and the same value, and the parts of a match are different variables"
        return Reason("bias-shared", said, tuple(biases))
    return None


def _stopped(calls: Calls, ends: Sequence[int], following: tuple[int, ...]) -> Reason:
    """Return why an operator that follows in all branches is not combined."""
    graph = calls.graph
    op = graph.nodes[following[0]].op
    if op not in (ADD, *ACTIVATIONS):
        taken = f"one {ADD} and one of {', '.join(ACTIVATIONS)}"
        return Reason("level-op", f"{op} follows in all branches, and the pass takes {taken} along", following)
    if op in ACTIVATIONS:
        return Reason("level-op", f"{op} follows, and other products of the value have no {op} there", following)
    others = [next((s for s in graph.inputs[user] if s != end), end) for end, user in zip(ends, following, strict=True)]
    why = _bias_reason(calls, ends, following, others)
    return why or Reason("level-op", "not all products of the value have a bias of one rank after them", following)


def factor_reasons(calls: Calls, products: Sequence[int]) -> list[Reason]:
    """Return the reasons in their second factors why products of one value are not combined."""
    graph = calls.graph
    left = graph.inputs[products[0]][0]
    right = [graph.inputs[product][1] for product in products]
    found = []
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
    if len({calls.stretches[product] for product in products}) > 1:
        found.append(Reason("other-block", "the products are in different stretches of bindings", tuple(products)))
    return found or _refusals(calls, products)


def _refusals(calls: Calls, products: Sequence[int]) -> list[Reason]:
    """Return why the pass joins no more of the products that it matched."""
    right = tuple(calls.graph.inputs[product][1] for product in products)
    kinds = [type_of(calls, node) for node in right]
    if any("?" in kind.shape for kind in kinds):
        return [Reason("shape-unknown", "the shape of a second factor is not known", right)]
    ranks = sorted({len(kind.shape) for kind in kinds})
    if len(ranks) > 1:
        said = f"the second factors have ranks {' and '.join(map(str, ranks))}, and only factors of one rank are joined"
        return [Reason("weight-rank", said, right)]
    if len({kind.shape[:-2] for kind in kinds}) > 1:
        shown = " and ".join(map(str, kinds))
        return [Reason("batch-shape", f"the second factors are {shown}, and their batch dimensions differ", right)]
    dynamic = [node for node, kind in zip(right, kinds, strict=True) if not isinstance((*kind.shape, 0)[-2:][0], int)]
    if len(dynamic) > 1:
        said = "more than one result has a width that is not a number, and only the first of them is combined, as the last part"
        return [Reason("dynamic-width", said, tuple(dynamic[1:]))]
    return []


def hazards(calls: Calls, each: Set) -> list[Reason]:
    """Return what goes wrong when these branches are combined; the pass checks none of it."""
    heads = each.heads
    right = [type_of(calls, node) for node in each.right]
    found = []
    if len(type_of(calls, each.left).shape) == 1:
        said = "the shared factor is a vector, and the pass splits along an axis that the product lacks: it raises"
        found.append(Reason("left-vector", said, heads))
    if len({kind.dtype for kind in right}) > 1:
        found.append(Reason("weight-dtype", "the second factors are of different types, and concat raises", heads))
    products = [type_of(calls, head) for head in heads]
    if len({kind.dtype for kind in products}) > 1:
        said = "the products give different types, and TVM gives all the type of the first"
        found.append(Reason("out-dtype", said, heads))
    if each.bias:
        found += _bias_hazards([type_of(calls, node) for node in each.bias], products, tuple(each.bias))
    return found


def _bias_hazards(biases: Sequence[Tensor], products: Sequence[Tensor], nodes: tuple[int, ...]) -> list[Reason]:
    first = biases[0]
    if not first.shape:
        return [Reason("bias-scalar", "what is added is of rank 0, and concat raises", nodes)]
    if any((len(b.shape), b.shape[:-1], b.dtype) != (len(first.shape), first.shape[:-1], first.dtype) for b in biases):
        said = f"what is added, {first} and others, cannot be joined along the last axis: the pass raises"
        return [Reason("bias-shapes", said, nodes)]
    if any(len(b.shape) > len(p.shape) for b, p in zip(biases, products, strict=False)):
        said = (
            "what is added has more dimensions than the product, and the pass splits along another axis than the last"
        )
        return [Reason("bias-rank", said, nodes)]
    if any(b.shape[-1] != p.shape[-1] for b, p in zip(biases, products, strict=False)):
        said = "what is added has no entry for each column; joined, it is added to other columns, or the pass raises"
        return [Reason("bias-width", said, nodes)]
    return []


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
