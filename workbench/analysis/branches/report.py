"""A group of sibling branches, and the cost of merging them in operators, kernels and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.analysis.branches.contraction import folded
from workbench.analysis.fusion import explain_fusion
from workbench.analysis.outcome import FAILED, LEFT, MERGED, Outcome, Reason, failed, remains
from workbench.analysis.tensors import nbytes
from workbench.graph.model import Edge, Graph
from workbench.terminal import visible
from workbench.wording import counted

KINDS = ("identical", "combinable", "hazard", "near")
EQUAL_PASSES = ("EliminateCommonSubexpr", "MergeIdenticalKernels")
"passes that merge equal branches"


@dataclass(frozen=True)
class BranchGroup:
    """Sibling branches, with the pass that merges them, its reasons and hazards."""

    kind: str
    """identical: they compute the same, one is enough. combinable: a pass makes one wider computation of them. hazard: a pass
    would take them, and crashes, raises or computes something else. near: no pass takes them"""
    producer: int | None
    "the node whose value the branches share; None if there is none"
    branches: tuple[tuple[int, ...], ...]
    "for each branch the nodes that are merged, from the producer on; those at one position become one"
    passes: str
    "the pass that merges them, as a Pipeline's text; for a near miss, the one that does not"
    opt_level: int = 4
    "the level from which TVM's Sequential runs the pass"
    reasons: tuple[Reason, ...] = ()
    "why no more is merged, or nothing at all; each with a code and a sentence"
    hazards: tuple[Reason, ...] = ()
    "what goes wrong when the pass runs"
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)
    together: int = field(default=0, compare=False)
    "the groups that one run of the pass merges by the rules, this one included if it is one"

    @cached_property
    def outcome(self) -> Outcome:
        """The result of the pass on the graph's module, computed on first use: TVM runs it in a child process."""
        found = failed(self.graph, self.passes)
        if found is not None:
            return replace(found, contradicts=found.status == FAILED and self.kind in ("identical", "combinable"))
        return self._outcome()

    def _outcome(self) -> Outcome:
        merged = self._merged()
        if self.kind in ("identical", "combinable"):
            if merged:
                return Outcome(MERGED, "merged as stated")
            said = "not merged: the rules allow it, and TVM's pass leaves some of the branches"
            return Outcome(LEFT, said, contradicts=True)
        if not merged:
            return Outcome(LEFT, "not merged")
        if self.kind == "hazard":
            return Outcome(MERGED, "merged, without an error of TVM")
        if self.together:
            return Outcome(MERGED, "each is merged, with other branches")
        return Outcome(MERGED, "merged: the rules refuse it, and TVM's pass does it", contradicts=True)

    def _merged(self) -> bool:
        after, lasts = remains(self.graph, self.passes), [branch[-1] for branch in self.branches]
        if self.passes in EQUAL_PASSES:
            return after.merges(lasts) and (self.kind == "identical" or after.leaves_one(lasts[0]))
        # a diff may pair nodes wrongly where several differ in their inputs only, so the counts of operators are a second sign
        signs = after.replaces(lasts), after.leaves_fewer(lasts)
        return any(signs) if self.kind == "combinable" else all(signs)

    @cached_property
    def change(self) -> Change | None:
        """Difference in operators, kernels and bytes (after minus before) of all groups that the pass merges.

        TVM runs the pass on first use. None for a near miss or a hazard, and where TVM does not merge these branches or
        there is no module to run the pass on.
        """
        if self.kind not in ("identical", "combinable") or self.outcome.status != MERGED:
            return None
        return change(self.graph, remains(self.graph, self.passes).graph, self._weights)

    @property
    def _weights(self) -> list[int]:
        """Return the parameters that enter only the branches, directly or through a transpose and the like."""
        inside = {node for branch in self.branches for node in branch}
        beside = {s for node in inside for s in self.graph.inputs[node]} - inside - {self.producer}
        found = {source for s in beside if (source := self._start(s)) not in inside | {self.producer}}
        return sorted(s for s in found if self.graph.nodes[s].kind == "param")

    def _start(self, node: int) -> int:
        """Return the source of a value, past operators with one argument."""
        nodes, inputs = self.graph.nodes, self.graph.inputs
        while nodes[node].kind == "op":
            values = [s for s in inputs[node] if nodes[s].kind not in ("constant", "shape")]
            if len(values) != 1:
                break
            (node,) = values
        return node

    @property
    def cost(self) -> str:
        """The cost of the merge in operators, kernels and bytes, as a sentence; empty for a near miss or a hazard.

        Where TVM does not merge the branches, the sentence is the outcome.
        """
        if self.kind in ("near", "hazard"):
            return ""
        found = self.change
        if found is None:
            return self.outcome.sentence
        others = f", with the other {self.together - 1} of this pass" if self.together > 1 else ""
        if found.kernels is None:
            why = "FuseOps fails on this graph before SimplifyInference"
            if self.graph.dialect == "relax":
                why = "an operator's kind for FuseOps is only known after LegalizeOps"
            return f"{_signed(found.ops, 'operator')}{others}; kernels are not known, as {why}"
        counts = (found.ops, "operator"), (found.kernels, "kernel"), (found.traffic_bytes or 0, "byte")
        said = ", ".join(_signed(*count) for count in counts) + others
        if found.kernels > 0:
            return f"{said}: what takes the branches apart again needs kernels of its own (slices-cost-kernels)"
        return said

    def line(self) -> dict[str, object]:
        """Return the row of a table, without asking TVM."""
        ops = [self.graph.path(branch) for branch in self.branches]
        shared = "" if self.producer is None else f"{self.graph.path([self.producer])} → "
        why = "; ".join(reason.sentence for reason in (*self.hazards, *self.reasons))
        return {
            "branches": f"{shared}({' | '.join(ops)})",
            "kind": self.headline,
            "pass": self.passes,
            "reason": why,
        }

    @property
    def results(self) -> tuple[str, ...]:
        """The outcome, and the cost where TVM merges the branches; TVM runs the pass on first use."""
        return tuple(dict.fromkeys((self.outcome.sentence, *filter(None, [self.cost]))))

    @property
    def asked(self) -> bool:
        """Return whether `results` are known without asking TVM now."""
        return "outcome" in vars(self) and ("change" in vars(self) or self.kind in ("near", "hazard"))

    @property
    def headline(self) -> str:
        """The kind, or the outcome where it is known and contradicts the kind."""
        if "outcome" not in vars(self) or not self.outcome.contradicts:
            return self.kind
        return f"{self.outcome.status} by TVM, {self.kind} by the rules"

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes of all reasons and hazards."""
        return tuple(reason.code for reason in (*self.reasons, *self.hazards))

    def __str__(self) -> str:
        ops = " -> ".join(self.graph.nodes[node].op for node in self.branches[0])
        results = self.results  # before the headline, which then knows the outcome
        said = [f"{self.headline}: {counted(len(self.branches), 'branch')} of {ops} ({self.passes})"]
        said += [f"{reason.code}: {reason.sentence}" for reason in (*self.hazards, *self.reasons)]
        return visible("\n  ".join([*said, *results]))


def _signed(number: int, what: str) -> str:
    return f"{number:+,} {what}{'' if abs(number) == 1 else 's'}"


def alone(nodes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return branches of one node each."""
    return tuple((node,) for node in nodes)


def few(nodes: Sequence[int], least: int) -> Reason:
    """Return the reason why siblings that fit together are not combined: there are too few."""
    return Reason("below-min", f"{len(nodes)} branches fit together, and {least} are asked for", tuple(nodes))


def producer(graph: Graph, branches: Sequence[Sequence[int]]) -> int | None:
    """Return the first value, other than a constant, that every branch starts from."""
    shared = set.intersection(*({s for n in branch for s in graph.inputs[n]} for branch in branches))
    inside = {node for branch in branches for node in branch}
    values = [s for s in graph.inputs[branches[0][0]] if s in shared - inside]
    values += sorted(shared - inside)
    return next((s for s in values if graph.nodes[s].kind != "constant"), None)


@dataclass(frozen=True)
class Change:
    """The difference that a pass makes: after minus before."""

    ops: int
    "operator calls"
    kernels: int | None
    "kernels that FuseOps makes, with weights bound and constants folded; None where FuseOps fails on the graph or an operator's kind is not known"
    traffic_bytes: int | None
    "bytes that these kernels read and write; None like kernels"


def change(graph: Graph, after: Graph, weights: Sequence[int]) -> Change:
    """Return the difference that a pass makes.

    Parameters
    ----------
    after
        The graph as the pass leaves it.
    weights
        Parameters that are constants once they are bound.
    """
    ops = len(after.ops) - len(graph.ops)
    params = [[node.id for node in each.nodes if node.kind == "param"] for each in (graph, after)]
    bound = [theirs for ours, theirs in zip(*params, strict=False) if ours in set(weights)]
    ours = _fused(folded(graph, weights))
    theirs = _fused(folded(after, bound))
    if ours is None or theirs is None:
        return Change(ops, None, None)
    return Change(ops, theirs[0] - ours[0], theirs[1] - ours[1])


def _fused(graph: Graph) -> tuple[int, int] | None:
    """Return kernels and their traffic in bytes; None where FuseOps fails, or where its input is not known."""
    lowered = with_kinds(graph) if graph.dialect == "relax" else graph
    if lowered is None:
        return None
    graph = lowered
    report = explain_fusion(graph)
    if report.failure:
        return None
    traffic = 0
    for kernel in report.kernels:
        inside = set(kernel.nodes)
        read = {source for node in kernel.nodes for source in graph.inputs[node] if source not in inside}
        traffic += sum(nbytes(graph.nodes[node].type) for node in (*read, kernel.root))
    return len(report.kernels), traffic


# The kinds that AnnotateTIROpPattern finds in the PrimFuncs of Relax's operators. FuseOps sees them after LegalizeOps.
_KINDS = {
    0: (
        "abs acos asin atan ceil cos cosh erf exp floor log negative round rsqrt sigmoid sign sin sinh sqrt square tan tanh "
        "clip astype isnan isfinite isinf add subtract multiply divide maximum minimum power equal greater greater_equal "
        "less less_equal not_equal floor_divide mod floor_mod where tril triu nn.relu nn.gelu nn.gelu_tanh nn.silu "
        "nn.leakyrelu nn.softplus nn.selu"
    ),
    1: "expand_dims squeeze broadcast_to stack",
    2: "permute_dims reshape concat split flatten nn.pad tile repeat flip image.resize2d",
    3: "sum max min prod",
    4: (
        "mean std variance argmax argmin matmul nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm nn.conv2d nn.max_pool2d "
        "nn.avg_pool2d nn.adaptive_avg_pool2d nn.batch_norm nn.group_norm nn.attention"
    ),
    8: "take",
}


FUSION_KINDS = {f"relax.{op}": kind for kind, ops in _KINDS.items() for op in ops.split()}
"operator -> kind, as TVM 0.27 finds it; a test compares it with TVM"


def with_kinds(graph: Graph) -> Graph | None:
    """Return the graph as FuseOps sees it; None if an operator is not in the table.

    The fields of a tuple argument of an operator are arguments of its PrimFunc.
    """
    if any(node.kind == "op" and node.pattern is None and node.op not in FUSION_KINDS for node in graph.nodes):
        return None
    nodes = (
        replace(node, pattern=FUSION_KINDS[node.op]) if node.kind == "op" and node.pattern is None else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), edges=tuple(_flat(graph)))


def _flat(graph: Graph) -> Iterator[Edge]:
    """Yield the edges; an edge from a tuple that only operators read becomes the edges of its fields."""
    nodes = graph.nodes
    opened = {
        node.id
        for node in nodes
        if node.kind == "tuple"
        and not node.name
        and all(nodes[user].kind == "op" for user, _ in graph.consumers[node.id])
    } - {*graph.outputs, *(group.output for group in graph.groups)}
    for node in nodes:
        if node.id in opened:
            continue
        flat = [
            f for source in graph.inputs[node.id] for f in (graph.inputs[source] if source in opened else (source,))
        ]
        yield from (Edge(source, node.id, index, nodes[source].type) for index, source in enumerate(flat))
