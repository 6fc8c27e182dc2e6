"""A group of sibling branches, and the cost of merging them in operators, kernels and bytes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.analysis.branches.contraction import folded, merged
from workbench.analysis.branches.siblings import Reason
from workbench.analysis.fusion import explain_fusion
from workbench.analysis.tensors import nbytes
from workbench.graph.model import Edge, Graph
from workbench.terminal import visible

KINDS = ("identical", "combinable", "hazard", "near")


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
    instead: Mapping[int, int] = field(default_factory=dict, repr=False, compare=False)
    "for identical branches, removed node -> the equal node that stays"
    together: int = field(default=1, compare=False)
    "the groups that one run of the pass combines, this one included"
    apart: tuple[int, ...] = field(default=(), repr=False, compare=False)
    "kernels that the pass splits and fuses again"

    @cached_property
    def change(self) -> Change | None:
        """Difference in operators, kernels and bytes (after minus before), computed on first use.

        For combinable branches TVM runs the pass, so this is the change of all groups that the pass combines. None for a near miss or
        a hazard, and where there is no module to run the pass on.
        """
        if self.kind == "identical":
            return change(self.graph, merged(self.graph, self.instead), self._weights, self.apart)
        if self.kind != "combinable" or self.graph.ask_after is None:
            return None
        after = self.graph.ask_after(*_name_and_options(self.passes))
        return None if after is None else change(self.graph, after, self._weights)

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
        """The cost of the merge in operators, kernels and bytes, as a sentence; empty for a near miss or a hazard."""
        if self.kind in ("near", "hazard"):
            return ""
        found = self.change
        if found is None:
            return "not tried: needs TVM" if self.graph.ask_after is None else "not known: the pass raises"
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

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes of all reasons and hazards."""
        return tuple(reason.code for reason in (*self.reasons, *self.hazards))

    def __str__(self) -> str:
        ops = " -> ".join(self.graph.nodes[node].op for node in self.branches[0])
        said = [f"{self.kind}: {len(self.branches)} branches of {ops} ({self.passes})"]
        said += [f"  {reason.code}: {reason.sentence}" for reason in (*self.hazards, *self.reasons)]
        return visible("\n".join([*said, f"  {self.cost}"] if self.cost else said))


def _name_and_options(passes: str) -> tuple[str, tuple[tuple[str, object], ...]]:
    """Return a pass's name and options, read from its text."""
    name, _, inside = passes.removesuffix("}").partition("{")
    call = ast.parse(f"options({inside})", mode="eval").body
    assert isinstance(call, ast.Call)
    return name, tuple((word.arg or "", ast.literal_eval(word.value)) for word in call.keywords)


def _signed(number: int, what: str) -> str:
    return f"{number:+,} {what}{'' if abs(number) == 1 else 's'}"


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


def change(graph: Graph, after: Graph, weights: Sequence[int], apart: Sequence[int] = ()) -> Change:
    """Return the difference that a pass makes.

    Parameters
    ----------
    after
        The graph as the pass leaves it.
    weights
        Parameters that are constants once they are bound.
    apart
        Kernels of `after`, as groups, that are split and fused again.
    """
    ops = len(after.ops) - len(graph.ops)
    params = [[node.id for node in each.nodes if node.kind == "param"] for each in (graph, after)]
    bound = [theirs for ours, theirs in zip(*params, strict=False) if ours in set(weights)]
    ours = _fused(folded(graph, weights))
    theirs = _fused(_without(folded(after, bound), apart))
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


def _without(graph: Graph, groups: Sequence[int]) -> Graph:
    """Return the graph without these groups; their nodes move to the group around."""
    if not groups:
        return graph
    opened = set(groups)

    def around(group: int | None) -> int | None:
        while group in opened:
            group = graph.groups[group].parent
        return group

    nodes = tuple(replace(node, group=around(node.group)) for node in graph.nodes)
    boxes = tuple(
        # a removed group has no nodes, and must not look like a call either
        replace(g, kind="scope", output=None, inputs=()) if g.id in opened else replace(g, parent=around(g.parent))
        for g in graph.groups
    )
    return replace(graph, nodes=nodes, groups=boxes)


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
