"""`wb.parallel_branches`: sibling branches of one producer that could be merged, and what stops those that cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.analysis.branches import batched
from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.cost import Change, change
from workbench.analysis.branches.equal import equal_branches, equal_kernels, nearly_equal
from workbench.analysis.branches.finder import Found, Reason, Rules, find, levels
from workbench.analysis.branches.predict import circular
from workbench.analysis.branches.recipe import Recipe
from workbench.analysis.branches.recipes import recipe_of
from workbench.analysis.branches.rules import TVM_RULES, type_of
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph

KINDS = ("identical", "combinable", "hazard", "near")


@dataclass(frozen=True)
class BranchGroup:
    """Sibling branches, and what a pass would make of them."""

    kind: str
    """identical: they compute the same, one will do. combinable: a pass makes one wider computation of them. hazard: a pass
    would take them, and crashes, raises or computes something else. near: no pass takes them"""
    producer: int | None
    "the node whose value the branches share; None if there is none"
    branches: tuple[tuple[int, ...], ...]
    "for each branch the nodes that are merged, from the producer on; those at one place become one"
    passes: str
    "the pass that merges them, as a Pipeline's text; of a near miss, the one that does not"
    opt_level: int = 4
    "the level from which TVM's Sequential runs the pass"
    reasons: tuple[Reason, ...] = ()
    "why no more is merged, or nothing; each with a code and a sentence"
    hazards: tuple[Reason, ...] = ()
    "what happens to the person who runs the pass"
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)
    recipe: Recipe | None = field(default=None, repr=False, compare=False)
    apart: tuple[int, ...] = field(default=(), repr=False, compare=False)
    "kernels that the pass takes apart to fuse them again"

    @cached_property
    def change(self) -> Change | None:
        """Operators, kernels and bytes after less before, worked out when first asked for; None for a near miss."""
        if self.recipe is None or self.kind in ("near", "hazard"):
            return None
        return change(self.graph, self.recipe, self._weights, self.apart)

    @property
    def _weights(self) -> list[int]:
        """The parameters that only enter the branches beside the producer's value."""
        inputs = self.graph.inputs
        found = {s for branch in self.branches for node in branch for s in inputs[node] if s != self.producer}
        return [s for s in found if self.graph.nodes[s].kind == "param"]

    @property
    def cost(self) -> str:
        """What the merge costs or saves, in a sentence; empty for a near miss."""
        found = self.change
        if found is None:
            return ""
        if found.kernels is None:
            return f"{_signed(found.ops, 'operator')}; kernels are not known, as FuseOps fails on this graph before SimplifyInference"
        said = f"{_signed(found.ops, 'operator')}, {_signed(found.kernels, 'kernel')}, {_signed(found.traffic_bytes or 0, 'byte')}"
        if found.kernels > 0:
            return f"{said}: what takes the branches apart again needs kernels of its own (slices-cost-kernels)"
        return said

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all reasons and hazards."""
        return tuple(reason.code for reason in (*self.reasons, *self.hazards))

    def __str__(self) -> str:
        ops = " -> ".join(self.graph.nodes[node].op for node in self.branches[0])
        said = [f"{self.kind}: {len(self.branches)} branches of {ops} ({self.passes})"]
        said += [f"  {reason.code}: {reason.sentence}" for reason in (*self.hazards, *self.reasons)]
        return "\n".join([*said, f"  {self.cost}"] if self.cost else said)


def _signed(number: int, what: str) -> str:
    return f"{number:+,} {what}{'' if abs(number) == 1 else 's'}"


def parallel_branches(graph: Graph, min_branches: int = 2) -> list[BranchGroup]:
    """Sibling branches that are equal, that a pass would combine, or that nearly are; in this order.

    TVM's rules are those of its passes, checked against them: EliminateCommonSubexpr, CombineParallelConv2D,
    CombineParallelDense in both modes, CombineParallelBatchMatmul; beside them CombineParallelOps and
    MergeIdenticalKernels, which are ours. Each group is for one run of its pass; a pass run on a hazard crashes, raises, or
    gives other values, and then helps no other group either. Scalar constants and attributes are compared as the text has
    them, with six digits.

    Parameters
    ----------
    min_branches
        The least number of branches that is combined (`min_num_branches`); equal ones are merged whatever it is.

    Raises
    ------
    WorkbenchError
        `min_branches` is below 2, or the graph is no Relay graph.
    """
    if isinstance(min_branches, bool) or not isinstance(min_branches, int) or min_branches < 2:
        raise WorkbenchError(
            f"min_branches is {min_branches!r}; one branch is not parallel to anything, give 2 or more"
        )
    if graph.dialect != "relay":
        raise WorkbenchError(
            f"{graph.name} is {graph.dialect or 'of no dialect'}, and the combiners are Relay's passes; Relax has CombineParallelMatmul"
        )
    calls = Calls(graph)
    found = [
        *_equal(calls),
        *(group for rules in TVM_RULES for group in _combiner(calls, rules, min_branches)),
        *_ours(calls, min_branches),
        *_near_equal(calls),
        *(group for rules in TVM_RULES for group in _other_argument(calls, rules)),
    ]
    return sorted(found, key=lambda group: KINDS.index(group.kind))


def _equal(calls: Calls) -> Iterator[BranchGroup]:
    graph = calls.graph
    for branches in equal_branches(calls):
        recipe = Recipe(graph, ends={n: ("old", branches[0][i]) for b in branches[1:] for i, n in enumerate(b)})
        yield BranchGroup(
            "identical", _producer(graph, branches), branches, "EliminateCommonSubexpr", 3, graph=graph, recipe=recipe
        )
    for groups in equal_kernels(graph):
        inside = [tuple(n.id for n in graph.nodes if graph.kernel_of(n.id) == group) for group in groups]
        branches = tuple(tuple(n for n in nodes if graph.nodes[n].kind == "op") for nodes in inside)
        ends = [graph.groups[group].output for group in groups]
        recipe = Recipe(graph, ends={end: ("old", ends[0] or 0) for end in ends[1:] if end is not None})
        yield BranchGroup(
            "identical",
            _producer(graph, branches),
            branches,
            "MergeIdenticalKernels",
            0,
            graph=graph,
            recipe=recipe,
            apart=_beside(graph, inside),
        )


def _beside(graph: Graph, kernels: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """These kernels and those that feed them or read them."""
    inside = {node for nodes in kernels for node in nodes}
    touched = {s for n in inside for s in graph.inputs[n]} | {user for n in inside for user, _ in graph.consumers[n]}
    found = {graph.kernel_of(node) for node in inside | touched}
    return tuple(group for group in found if group is not None and graph.groups[group].kind == "primitive")


def _producer(graph: Graph, branches: Sequence[Sequence[int]]) -> int | None:
    """The first value, other than a constant, that every branch starts from."""
    shared = set.intersection(*({s for n in branch for s in graph.inputs[n]} for branch in branches))
    inside = {node for branch in branches for node in branch}
    values = [s for s in graph.inputs[branches[0][0]] if s in shared - inside]
    values += sorted(shared - inside)
    return next((s for s in values if graph.nodes[s].kind != "constant"), None)


def _combiner(calls: Calls, rules: Rules, least: int) -> Iterator[BranchGroup]:
    """The groups of one of TVM's combiners, and its near misses."""
    found = find(calls, rules)
    taken = [(group, *levels(calls, group)) for group in found if len(group.chains) >= least]
    crashes = [reason for group in found for reason in group.crashes]
    made = []
    for group, depth, _ in taken:
        branches = tuple(tuple(chain[:depth]) for chain in group.chains)
        dangers = [*group.crashes, *rules.hazards(calls, branches), *_unknown(calls, branches)]
        made.append((branches, dangers))
    # a recipe reads types that only a group without hazards is sure to have
    recipes = {place: recipe_of(calls, rules, b) for place, (b, dangers) in enumerate(made) if not dangers}
    places = list(recipes)
    for place in circular(calls.graph, [recipes[p] for p in places]):
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
            recipes.get(place),
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


def _notes(calls: Calls, group: Found, branches: Sequence[Sequence[int]], stop: Reason | None) -> tuple[Reason, ...]:
    """Why no more of the branches is combined, and what is computed twice."""
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


def _near(calls: Calls, rules: Rules, found: list[Found], least: int) -> Iterator[BranchGroup]:
    """Sibling calls that are not combined: too few, or unlike the others of their producer."""
    by_root: dict[tuple[int, int | None], list[Found]] = {}
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
        if heads and siblings > 1 and reasons:
            crashes = tuple(reason for group in left for reason in group.crashes)
            yield BranchGroup(
                "near",
                root,
                heads,
                rules.passes.format(min=least),
                4,
                tuple(dict.fromkeys(reasons)),
                crashes,
                calls.graph,
            )


def _other_argument(calls: Calls, rules: Rules) -> Iterator[BranchGroup]:
    """Calls that share another argument than the first, which the combiners do not look at."""
    if rules.passes.endswith("to_batch=False}}"):
        return
    shared: dict[object, list[int]] = {}
    for node in calls.graph.ops():
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
            yield BranchGroup("near", source, branches, rules.passes.format(min=2), 4, (reason,), (), calls.graph)


def _ours(calls: Calls, least: int) -> Iterator[BranchGroup]:
    graph = calls.graph
    for op in batched.operators(graph):
        taken, refused = batched.batches(graph, op, least)
        text = f"CombineParallelOps{{op={op!r},min_num_branches={least}}}"
        for batch in taken:
            # equal calls are listed as such already
            if not batch.equal:
                recipe = batched.recipe_of(calls, batch)
                root = graph.inputs[batch.branches[0][0]][0]
                yield BranchGroup("combinable", root, batch.branches, text, 0, graph=graph, recipe=recipe)
        for reason in refused:
            branches = tuple((node,) for node in reason.nodes)
            root = graph.inputs[reason.nodes[0]][0]
            yield BranchGroup("near", root, branches, text, 0, (reason,), graph=graph)


def _near_equal(calls: Calls) -> Iterator[BranchGroup]:
    for nodes, reasons in nearly_equal(calls):
        branches = tuple((node,) for node in nodes)
        yield BranchGroup(
            "near", _producer(calls.graph, branches), branches, "EliminateCommonSubexpr", 3, reasons, graph=calls.graph
        )
